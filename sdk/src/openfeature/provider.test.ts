import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, before, describe, it } from 'node:test';
import { type Client, OpenFeature, ProviderEvents } from '@openfeature/server-sdk';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';
import { openRelay } from '../../../test/support/sdk/relay.ts';
import { type TestServer, testServer } from '../../../test/support/sdk/server.ts';
import { Reader } from '../dns/reader.ts';
import type { Uqrp } from '../rest/uqrp.ts';
import { FlagCache } from './flag-cache.ts';
import { UqrpProvider, type UqrpProviderOptions } from './provider.ts';

const ON = { version: 1, variants: { on: true, off: false }, defaultVariant: 'on' };
const OFF = { ...ON, defaultVariant: 'off' };
const SECRET = randomBytes(32).toString('hex');

describe('the OpenFeature provider against a server', () => {
  let server: TestServer;
  let uqrp: Uqrp;
  let token: string;
  let reader: Reader;
  let domains = 0;

  before(async () => {
    server = await testServer();
    uqrp = server.customer;
    const { id } = await uqrp.namespaces.create('flag-tests');
    token = (await uqrp.queryTokens.mint(id, { name: 'flags' })).token;
    reader = readerOf(server.ports.dns, token);
  });
  afterEach(() => OpenFeature.close());

  /** Writes the document, and waits until DNS answers with it. */
  const write = (flag: string, document: unknown) => writeText(flag, JSON.stringify(document));
  const writeText = async (flag: string, text: string) => {
    const key = `${flag}.flags.flag-tests.v1`;
    await uqrp.records.put(key, { text });
    for (let found = ''; found !== text; ) {
      found = (await reader.text(key).catch(() => ({ data: '' }))).data;
    }
  };
  const open = async (options: Partial<UqrpProviderOptions> = {}): Promise<[Client, UqrpProvider]> => {
    const provider = new UqrpProvider({ reader, namespace: 'flag-tests', signingSecret: SECRET, ...options });
    domains += 1;
    await OpenFeature.setProviderAndWait(`test-${domains}`, provider);
    return [OpenFeature.getClient(`test-${domains}`), provider];
  };

  it('evaluates flags of all types', async () => {
    await write('b', ON);
    await write('t', { ...ON, variants: { on: 'x' } });
    await write('n', { ...ON, variants: { on: 1.5 } });
    await write('o.deep', { ...ON, variants: { on: { a: [1] } } });
    const [client] = await open({ preload: ['b', 'nothing'] });
    assert.equal(await client.getBooleanValue('b', false), true);
    assert.equal(await client.getStringValue('t', ''), 'x');
    assert.equal(await client.getNumberValue('n', 0), 1.5);
    assert.deepEqual(await client.getObjectValue('O.Deep', {}), { a: [1] });
    const { variant, reason } = await client.getBooleanDetails('b', false);
    assert.deepEqual([variant, reason], ['on', 'STATIC']);
  });

  it('reads its flags at once when the stream of events says that one has changed', async () => {
    await write('live', ON);
    const events = new URL(server.base).origin;
    const [client] = await open({ events, refresh: 3_600_000, preload: ['live'] });
    assert.equal(await client.getBooleanValue('live', false), true);
    for (const document of [OFF, ON]) {
      const told = event(client, ProviderEvents.ConfigurationChanged);
      await uqrp.records.put('live.flags.flag-tests.v1', { text: JSON.stringify(document) });
      assert.deepEqual((await told)?.flagsChanged, ['live']);
      assert.equal(await client.getBooleanValue('live', document !== ON), document === ON);
    }
    await assert.rejects(open({ events: 'localhost:8080' }), TypeError);
  });

  it('says why it cannot, and gives the default value', async () => {
    await writeText('no-json', '{');
    await uqrp.records.put('no-text.flags.flag-tests.v1', { bytes: Uint8Array.of(255) });
    // Records become visible in the order of their writes.
    await write('broken', { version: 2 });
    await write('gone', { ...ON, enabled: false });
    await write('part', { ...OFF, rollout: { on: 50 } });
    await write('b', ON);
    const [client] = await open();
    for (const [flag, code] of [
      ['nothing', 'FLAG_NOT_FOUND'],
      ['not a name', 'FLAG_NOT_FOUND'],
      ['broken', 'PARSE_ERROR'],
      ['no-json', 'PARSE_ERROR'],
      ['no-text', 'PARSE_ERROR'],
      ['part', 'TARGETING_KEY_MISSING'],
    ] as const) {
      const details = await client.getBooleanDetails(flag, true);
      assert.deepEqual([details.value, details.errorCode, details.reason], [true, code, 'ERROR'], flag);
    }
    assert.equal((await client.getStringDetails('b', 'x')).errorCode, 'TYPE_MISMATCH');
    const disabled = await client.getBooleanDetails('gone', true);
    assert.deepEqual([disabled.value, disabled.reason, disabled.errorCode], [true, 'DISABLED', undefined]);
  });

  it('a rollout gives the share that it says', async () => {
    await write('part', { ...OFF, rollout: { on: 25 } });
    const [client] = await open();
    let on = 0;
    for (let n = 0; n < 1000; n += 1) {
      if (await client.getBooleanValue('part', false, { targetingKey: `user-${n}` })) on += 1;
    }
    assert.equal(on, 261);
  });

  it('a changed record is noticed by the next refresh', async () => {
    await write('polled', OFF);
    const [client] = await open({ refresh: 20 });
    assert.equal(await client.getBooleanValue('polled', true), false);
    const changed = event(client, ProviderEvents.ConfigurationChanged);
    await write('polled', ON);
    assert.deepEqual((await changed)?.flagsChanged, ['polled']);
    assert.equal(await client.getBooleanValue('polled', false), true);
  });

  it('a webhook changes a flag at once, and an older or forged request does not', async () => {
    await write('hooked', OFF);
    const [client, provider] = await open();
    assert.equal(await client.getBooleanValue('hooked', true), false);
    const changed = event(client, ProviderEvents.ConfigurationChanged);
    const key = 'hooked.flags.flag-tests.v1';
    assert.equal(await send(provider, upserted(key, ON, 7)), 'hooked');
    assert.deepEqual((await changed)?.flagsChanged, ['hooked']);
    assert.equal(await client.getBooleanValue('hooked', false), true);
    assert.equal(await send(provider, upserted(key, OFF, 7)), null);
    assert.equal(await send(provider, upserted(key, OFF, 6)), null);
    assert.equal(await send(provider, upserted('hooked.flags.other.v1', OFF, 8)), null);
    assert.equal(await send(provider, upserted('hooked.other.flag-tests.v1', OFF, 8)), null);
    assert.equal(await send(provider, namespaceDeleted(9)), null);
    const forged = send(provider, upserted(key, OFF, 10), 'f'.repeat(64));
    await assert.rejects(forged, { name: 'WebhookVerificationError', reason: 'no_match' });
    assert.equal(await client.getBooleanValue('hooked', false), true);
    assert.equal(await send(provider, deleted(key, 11)), 'hooked');
    assert.equal((await client.getBooleanDetails('hooked', true)).errorCode, 'FLAG_NOT_FOUND');
    const bare = new UqrpProvider({ reader, namespace: 'flag-tests' });
    await assert.rejects(bare.handleWebhook('{}', 'x'), TypeError);
  });

  it('a late retry of an older event makes it read the flag, and is not taken', async () => {
    await write('late', OFF);
    const [client, provider] = await open({ refresh: 3_600_000 });
    assert.equal(await client.getBooleanValue('late', true), false);
    await write('late', ON);
    const changed = event(client, ProviderEvents.ConfigurationChanged);
    const late = upserted('late.flags.flag-tests.v1', OFF, 5, 310_000);
    assert.equal(await send(provider, late), null);
    assert.deepEqual((await changed)?.flagsChanged, ['late']);
    assert.equal(await client.getBooleanValue('late', false), true);
  });

  it('is not ready when its first flags cannot be read', async () => {
    const refused = new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token: 'svcqwrong' });
    await assert.rejects(open({ reader: refused, preload: ['b'] }), { name: 'Refused' });
  });

  it('without the server it keeps the last values, becomes stale, and ready again', async () => {
    await write('kept', ON);
    let relay = await openRelay(server.ports.dns);
    const [flags] = await open({
      reader: readerOf(relay.port, token),
      refresh: 20,
      staleAfter: 100,
    });
    assert.equal(await flags.getBooleanValue('kept', false), true);
    const stale = event(flags, ProviderEvents.Stale);
    await relay.close();
    await stale;
    assert.equal(flags.providerStatus, 'STALE');
    const kept = await flags.getBooleanDetails('kept', false);
    assert.deepEqual([kept.value, kept.variant, kept.reason], [true, 'on', 'STALE']);
    const unknown = await flags.getBooleanDetails('other', true);
    assert.deepEqual([unknown.value, unknown.errorCode], [true, 'GENERAL']);
    const ready = event(flags, ProviderEvents.Ready);
    relay = await openRelay(server.ports.dns, relay.port);
    await ready;
    assert.equal(flags.providerStatus, 'READY');
    assert.equal((await flags.getBooleanDetails('kept', false)).reason, 'STATIC');
    await OpenFeature.close();
    await relay.close();
  });
});

describe('the cache of flags', () => {
  const cacheAt = (maxFlags: number) => {
    let time = 0;
    const cache = new FlagCache({ maxFlags, now: () => time });
    return { cache, at: (now: number) => (time = now) };
  };
  const kind = (cache: FlagCache, key: string) => {
    const state = cache.use(key)?.state;
    return state?.kind === 'flag' ? state.flag.defaultVariant : (state?.kind ?? null);
  };
  const on = JSON.stringify(ON);
  const off = JSON.stringify(OFF);

  const DAY = 86_400_000;
  const event = (text: string | null, seq: number, age = 0) => ({ key: 'a', text, seq, age });

  it('an answer that was asked for before an event is older than the event', () => {
    const { cache, at } = cacheAt(10);
    cache.answered('a', off, at(0));
    at(5);
    assert.equal(cache.changed(event(on, 5)), 'taken');
    assert.equal(cache.answered('a', null, 4), false);
    assert.equal(kind(cache, 'a'), 'on');
    assert.equal(cache.answered('a', null, at(6)), true);
    assert.equal(kind(cache, 'a'), 'missing');
  });

  it('an event of a flag that is not known yet wins over the read under way', () => {
    const { cache, at } = cacheAt(10);
    assert.equal(cache.changed(event(null, 1)), 'taken');
    assert.equal(cache.answered('a', on, 0), false);
    assert.equal(cache.answered('a', on, at(1)), false, 'what DNS showed before the event');
    assert.equal(kind(cache, 'a'), 'missing');
  });

  it('an event that happened before the last read of its flag is not taken: a late retry undoes nothing', () => {
    const { cache, at } = cacheAt(10);
    cache.answered('a', off, at(310_000));
    at(310_001);
    for (const age of [310_000, 2]) assert.equal(cache.changed(event(on, 5, age)), 'unsure');
    assert.equal(kind(cache, 'a'), 'off');
    assert.equal(cache.changed(event(on, 5)), 'taken');
    for (const seq of [5, 4]) assert.equal(cache.changed(event(off, seq)), 'known');
    assert.equal(kind(cache, 'a'), 'on');
  });

  for (const [ttl, heldMs] of [
    // Of `servers`: node:dns tells no TTL.
    [null, DAY],
    [0, 60_000],
    [3600, 3_600_000],
    [604_800, DAY],
  ] as const) {
    it(`with a TTL of ${ttl} the value of before an event is back after ${heldMs} ms, should the event of its return be lost`, () => {
      const { cache, at } = cacheAt(10);
      cache.answered('a', on, at(0), null, ttl);
      cache.answered('b', on, at(0), null, 30);
      cache.changed(event(off, 5));
      assert.equal(cache.answered('a', on, at(heldMs - 1)), false);
      assert.equal(cache.answered('a', on, at(heldMs)), true);
    });
  }

  it('that there was no flag before an event counts again after a minute: no owner chose the TTL of that answer', () => {
    const { cache, at } = cacheAt(10);
    cache.answered('a', null, at(0));
    cache.changed(event(on, 5));
    assert.equal(cache.answered('a', null, at(59_999)), false);
    assert.equal(cache.answered('a', null, at(60_000)), true);
  });

  it('what DNS showed before an event counts for nothing for as long as resolvers may keep it', () => {
    const { cache, at } = cacheAt(10);
    cache.answered('a', on, at(0), null, DAY / 1000);
    at(1);
    cache.changed(event(null, 5));
    at(2);
    cache.changed(event(off, 6));
    assert.equal(cache.answered('a', on, at(3)), false);
    at(4);
    assert.equal(cache.changed(event(off, 7, 2)), 'taken', 'what a resolver kept is no newer than an event');
    assert.equal(cache.answered('a', on, at(DAY + 3)), false);
    assert.equal(kind(cache, 'a'), 'off');
    assert.equal(cache.answered('a', on, at(DAY + 4)), true);
    assert.equal(kind(cache, 'a'), 'on');
  });

  it('once DNS has shown the value of an event, it may show the value of before again', () => {
    const { cache, at } = cacheAt(10);
    cache.answered('a', on, at(0));
    at(1);
    cache.changed(event(off, 5));
    assert.equal(cache.answered('a', on, at(2)), false);
    assert.equal(cache.answered('a', off, at(3)), false);
    assert.equal(cache.answered('a', on, at(4)), true);
    assert.equal(kind(cache, 'a'), 'on');
  });

  it('is bounded: the flag that was not used for the longest time goes', () => {
    const { cache, at } = cacheAt(2);
    cache.answered('a', on, 0);
    at(1);
    cache.answered('b', on, 0);
    at(2);
    assert.equal(kind(cache, 'a'), 'on');
    cache.answered('c', on, 0);
    assert.deepEqual(cache.keys(), ['a', 'c']);
    at(10);
    cache.use('c');
    cache.dropIdle(5);
    assert.deepEqual(cache.keys(), ['a', 'c'], 'nothing was confirmed since: an outage');
    cache.answered('a', on, 0);
    assert.equal(cache.oldest(), 2);
    cache.dropIdle(5);
    assert.deepEqual(cache.keys(), ['c']);
  });
});

function readerOf(port: number, token: string): Reader {
  return new Reader({ servers: [`127.0.0.1:${port}`], token, timeout: 2000, retries: 0 });
}

interface EventDetails {
  readonly flagsChanged?: string[];
}

function event(client: Client, name: ProviderEvents): Promise<EventDetails | undefined> {
  return new Promise((resolve) => {
    const ending = new AbortController();
    const handler = (details?: Readonly<Record<string, unknown>>): void => {
      ending.abort();
      resolve(details as EventDetails | undefined);
    };
    client.addHandler(name as never, handler as never, { signal: ending.signal });
  });
}

function upserted(key: string, document: object, seq: number, age = 0): string {
  const [, resource = '', namespace = '', version = ''] = key.split('.');
  const data = Buffer.from(JSON.stringify(document)).toString('base64');
  const record = {
    key,
    namespace,
    resource,
    version,
    content_type: 'application/json',
    ttl_seconds: 300,
    data,
  };
  return body('record.upserted', seq, record, age);
}

function deleted(key: string, seq: number): string {
  return body('record.deleted', seq, { key, namespace: 'flag-tests' });
}

function namespaceDeleted(seq: number): string {
  return body('namespace.deleted', seq, { namespace: 'flag-tests' });
}

/** @param age milliseconds since it happened */
function body(name: string, seq: number, data: object, age = 0): string {
  const created_at = new Date(Date.now() - age).toISOString();
  return JSON.stringify({ event: name, seq, created_at, data });
}

function send(provider: UqrpProvider, raw: string, secret = SECRET): Promise<string | null> {
  const t = Math.floor(Date.now() / 1000);
  return provider.handleWebhook(raw, signatureHeader(Buffer.from(raw), t, secret));
}
