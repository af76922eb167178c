import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { OpenFeature } from '@openfeature/server-sdk';
import { type TestServer, testServer } from '../../../test/support/sdk/server.ts';
import { LastKnownGoodError, NotFound, Reader, Refused, Unavailable } from '../dns.ts';
import { UqrpProvider } from '../openfeature.ts';
import { openKnownGood } from './format.ts';

const SPACE = 'known-good';
const FLAG = { version: 1, variants: { on: true, off: false }, defaultVariant: 'on' };

describe('a reader with a last known good file', () => {
  let server: TestServer;
  let folder: string;
  let token: string;
  let namespaceId: string;
  before(async () => {
    server = await testServer();
    folder = mkdtempSync(join(tmpdir(), 'uqrp-reader-'));
    namespaceId = (await server.customer.namespaces.create(SPACE)).id;
    token = await newToken();
    await server.customer.records.put(`url.env.${SPACE}.v1`, { text: 'postgres://grüße' });
    await server.customer.records.put(`theme.env.${SPACE}.v1`, { json: { theme: 'dark' }, ttl_seconds: 60 });
    await server.customer.records.put(`dark-mode.flags.${SPACE}.v1`, { json: FLAG });
    await present(`dark-mode.flags.${SPACE}.v1`);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const newToken = async (): Promise<string> =>
    (await server.customer.queryTokens.mint(namespaceId, { name: 'r' })).token;
  const pathOf = (name: string): string => join(folder, name);
  const live = (name: string, own = token): Reader =>
    new Reader({
      servers: [`127.0.0.1:${server.ports.dns}`],
      token: own,
      lastKnownGood: pathOf(name),
    });
  /** The same reader while the server is away. */
  const away = (name: string, own = token): Reader =>
    new Reader({
      doh: 'http://uqrp.invalid/dns-query',
      fetch: () => Promise.reject(new Error('away')),
      retries: 0,
      token: own,
      lastKnownGood: pathOf(name),
    });
  /** Waits until DNS has the record. */
  const present = async (key: string): Promise<void> => {
    const reader = new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token });
    for (let tries = 0; ; tries++) {
      try {
        await reader.text(key);
        return;
      } catch (error) {
        if (tries > 200) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const filled = async (name: string): Promise<void> => {
    const reader = live(name);
    await reader.text(`url.env.${SPACE}.v1`);
    await reader.json(`THEME.env.${SPACE}.v1`);
    await reader.flush();
  };

  it('takes answers from it while the server is away, and says so', async () => {
    const reader = live('first');
    const fresh = await reader.text(`url.env.${SPACE}.v1`);
    assert.deepEqual([fresh.data, fresh.stale, fresh.age], ['postgres://grüße', false, 0]);
    await reader.json(`THEME.env.${SPACE}.v1`);
    await reader.flush();
    const stale = await away('first').json<{ theme: string }>(`theme.env.${SPACE}.v1`);
    assert.ok((stale.age ?? -1) >= 0 && (stale.age ?? 99) < 60);
    const expected = { data: { theme: 'dark' }, format: 'json', ttl: null, ttlHint: 60, stale: true };
    assert.deepEqual(stale, { ...expected, age: stale.age });
    const url = await away('first').bytes({ params: ['url'], resource: 'Env', namespace: SPACE });
    assert.equal(Buffer.from(url.data).toString(), 'postgres://grüße');
    await assert.rejects(away('first').text(`other.env.${SPACE}.v1`), Unavailable);
  });

  it('without it says nothing of age, as before', async () => {
    const reader = new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token });
    const reading = await reader.text(`url.env.${SPACE}.v1`);
    assert.deepEqual(Object.keys(reading).toSorted(), ['data', 'format', 'ttl', 'ttlHint']);
    await reader.flush();
  });

  it('holds nothing readable, and is for its user and this token alone', async () => {
    await filled('closed');
    const octets = readFileSync(pathOf('closed'));
    for (const text of [
      token,
      'postgres',
      'env',
      SPACE,
      'svc1',
      Buffer.from('postgres://').toString('base64'),
    ])
      assert.ok(!octets.includes(text), text);
    assert.equal(statSync(pathOf('closed')).mode & 0o777, 0o600);
    await assert.rejects(away('closed', await newToken()).text(`url.env.${SPACE}.v1`), Unavailable);
    const known = await openKnownGood(token, new Uint8Array(octets));
    assert.match(known?.entries.get(`theme.env.${SPACE}.v1`)?.text ?? '', /^v=svc1;s=ok;t=data;/);
    // A file that others may read stops the first read, also while the server answers.
    chmodSync(pathOf('closed'), 0o644);
    await assert.rejects(live('closed').text(`url.env.${SPACE}.v1`), LastKnownGoodError);
    const reader = away('closed');
    await assert.rejects(reader.text(`url.env.${SPACE}.v1`), /chmod 600/);
    chmodSync(pathOf('closed'), 0o600);
    assert.equal((await reader.text(`url.env.${SPACE}.v1`)).stale, true);
  });

  it('forgets what is deleted, and what is refused', async () => {
    const key = `short.env.${SPACE}.v1`;
    await server.customer.records.put(key, { text: 'x' });
    await present(key);
    const reader = live('forgets');
    await reader.text(key);
    await reader.text(`url.env.${SPACE}.v1`);
    await reader.flush();
    await server.customer.records.delete((await server.customer.records.find(key))?.id ?? '');
    for (;;) {
      const gone = await reader.text(key).catch((error: unknown) => error);
      if (gone instanceof NotFound) break;
    }
    await reader.flush();
    await assert.rejects(away('forgets').text(key), Unavailable);
    assert.equal((await away('forgets').text(`url.env.${SPACE}.v1`)).stale, true);
    const refusing = new Reader({
      doh: `http://uqrp.invalid/dns-query`,
      fetch: async (_, init) => {
        const reply = Buffer.from(init.body as Uint8Array);
        reply[2] = 0x85;
        reply[3] = 0x85;
        return new Response(reply, { headers: { 'content-type': 'application/dns-message' } });
      },
      token,
      lastKnownGood: pathOf('forgets'),
    });
    await assert.rejects(refusing.text(`url.env.${SPACE}.v1`), Refused);
    await refusing.flush();
    await assert.rejects(away('forgets').text(`url.env.${SPACE}.v1`), Unavailable);
  });

  it('keeps neither public services nor answers to another token', async () => {
    const reader = live('only-own');
    const other = await newToken();
    await reader.fields('5-km-to-mi.units.public.v1');
    await reader.text(`url.env.${SPACE}.v1`, { token: other });
    await reader.flush();
    await assert.rejects(away('only-own').fields('5-km-to-mi.units.public.v1'), Unavailable);
    await assert.rejects(away('only-own').text(`url.env.${SPACE}.v1`, { token: other }), Unavailable);
    await assert.rejects(away('only-own').text(`url.env.${SPACE}.v1`), Unavailable);
  });

  it('answers each read of two readers with one file', async () => {
    const [one, two] = [live('two'), live('two')];
    await Promise.all([one.text(`url.env.${SPACE}.v1`), two.text(`theme.env.${SPACE}.v1`)]);
    await one.flush();
    await two.flush();
    for (const key of ['url', 'theme']) {
      const reading = await away('two')
        .text(`${key}.env.${SPACE}.v1`)
        .catch(() => null);
      assert.ok(reading === null || reading.stale);
    }
  });

  it('gives a provider of flags its documents, as stale ones', async () => {
    const evaluate = async (reader: Reader) => {
      const provider = new UqrpProvider({ reader, namespace: SPACE, preload: ['dark-mode'] });
      await OpenFeature.setProviderAndWait(provider);
      const details = await OpenFeature.getClient().getBooleanDetails('dark-mode', false);
      await OpenFeature.close();
      return [details.value, details.reason];
    };
    assert.deepEqual(await evaluate(live('flags')), [true, 'STATIC']);
    assert.deepEqual(await evaluate(away('flags')), [true, 'STALE']);
    await assert.rejects(evaluate(away('no-flags')));
    await OpenFeature.close();
  });
});
