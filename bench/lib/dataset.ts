import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostedEnvelope } from '../../src/dns/query/resolve.ts';
import { account, startUqrp, type Uqrp, writeRecords } from '../../test/support/server-process.ts';
import { ROOT } from './changed-server.ts';
import { nextTurn } from './counters.ts';

export const ZONE = 'uqrp.net';
export const RECORDS = 10_000;
const NAMESPACE = 'bench';
const COLD_NAMESPACE = 'cold';

const payload = (i: number): Buffer => Buffer.alloc(100, `${i}-`);
const recordKey = (i: number): string => `r${i}.${NAMESPACE}.v1`;

export const FIRST_NAME = `get.${recordKey(0)}.${ZONE}`;

/** Our server with 10,000 public records of 100 bytes. The default is one worker. `root`: another checkout of this repository. */
export async function startFilled(env: NodeJS.ProcessEnv = {}, root = ROOT): Promise<Uqrp> {
  const cli = join(root, 'src/cli.ts');
  const server = await startUqrp({ UQRP_WORKERS: '1', ...env }, undefined, [], [cli, 'serve', '--json'], cli);
  await fill(server);
  server.cli(['namespace', 'public-read', NAMESPACE, 'on']);
  return server;
}

/** Writes the records into a private namespace. @returns the prefix of the names, with the token that reads them */
export async function fill(server: Uqrp): Promise<string> {
  const customer = account(server);
  const made = await customer.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });
  const { id } = made.body as { id: string };
  const minted = await customer.call('POST', `/namespaces/${id}/query_tokens`, { name: 'bench' });
  await writeRecords(
    customer,
    Array.from({ length: RECORDS }, (_, i) => ({
      key: recordKey(i),
      data: payload(i).toString('base64'),
      content_type: 'text/plain',
    })),
  );
  return `get.auth-${(minted.body as { token: string }).token}`;
}

/** The same data as a zone file, unsigned. */
export function zoneText(): string {
  const lines = [
    `$ORIGIN ${ZONE}.`,
    '$TTL 60',
    '@ 60 IN SOA ns1 hostmaster 1 14400 3600 1209600 60',
    '@ 3600 IN NS ns1',
    '@ 3600 IN NS ns2',
    'ns1 A 192.0.2.1',
    'ns2 A 192.0.2.2',
  ];
  for (let i = 0; i < RECORDS; i++) {
    const text = hostedEnvelope({ data: payload(i), plain: false, format: 'text', ttlSeconds: 300 }).toString(
      'latin1',
    );
    const chunks = text.match(/.{1,255}/g) ?? [];
    lines.push(`get.${recordKey(i)} IN TXT ${chunks.map((chunk) => `"${chunk}"`).join(' ')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Every name once, in a scattered order, for dnsperf. */
export function hotFile(dir: string, prefix = 'get'): string {
  const file = join(dir, 'hot.txt');
  const lines = Array.from(
    { length: RECORDS },
    (_, i) => `${prefix}.${recordKey((i * 7919) % RECORDS)}.${ZONE} TXT\n`,
  );
  writeFileSync(file, lines.join(''));
  return file;
}

let made = 0;

/** A file of names that do not exist. No name is in two files of one run, so none is in a cache. */
export function uniqueFile(dir: string, count: number, prefix = 'get'): string {
  const file = join(dir, 'unique.txt');
  const from = made;
  made += count;
  const lines = Array.from(
    { length: count },
    (_, i) => `${prefix}.u${from + i}.${NAMESPACE}.v1.${ZONE} TXT\n`,
  );
  writeFileSync(file, lines.join(''));
  return file;
}

const coldKey = (i: number): string => `r${i}.${COLD_NAMESPACE}.v1`;
export const coldName = (i: number): string => `get.${coldKey(i)}.${ZONE}`;

/** Adds public records of 100 bytes, each of which is to be asked once. */
export async function fillCold(server: Uqrp, records: number): Promise<void> {
  const customer = account(server, 'cold@example.net');
  await nextTurn();
  await customer.call('POST', '/namespaces', { namespace: { name: COLD_NAMESPACE } });
  const all = function* () {
    for (let i = 0; i < records; i++) {
      yield { key: coldKey(i), data: payload(i).toString('base64'), content_type: 'text/plain' };
    }
  };
  await writeRecords(customer, all());
  server.cli(['namespace', 'public-read', COLD_NAMESPACE, 'on']);
}

/** Names of `count` records of `fillCold` from the place `from` on, in a scattered order: places follow neither keys nor pages. */
export function coldFile(dir: string, records: number, from: number, count: number): string {
  const file = join(dir, 'cold.txt');
  // A prime that does not divide `records` visits each record once.
  const lines = Array.from(
    { length: count },
    (_, i) => `${coldName(((from + i) * 611_953) % records)} TXT\n`,
  );
  writeFileSync(file, lines.join(''));
  return file;
}
