import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostedEnvelope } from '../../src/core/query/envelope.ts';
import { account, startUqrp, type Uqrp, writeRecords } from '../../test/support/server-process.ts';

export const ZONE = 'uqrp.net';
export const RECORDS = 10_000;
const NAMESPACE = 'bench';

const payload = (i: number): Buffer => Buffer.alloc(100, `${i}-`);
const recordKey = (i: number): string => `r${i}.${NAMESPACE}.v1`;

export const FIRST_NAME = `get.${recordKey(0)}.${ZONE}`;

/** Our server with 10,000 public records of 100 bytes. The default is one worker. */
export async function startFilled(env: NodeJS.ProcessEnv = {}): Promise<Uqrp> {
  const server = await startUqrp({ UQRP_WORKERS: '1', ...env });
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });
  server.cli(['namespace', 'public-read', NAMESPACE, 'on']);
  await writeRecords(
    customer,
    Array.from({ length: RECORDS }, (_, i) => ({
      key: recordKey(i),
      data: payload(i).toString('base64'),
      content_type: 'text/plain',
    })),
  );
  return server;
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
    const text = hostedEnvelope(payload(i), 'text', 300).toString('latin1');
    const chunks = text.match(/.{1,255}/g) ?? [];
    lines.push(`get.${recordKey(i)} IN TXT ${chunks.map((chunk) => `"${chunk}"`).join(' ')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Every name once, in a scattered order, for dnsperf. */
export function hotFile(dir: string): string {
  const file = join(dir, 'hot.txt');
  const lines = Array.from(
    { length: RECORDS },
    (_, i) => `get.${recordKey((i * 7919) % RECORDS)}.${ZONE} TXT\n`,
  );
  writeFileSync(file, lines.join(''));
  return file;
}

let made = 0;

/** Names that do not exist and are in no cache. */
export function uniqueFile(dir: string, count: number): string {
  const file = join(dir, 'unique.txt');
  const from = made;
  made += count;
  const lines = Array.from({ length: count }, (_, i) => `get.u${from + i}.${NAMESPACE}.v1.${ZONE} TXT\n`);
  writeFileSync(file, lines.join(''));
  return file;
}
