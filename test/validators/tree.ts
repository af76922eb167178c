import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start, stop } from '../support/process.ts';
import { skipWithout } from './daemon.ts';

/** Addresses for documentation (RFC 5737): resolvers believe no server at 127.0.0.0/8. `test/ci/validators.sh` sets them up. */
export const PARENT_ADDRESS = '192.0.2.53';
export const CHILD_ADDRESS = '192.0.2.54';

/** Why the tree cannot be built here, or false. */
export async function skipWithoutNetwork(): Promise<string | false> {
  const missing = skipWithout('named', 'bind9') || skipWithout('dnssec-signzone', 'bind9-utils');
  if (missing) return missing;
  for (const address of [PARENT_ADDRESS, CHILD_ADDRESS]) {
    const socket = createSocket('udp4');
    const bound = once(socket, 'listening').then(
      () => true,
      () => false,
    );
    socket.bind(53, address);
    const isOurs = await bound;
    if (isOurs) socket.close();
    if (!isOurs) return `no network of its own with ${address} (test/ci/validators.sh makes one)`;
  }
  return false;
}

export interface Tree {
  /** DS of the root's key: all that a resolver has to trust. */
  readonly anchors: readonly string[];
  /** Sets the DS rrsets of our zones at their parents, signs those again, and resolves when they are served. */
  delegate(ds: ReadonlyMap<string, readonly string[]>): Promise<void>;
  stop(): Promise<void>;
}

const PARENTS = ['.', 'net.', 'org.'] as const;

/** A signed root, and `net` and `org` signed below it with our zones as delegations; all served by one `named`. */
export async function plantTree(ds: ReadonlyMap<string, readonly string[]>): Promise<Tree> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-tree-'));
  const keys = new Map(PARENTS.map((zone) => [zone, keyOf(dir, zone)]));
  const parentDs = PARENTS.slice(1).flatMap((zone) => dsOf(dir, keys.get(zone)!));
  let serial = 1;

  function sign(zones: ReadonlyMap<string, readonly string[]>): void {
    serial++;
    signZone(dir, '.', keys.get('.')!, serial, [
      ...PARENTS.slice(1).flatMap((zone) => delegation(zone, `a.${zone}`, PARENT_ADDRESS)),
      ...parentDs,
    ]);
    for (const parent of PARENTS.slice(1)) {
      const children = [...zones].filter(([zone]) => `${zone}.`.endsWith(`.${parent}`));
      signZone(dir, parent, keys.get(parent)!, serial, [
        ...children.flatMap(([zone]) => delegation(`${zone}.`, `ns1.${zone}.`, CHILD_ADDRESS)),
        ...children.flatMap(([, lines]) => lines),
      ]);
    }
  }

  sign(ds);
  writeFileSync(join(dir, 'named.conf'), namedConf(dir));
  const child = start('named', ['-f', '-g', '-n', '1', '-c', join(dir, 'named.conf')]);
  for (const stream of [child.stdout, child.stderr]) stream?.resume();
  await untilServed(serial);
  return {
    anchors: dsOf(dir, keys.get('.')!),
    async delegate(zones) {
      sign(zones);
      child.kill('SIGHUP');
      await untilServed(serial);
    },
    async stop() {
      await stop(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function delegation(zone: string, host: string, address: string): readonly string[] {
  return [`${zone} 3600 IN NS ${host}`, `${host} 3600 IN A ${address}`];
}

/** The name of the files of a new key that signs the whole zone. */
function keyOf(dir: string, zone: string): string {
  const args = ['-q', '-K', dir, '-a', 'ECDSAP256SHA256', '-f', 'KSK', zone];
  return execFileSync('dnssec-keygen', args, { encoding: 'utf8' }).trim();
}

function dsOf(dir: string, key: string): readonly string[] {
  const text = execFileSync('dnssec-dsfromkey', ['-2', join(dir, key)], { encoding: 'utf8' });
  return text.trim().split('\n');
}

function signZone(dir: string, zone: string, key: string, serial: number, lines: readonly string[]): void {
  const file = fileOf(zone);
  const host = zone === '.' ? 'a.root-servers.test.' : `a.${zone}`;
  const own = [
    '$TTL 3600',
    `${zone} IN SOA ${host} hostmaster.${zone === '.' ? '' : zone} ${serial} 3600 900 604800 60`,
    `${zone} IN NS ${host}`,
    `${host} IN A ${PARENT_ADDRESS}`,
  ];
  writeFileSync(join(dir, file), `${[...new Set([...own, ...lines])].join('\n')}\n`);
  // -S finds the key in the folder, -z lets the one key sign everything, -P leaves out checks of zones with two kinds of keys.
  const args = ['-S', '-z', '-P', '-q', '-K', dir, '-d', dir, '-o', zone, '-f', join(dir, `${file}.signed`)];
  const { status, stderr } = spawnSync('dnssec-signzone', [...args, join(dir, file)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`dnssec-signzone ${zone} with ${key}: ${stderr}`);
}

function fileOf(zone: string): string {
  return zone === '.' ? 'root.zone' : `${zone}zone`;
}

function namedConf(dir: string): string {
  return [
    'options {',
    `directory "${dir}";`,
    `listen-on port 53 { ${PARENT_ADDRESS}; };`,
    'listen-on-v6 { none; };',
    'pid-file none;',
    'session-keyfile none;',
    'recursion no;',
    'dnssec-validation no;',
    'notify no;',
    '};',
    'controls { };',
    ...PARENTS.map((zone) => `zone "${zone}" { type primary; file "${dir}/${fileOf(zone)}.signed"; };`),
    '',
  ].join('\n');
}

/** Waits until all zones have this serial. */
async function untilServed(serial: number): Promise<void> {
  const giveUp = Date.now() + 20_000;
  for (const zone of PARENTS) {
    for (;;) {
      const { stdout } = spawnSync(
        'dig',
        [`@${PARENT_ADDRESS}`, '+short', '+tries=1', '+time=1', zone, 'SOA'],
        {
          encoding: 'utf8',
        },
      );
      if (stdout.split(' ')[2] === String(serial)) break;
      if (Date.now() > giveUp) throw new Error(`the server of the tree does not serve ${zone}`);
      await sleep(50);
    }
  }
}
