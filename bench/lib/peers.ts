import { type ChildProcess, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start, stop } from '../../test/support/process.ts';

export interface Peer {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
  remove(): Promise<void>;
}

/** NSD with one server process. */
export function startNsd(zone: string, zoneText: string, port: number, address = '127.0.0.1'): Peer {
  const dir = scratch('nsd');
  writeFileSync(join(dir, 'zone'), zoneText);
  writeFileSync(
    join(dir, 'nsd.conf'),
    `server:\n  server-count: 1\n  ip-address: ${address}@${port}\n  username: ""\n  chroot: ""\n  zonesdir: "${dir}"\n` +
      `  pidfile: "${dir}/pid"\n  xfrdfile: "${dir}/xfrd"\n  xfrdir: "${dir}"\n  database: ""\n  zonelistfile: "${dir}/list"\n` +
      `  rrl-ratelimit: 0\n  round-robin: no\n  minimal-responses: yes\nremote-control:\n  control-enable: no\n` +
      `zone:\n  name: ${zone}\n  zonefile: zone\n`,
  );
  const child = start('nsd', ['-d', '-c', join(dir, 'nsd.conf')]);
  return peer('NSD', port, child, dir);
}

/** Knot with one UDP thread. */
export function startKnot(zone: string, zoneText: string, port: number): Peer {
  const dir = scratch('knot');
  writeFileSync(join(dir, 'zone'), zoneText);
  writeFileSync(
    join(dir, 'knot.conf'),
    `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${dir}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n` +
      `database:\n  storage: ${dir}\nlog:\n  - target: stderr\n    any: error\n` +
      `zone:\n  - domain: ${zone}\n    storage: ${dir}\n    file: zone\n    zonefile-load: whole\n    semantic-checks: off\n`,
  );
  return peer('Knot', port, start('knotd', ['-c', join(dir, 'knot.conf')]), dir);
}

function peer(name: string, port: number, child: ChildProcess, dir: string): Peer {
  // Output is ignored: a full pipe would block the server.
  child.stdout?.resume();
  child.stderr?.resume();
  return {
    name,
    port,
    child,
    async remove() {
      await stop(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function scratch(name: string): string {
  return mkdtempSync(join(tmpdir(), `uqrp-${name}-`));
}

/**
 * Signs the zone as our server does: a P-256 and an Ed25519 key sign every rrset, with NSEC. A zone that was signed today is taken from
 * the folder for temporary files. @returns the zone's text
 */
export function signZone(zone: string, zoneText: string): string {
  const day = new Date().toISOString().slice(0, 10);
  const kept = join(
    tmpdir(),
    `uqrp-signed-zone-${day}-${createHash('sha256').update(zoneText).digest('hex').slice(0, 16)}`,
  );
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  const dir = scratch('sign');
  writeFileSync(join(dir, 'zone'), zoneText);
  const keygen = (...args: string[]): Buffer =>
    execFileSync('dnssec-keygen', ['-q', '-K', dir, ...args, zone], { stdio: ['ignore', 'pipe', 'ignore'] });
  keygen('-a', 'ECDSAP256SHA256', '-f', 'KSK');
  keygen('-a', 'ED25519');
  const args = ['-q', '-z', '-S', '-K', dir, '-o', zone, '-f', join(dir, 'signed'), join(dir, 'zone')];
  execFileSync('dnssec-signzone', args, { cwd: dir, stdio: 'ignore' });
  const signed = readFileSync(join(dir, 'signed'), 'utf8');
  writeFileSync(`${kept}.${process.pid}`, signed);
  renameSync(`${kept}.${process.pid}`, kept);
  rmSync(dir, { recursive: true });
  return signed;
}

/** BIND with one worker thread over UDP, TCP, TLS and HTTPS (the two ports after `port`). @param clients connections at most */
export function startBind(
  zone: string,
  text: string,
  port: number,
  tls: { cert: string; key: string },
  clients = 1000,
): Peer {
  const dir = scratch('bind');
  writeFileSync(join(dir, 'zone'), text);
  writeFileSync(join(dir, 'cert.pem'), tls.cert);
  writeFileSync(join(dir, 'key.pem'), tls.key);
  writeFileSync(
    join(dir, 'named.conf'),
    `tls own { cert-file "${dir}/cert.pem"; key-file "${dir}/key.pem"; };
     options { directory "${dir}"; pid-file none; listen-on-v6 { none; }; session-keyfile "${dir}/session.key";
       listen-on port ${port} { 127.0.0.1; };
       listen-on port ${port + 1} tls own { 127.0.0.1; };
       listen-on port ${port + 2} tls own http default { 127.0.0.1; };
       tcp-clients ${clients}; http-listener-clients ${clients}; recursion no; dnssec-validation no; minimal-responses yes; };
     controls { };
     zone "${zone}" { type primary; file "${dir}/zone"; };\n`,
  );
  return peer('BIND', port, start('named', ['-f', '-n', '1', '-c', join(dir, 'named.conf')]), dir);
}

/** PowerDNS over LMDB that signs online with the same two algorithms and narrow NSEC3, one thread of each kind. */
export function startPowerDns(zone: string, zoneText: string, port: number): Peer {
  const dir = scratch('pdns');
  writeFileSync(join(dir, 'zone'), zoneText);
  writeFileSync(
    join(dir, 'pdns.conf'),
    `launch=lmdb\nlmdb-filename=${dir}/pdns.lmdb\nlmdb-shards=1\nlocal-address=127.0.0.1\nlocal-port=${port}\n` +
      `receiver-threads=1\ndistributor-threads=1\nsocket-dir=${dir}\nsetuid=\nsetgid=\nguardian=no\ndaemon=no\n` +
      'security-poll-suffix=\nloglevel=3\n',
  );
  const util = (...args: string[]): void => {
    execFileSync('pdnsutil', ['--config-dir', dir, ...args], { stdio: 'ignore' });
  };
  util('load-zone', zone, join(dir, 'zone'));
  util('add-zone-key', zone, 'ksk', 'active', 'published', 'ecdsa256');
  util('add-zone-key', zone, 'zsk', 'active', 'published', 'ed25519');
  util('set-nsec3', zone, '1 0 0 -', 'narrow');
  util('rectify-zone', zone);
  return peer('PowerDNS', port, start('pdns_server', [`--config-dir=${dir}`]), dir);
}
