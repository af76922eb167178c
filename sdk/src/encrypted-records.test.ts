import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type TestServer, testServer } from '../../test/support/sdk/server.ts';
import { Reader } from './dns/reader.ts';
import { newKeyLine, newSigningKey, publicKeyPem, readSigningKey } from './encryption.ts';
import { bytesOf } from './rest/records/value.ts';

const MARKER = 'postgres://app:marker-5f1c@db.example.net/shop';

interface Demands {
  readonly keys?: string;
  readonly signedBy?: string;
  readonly lastKnownGood?: string;
}

/** Every file below a folder. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('encrypted and signed records of a server', () => {
  let server: TestServer;
  let keys: string;
  let pem: string;
  let signedBy: string;
  let token: string;
  let readerWith: (options: Demands) => Reader;
  before(async () => {
    server = await testServer();
    [keys, pem] = [await newKeyLine(), await newSigningKey()];
    signedBy = publicKeyPem((await readSigningKey(pem)).public);
    const { id } = await server.customer.namespaces.create('sealed-tests');
    token = (await server.customer.queryTokens.mint(id, { name: 'reader' })).token;
    readerWith = (options) => new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token, ...options });
  });

  /** Writes a record, and returns when the DNS node has it. */
  async function put(...[key, value, options]: Parameters<TestServer['customer']['records']['put']>) {
    const places: string[] = [];
    const onWritten = (place: string): void => void places.push(place);
    await server.customer.records.put(key, value, { ...options, onWritten });
    assert.equal((await server.customer.propagation(places[0]!, { wait: 30 })).applied, true);
  }

  it('a value that is encrypted reads back with the key alone, and its text is in no file of the server', async () => {
    const key = 'Db.Env.sealed-tests.v1';
    await put(key, { text: MARKER }, { encryptTo: keys });
    const reading = await readerWith({ keys }).text(key);
    assert.equal(reading.data, MARKER);
    assert.equal(reading.format, 'bin');
    assert.ok(Math.abs(reading.written! - Date.now()) < 600_000);
    await assert.rejects(readerWith({ keys: await newKeyLine() }).text(key), { name: 'PayloadError' });
    assert.equal((await readerWith({}).bytes(key)).data[0], 2);
    assert.equal((await readerWith({ keys }).raw(key)).data?.[0], 2);
    const files = filesBelow(server.dataDir);
    assert.ok(files.length > 3);
    const marked = files.filter((path) => readFileSync(path).includes('marker-5f1c'));
    assert.deepEqual(marked, []);
    // The search finds a text that is not encrypted.
    await put('plain.env.sealed-tests.v1', { text: MARKER });
    assert.ok(filesBelow(server.dataDir).some((path) => readFileSync(path).includes('marker-5f1c')));
  });

  for (const [name, protect, demand] of [
    ['encrypted', () => ({ encryptTo: keys }), () => ({ keys })],
    ['signed', () => ({ signWith: pem }), () => ({ signedBy })],
    ['encrypted and signed', () => ({ encryptTo: keys, signWith: pem }), () => ({ keys, signedBy })],
  ] as const) {
    it(`${name}: a reader refuses an older value that somebody puts back, and one of another record`, async () => {
      const key = `${name.replaceAll(' ', '-')}.pump.sealed-tests.v1`;
      await put(key, { text: 'on' }, protect());
      const old = bytesOf((await server.customer.records.find(key))!);
      const reader = readerWith(demand());
      assert.equal((await reader.text(key)).data, 'on');
      // The clock of the writer may have the same millisecond.
      await new Promise((resolve) => setTimeout(resolve, 5));
      await put(key, { text: 'off' }, protect());
      assert.equal((await reader.text(key)).data, 'off');
      await put(key, { bytes: old });
      await assert.rejects(reader.text(key), { name: 'RolledBack' });
      assert.equal((await readerWith(demand()).text(key)).data, 'on');
      await put('another.pump.sealed-tests.v1', { bytes: old });
      await assert.rejects(reader.text('another.pump.sealed-tests.v1'), {
        message: 'not this record, or damaged',
      });
    });
  }

  it('the last known good file keeps the time over a restart, and no value that is not verified', async () => {
    const [key, folder] = ['restart.pump.sealed-tests.v1', mkdtempSync(join(tmpdir(), 'uqrp-sealed-'))];
    after(() => rmSync(folder, { recursive: true, force: true }));
    const lastKnownGood = join(folder, 'values.lkg');
    await put(key, { text: 'on' }, { encryptTo: keys });
    const old = bytesOf((await server.customer.records.find(key))!);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await put(key, { text: 'off' }, { encryptTo: keys });
    const first = readerWith({ keys, lastKnownGood });
    assert.equal((await first.text(key)).data, 'off');
    await first.flush();
    await put(key, { bytes: old });
    const second = readerWith({ keys, lastKnownGood });
    await assert.rejects(second.text(key), { name: 'RolledBack' });
    assert.equal((await second.raw(key)).data?.length, old.length);
    await second.flush();
    const fetch = () => Promise.reject(new Error('away'));
    const doh = { doh: 'http://uqrp.invalid/dns-query', fetch, retries: 0, token };
    const kept = await new Reader({ ...doh, keys, lastKnownGood }).text(key);
    assert.deepEqual([kept.data, kept.stale], ['off', true]);
  });

  it('a plain value is refused, and a content type beside a key', async () => {
    await put('plain.pump.sealed-tests.v1', { text: 'on' });
    await assert.rejects(readerWith({ keys }).text('plain.pump.sealed-tests.v1'), {
      message: 'not encrypted',
    });
    await assert.rejects(readerWith({ signedBy }).text('plain.pump.sealed-tests.v1'), {
      message: 'not signed',
    });
    const typed = { text: 'on', content_type: 'text/plain' };
    await assert.rejects(put('a.pump.sealed-tests.v1', typed, { encryptTo: keys }), TypeError);
    await assert.rejects(
      put('a.pump.sealed-tests.v1', { text: 'x'.repeat(2544) }, { encryptTo: keys }),
      RangeError,
    );
  });
});
