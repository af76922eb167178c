import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start, stop } from '../../test/support/process.ts';

export interface Peer {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
  remove(): Promise<void>;
}

export function startBind(zone: string, zoneText: string, port: number): Peer {
  const dir = scratch('bind');
  writeFileSync(join(dir, 'zone'), zoneText);
  writeFileSync(
    join(dir, 'named.conf'),
    `options { directory "${dir}"; pid-file none; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
       recursion no; dnssec-validation no; minimal-responses yes; session-keyfile "${dir}/session.key"; };
     controls { };
     zone "${zone}" { type primary; file "${dir}/zone"; };\n`,
  );
  const child = start('named', ['-f', '-n', '1', '-c', join(dir, 'named.conf')]);
  return peer('BIND', port, child, dir);
}

/** NSD with one server process. */
export function startNsd(zone: string, zoneText: string, port: number): Peer {
  const dir = scratch('nsd');
  writeFileSync(join(dir, 'zone'), zoneText);
  writeFileSync(
    join(dir, 'nsd.conf'),
    `server:\n  server-count: 1\n  ip-address: 127.0.0.1@${port}\n  username: ""\n  chroot: ""\n  zonesdir: "${dir}"\n` +
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

export function peer(name: string, port: number, child: ChildProcess, dir: string): Peer {
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

export function scratch(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `uqrp-${name}-`));
  mkdirSync(dir, { recursive: true });
  return dir;
}
