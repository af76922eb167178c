import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { keyFile, updateKeys } from '../../src/dns/dnssec/key-files.ts';
import { generateKeySet, type KeySet } from '../../src/dns/dnssec/key-set.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { type Observed, observe } from '../support/observed.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { askSigned, type DnsKeys, servedKeys } from '../support/signed-answers.ts';
import { eventually, read } from './client.ts';

const ZONE = 'uqrp.net';
/** For a busy machine; the server checks the file every second. */
const PATIENCE_MS = 20_000;
const RECORD = 'get.zebrakey.zebraspace.v1';
const SECRETS = ['zebrakey', 'zebraspace', 'giraffepayload'];

const rdata = ({ keys }: KeySet): DnsKeys => keys.map(({ dnskeyRdata }) => dnskeyRdata);

describe('signing keys of a server under queries', () => {
  let server: Uqrp;
  let observed: Observed;
  let before: DnsKeys;

  beforeEach(async () => {
    server = await startUqrp({ UQRP_WORKERS: '2' });
    const customer = account(server);
    await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
    server.cli(['namespace', 'public-read', 'zebraspace', 'on']);
    const data = Buffer.from('giraffepayload').toString('base64');
    await customer.call('POST', '/records', { record: { key: 'zebrakey.zebraspace.v1', data } });
    await eventually(async () => (await read(server, RECORD)).payload === 'giraffepayload', PATIENCE_MS);
    observed = observe(server);
    before = await servedKeys(server.ports.dns);
  });
  afterEach(async () => {
    observed.end();
    await server.remove();
  });

  function replaceKeys(next: KeySet): void {
    updateKeys(server.dataDir, ZONE, Date.now, () => ({ keys: next }));
  }

  it('change at once for each answer: every one is signed, by the earlier keys or by the new ones', async () => {
    const sets = [before];
    const seen = new Set<string>();
    let asked = 0;
    let isDone = false;
    const client = async (): Promise<void> => {
      while (!isDone) {
        const name = asked % 3 === 0 ? RECORD : `get.${asked}-km-to-mi.units.public.v1`;
        asked++;
        const known = sets.length;
        const { by, records } = await askSigned(server.ports.dns, name, RRTYPE.TXT, sets);
        assert.equal(records.length, 1, name);
        // The file may be replaced while this query is in flight.
        assert.equal(by.length, 1, `${name} is signed by ${by.length} of ${known} key sets`);
        seen.add(String(by[0]));
      }
    };
    const load = Promise.all([client(), client(), client()]);
    try {
      await eventually(async () => asked > 30, PATIENCE_MS);
      // The clients know the keys before any worker does.
      const next = generateKeySet(ZONE, Date.now());
      sets.push(rdata(next));
      replaceKeys(next);
      await Promise.race([load, eventually(async () => observed.count('keys.loaded') === 1, PATIENCE_MS)]);
      const at = asked;
      await Promise.race([load, eventually(async () => asked > at + 30, PATIENCE_MS)]);
    } finally {
      isDone = true;
    }
    await load;
    assert.deepEqual([...seen].sort(), ['0', '1']);
    // Both workers and both caches have only the new keys.
    for (let i = 0; i < 16; i++) {
      assert.deepEqual((await askSigned(server.ports.dns, RECORD, RRTYPE.TXT, sets)).by, [1]);
    }
    assert.deepEqual((await askSigned(server.ports.dns, '', RRTYPE.DNSKEY, sets)).by, [1]);
    await observed.check([...SECRETS, privatePart(server)]);
  });

  it('stay in use while their file is damaged, which is told once, and follow it when it is mended', async () => {
    const path = keyFile(server.dataDir, ZONE);
    const good = readFileSync(path, 'utf8');
    const secret = privatePart(server);
    for (const [at, damaged] of ['{"canary": "walrus"', good.slice(0, -20), `${good}walrus`].entries()) {
      writeFileSync(path, damaged);
      if (at === 0) await eventually(async () => observed.count('keys.failing') === 1, PATIENCE_MS);
      const { by } = await askSigned(server.ports.dns, `get.${at}-km-to-mi.units.public.v1`, RRTYPE.TXT, [
        before,
      ]);
      assert.deepEqual(by, [0]);
    }
    rmSync(path);
    assert.deepEqual((await askSigned(server.ports.dns, RECORD, RRTYPE.TXT, [before])).by, [0]);
    writeFileSync(path, good);
    const next = generateKeySet(ZONE, Date.now());
    replaceKeys(next);
    await eventually(async () => observed.count('keys.loaded') === 1, PATIENCE_MS);
    for (let i = 0; i < 8; i++) {
      assert.deepEqual(
        (await askSigned(server.ports.dns, RECORD, RRTYPE.TXT, [before, rdata(next)])).by,
        [1],
      );
    }
    assert.equal(observed.count('keys.failing'), 1);
    await observed.check([...SECRETS, 'walrus', secret, privatePart(server)]);
  });
});

/** A line from the middle of the first private key. */
function privatePart({ dataDir }: Uqrp): string {
  const { keys } = JSON.parse(readFileSync(keyFile(dataDir, ZONE), 'utf8')) as {
    keys: { privateKey: string }[];
  };
  return keys[0]!.privateKey.split('\n')[1]!;
}
