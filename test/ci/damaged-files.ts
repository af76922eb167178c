/** Starts a server on files that are empty, torn or wrong: it serves everything, or ends and says what to do. Exit code 1 at the first other end. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, account, startUqrp } from '../support/server-process.ts';

const ENV = { UQRP_WORKERS: '1' };
const KEY = 'kept.zebraspace.v1';

const empty = (): Buffer => Buffer.alloc(0);
const torn = (content: Buffer): Buffer => content.subarray(0, content.length >> 1);
const wrong = (content: Buffer): Buffer =>
  Buffer.from(content.map((octet, at) => (at % 7 === 3 ? octet ^ 0x80 : octet)));

/** What a start says when it ends; null: it serves. docs/OPERATIONS.md has the same table. */
const CASES: readonly (readonly [file: string, damage: (content: Buffer) => Buffer, says: RegExp | null])[] =
  [
    ['uqrp.sqlite', empty, /the database is not the one that the edge view was built from/],
    ['uqrp.sqlite', torn, /uqrp\.sqlite is damaged\. Restore a backup/],
    ['uqrp.sqlite', wrong, /uqrp\.sqlite is not a database\. Restore a backup/],
    ['secret', torn, /put it back from a backup/],
    ['keys/uqrp.net.json', empty, /keys\/uqrp\.net\.json: .*Put it back from a backup/],
    ['view/2.mdb', wrong, null],
    ['view/2.mdb', torn, null],
    ['view/2.mdb-lock', empty, null],
    ['view/state', torn, null],
    ['tls/key.pem', wrong, null],
    ['geoip.mmdb', wrong, null],
    ['stock-map.json', torn, null],
  ];

const base = mkdtempSync(join(tmpdir(), 'uqrp-damage-'));
try {
  const whole = join(base, 'whole');
  const first = await startUqrp(ENV, whole);
  const customer = account(first);
  await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
  await customer.call('POST', '/records', { record: { key: KEY, data: 'aGVsbG8=' } });
  await first.stop();
  for (const name of ['geoip.mmdb', 'stock-map.json'])
    writeFileSync(join(whole, name), '{"asof":"2026-11-01"}');
  for (const [file, damage, says] of CASES) {
    const dataDir = join(base, 'damaged');
    cpSync(whole, dataDir, { recursive: true });
    const path = join(dataDir, file);
    writeFileSync(path, damage(readFileSync(path)));
    const end = await endOf(customer, dataDir);
    const what = `${file} ${damage.name}`;
    if (says === null) assert.equal(end, KEY, what);
    else assert.match(end, says, what);
    rmSync(dataDir, { recursive: true });
    process.stdout.write(`${what}: ${says === null ? 'serves' : 'ends, and says what to do'}\n`);
  }
} finally {
  rmSync(base, { recursive: true, force: true });
}

/** What the server said when it ended, or the key of the record that it still has. */
async function endOf(customer: Account, dataDir: string): Promise<string> {
  try {
    const server = await startUqrp(ENV, dataDir);
    const { body } = await customer
      .at(`http://127.0.0.1:${server.ports.http}/api/v1`)
      .call('GET', '/records?namespace=zebraspace');
    await server.stop();
    return (body as readonly { key: string }[])[0]?.key ?? 'no record';
  } catch (error) {
    return (error as Error).message;
  }
}
