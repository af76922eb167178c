import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import {
  FakeSource,
  feedsOf,
  market,
  STALE_MS,
  TTL_MS,
  value,
} from '../../../test/support/services/providers/fake-feeds.ts';
import type { Market } from '../crypto-prices.ts';
import type { Asker } from './budget.ts';
import { makeProviderClient, type ProviderClient } from './client.ts';
import type { Reading } from './outcome.ts';
import { type Fetched, type Source, UNUSABLE } from './source.ts';

const ME: Asker = { node: '', share: 0 };
const START = Date.UTC(2026, 0, 1);
/** The longest that "there is no such thing" is believed. */
const MISSING_MS = 600_000;

describe('the provider client', () => {
  let now: number;
  let first: FakeSource;
  let second: FakeSource;
  let client: ProviderClient;

  beforeEach(() => {
    now = START;
    first = new FakeSource('coinbase');
    second = new FakeSource('kraken');
    client = makeProviderClient({ feeds: feedsOf([first, second]), clock: () => now, patienceMs: 1 });
  });

  const ask = async (key = 'A'): Promise<Reading<Market>> => await client.ask('crypto', key, ME);
  const fresh = (price: number, at = now): Reading<Market> => ({
    kind: 'value',
    value: market(price),
    time: at,
    at,
    freshUntil: at + TTL_MS,
    until: at + TTL_MS,
  });
  const isStale = (reading: Reading<Market>): boolean =>
    reading.kind === 'value' && reading.freshUntil <= now && reading.until > now;

  it('says which feeds have a source', async () => {
    assert.deepEqual(client.offered, ['crypto']);
    assert.deepEqual(await client.ask('stock', 'A', ME), { kind: 'off' });
  });

  it('asks once for a key and a lifetime, however many ask', async () => {
    first.answers = [value(1), value(2)];
    const all = await Promise.all(Array.from({ length: 50 }, () => ask()));
    for (const reading of all) assert.deepEqual(reading, fresh(1));
    now += TTL_MS - 1;
    assert.deepEqual(client.ask('crypto', 'A', ME), fresh(1, START), 'at once');
    assert.deepEqual(first.calls, [{ key: 'A', validator: null }]);
    await ask('B');
    assert.equal(first.calls.length, 2);
  });

  it('gives a stale value at once for another lifetime, and fetches meanwhile', async () => {
    first.answers = [value(1), value(2)];
    await ask();
    now += TTL_MS;
    const old = client.ask('crypto', 'A', ME);
    assert.deepEqual(old, { ...fresh(1, START), until: now + 1000 });
    await new Promise(setImmediate);
    assert.deepEqual(await ask(), fresh(2));
  });

  it('waits for a new value when the one it has is older, and gives that one marked when none comes', async () => {
    first.answers = [value(1), value(2), { kind: 'failed' }];
    await ask();
    now += 2 * TTL_MS;
    assert.deepEqual(await ask(), fresh(2));
    now += 2 * TTL_MS;
    const stale = await ask();
    assert.ok(isStale(stale));
    assert.ok(stale.kind === 'value' && stale.value.price === 2);
    const calls = first.calls.length;
    assert.ok(!(client.ask('crypto', 'A', ME) instanceof Promise), 'and does not try again at once');
    now += 4999;
    assert.ok(!(client.ask('crypto', 'A', ME) instanceof Promise), 'nor within five seconds');
    assert.equal(first.calls.length, calls);
    now += 1;
    await ask();
    assert.equal(first.calls.length, calls + 1);
  });

  it('gives a value that is old enough to be marked when the source takes its time', async () => {
    let finish: (fetched: Fetched<Market>) => void = () => {};
    first.answers = [value(1), new Promise((resolve) => (finish = resolve))];
    await ask();
    now += 3 * TTL_MS;
    const stale = await ask();
    assert.ok(isStale(stale));
    finish(value(3));
    await new Promise(setImmediate);
    assert.deepEqual(await ask(), fresh(3));
  });

  for (const bad of [{ kind: 'failed' }, { kind: 'limited', waitMs: 60_000 }] as const) {
    it(`asks a source that was ${bad.kind} again when the clock is set back, not after it has caught up`, async () => {
      first.answers = [bad];
      second.answers = [bad];
      for (let i = 0; i < 5; i++) assert.notEqual((await ask()).kind, 'value');
      const calls = first.calls.length;
      assert.notEqual((await ask()).kind, 'value');
      assert.equal(first.calls.length, calls, 'it pauses');
      now -= 2 * 3_600_000;
      first.answers = [value(1)];
      assert.deepEqual(await ask(), fresh(1));
    });
  }

  it('loads a stale value again when the clock is set back during the rest after a failure', async () => {
    first.answers = [value(1), { kind: 'failed' }, value(2)];
    await ask();
    now += STALE_MS - 1;
    assert.ok(isStale(await ask()));
    now -= STALE_MS - 1 - 3 * TTL_MS;
    assert.deepEqual(await ask(), fresh(2));
  });

  it('forgets a value at the age where it misleads', async () => {
    first.answers = [value(1), { kind: 'failed' }];
    await ask();
    now = START + STALE_MS - 1;
    assert.equal((await ask()).kind, 'value');
    now = START + STALE_MS;
    assert.deepEqual(await ask(), { kind: 'down' });
  });

  it('asks the second source when the first fails, is limited or never answers', async () => {
    second.answers = [value(2)];
    for (const bad of [{ kind: 'failed' }, { kind: 'limited', waitMs: 5000 }] as const) {
      first.answers = [bad];
      assert.deepEqual(await ask(bad.kind), fresh(2));
    }
    first.load = () => Promise.reject(new Error('a fault of the source itself'));
    assert.deepEqual(await ask('throws'), fresh(2));
  });

  it('believes the first source that there is no such thing, for ten minutes, and the second never', async () => {
    first.answers = [{ kind: 'missing' }];
    const missing: Reading<Market> = { kind: 'missing', until: START + MISSING_MS };
    assert.deepEqual(await ask(), missing);
    now += MISSING_MS - 1;
    assert.deepEqual(await ask(), missing);
    assert.equal(first.calls.length, 1);
    now += 1;
    first.answers = [{ kind: 'failed' }];
    second.answers = [{ kind: 'missing' }];
    assert.deepEqual(await ask(), { kind: 'down' });
  });

  it('asks the second as well where it may know more', async () => {
    client = makeProviderClient({ feeds: feedsOf([first, second], true), clock: () => now });
    first.answers = [{ kind: 'missing' }];
    second.answers = [value(2), { kind: 'missing' }];
    assert.deepEqual(await ask('A'), fresh(2));
    assert.equal((await ask('B')).kind, 'missing');
  });

  it('does not say that there is no such thing while the second, which may know more, has not answered', async () => {
    client = makeProviderClient({ feeds: feedsOf([first, second], true), clock: () => now, patienceMs: 1 });
    first.answers = [{ kind: 'missing' }];
    second.answers = [value(2), { kind: 'failed' }];
    await ask();
    now += 2 * TTL_MS;
    const stale = await ask();
    assert.ok(isStale(stale));
    assert.ok(stale.kind === 'value' && stale.value.price === 2);
    assert.deepEqual(await ask('B'), { kind: 'down' });
    second.answers = [{ kind: 'limited', waitMs: 5000 }];
    assert.deepEqual(await ask('C'), { kind: 'limited', retryAfter: 5 });
    now += 5000;
    second.answers = [{ kind: 'missing' }];
    assert.equal((await ask('C')).kind, 'missing');
  });

  it('reports how long to wait when no source has budget left, the shortest of all', async () => {
    first = new FakeSource('coinbase', [{ calls: 3, perMs: 60_000 }]);
    second = new FakeSource('kraken', [{ calls: 3, perMs: 10_000 }]);
    first.answers = [value(1)];
    second.answers = [value(2)];
    client = makeProviderClient({ feeds: feedsOf([first, second]), clock: () => now });
    assert.deepEqual(await ask('A'), fresh(1));
    assert.deepEqual(await ask('B'), fresh(2));
    assert.deepEqual(await ask('C'), { kind: 'limited', retryAfter: 10 });
    assert.deepEqual([first.calls.length, second.calls.length], [1, 1]);
    assert.deepEqual(await ask('A'), fresh(1), 'what is known is still told');
  });

  it('reports every call and its outcome, and no call that was blocked', async () => {
    const told: string[] = [];
    client = makeProviderClient({
      feeds: feedsOf([first]),
      clock: () => now,
      onCall: (source, outcome) => told.push(`${source} ${outcome}`),
    });
    first.answers = [value(1), { kind: 'unchanged' }, { kind: 'missing' }, { kind: 'failed' }];
    for (const key of ['A', 'B', 'C', 'D']) await ask(key);
    await ask('A');
    first.answers = [{ kind: 'limited', waitMs: 60_000 }];
    await ask('E');
    await ask('F');
    assert.deepEqual(
      told,
      ['value', 'unchanged', 'missing', 'failed', 'limited'].map((outcome) => `coinbase ${outcome}`),
    );
    assert.equal(first.calls.length, 5);
  });

  it('leaves a source alone for as long as it says', async () => {
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    first.answers = [{ kind: 'limited', waitMs: 7500 }, value(1)];
    assert.deepEqual(await ask(), { kind: 'limited', retryAfter: 8 });
    now += 7499;
    assert.deepEqual(await ask(), { kind: 'limited', retryAfter: 1 });
    assert.equal(first.calls.length, 1);
    now += 1;
    assert.deepEqual(await ask(), fresh(1));
  });

  it('leaves a source alone that failed five times, then tries once', async () => {
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    for (let i = 0; i < 8; i++) assert.deepEqual(await ask(`k${i}`), { kind: 'down' });
    assert.equal(first.calls.length, 5);
    now += 15_000;
    first.answers = [value(1)];
    assert.deepEqual(await ask(), fresh(1));
  });

  it('of a key without a usable answer, asked for again and again, the others notice nothing', async () => {
    const asked: string[] = [];
    const source: Source<Market> = {
      name: 'coinbase',
      limits: [{ calls: 1000, perMs: 1000 }],
      load: async (key) => {
        asked.push(key);
        return key === 'dead' ? UNUSABLE : value(1);
      },
    };
    client = makeProviderClient({ feeds: feedsOf([source]), clock: () => now });
    for (let i = 0; i < 8; i++) assert.deepEqual(await ask('dead'), { kind: 'down' });
    assert.deepEqual(await ask('alive'), fresh(1));
    assert.equal(asked.length, 9);
  });

  it('sends what the source wants to see again, and keeps a value that has not changed', async () => {
    first.answers = [
      value(1, { validator: 'v1', time: START - 5, notBefore: START + 3 * TTL_MS }),
      { kind: 'unchanged', notBefore: START + 9 * TTL_MS },
      { kind: 'unchanged' },
    ];
    await ask();
    now = START + 5 * TTL_MS;
    const reading = await ask();
    assert.deepEqual(first.calls[1], { key: 'A', validator: 'v1' });
    assert.deepEqual(reading, { ...fresh(1), time: START - 5 });
    assert.deepEqual(await ask('never seen'), { kind: 'down' }, 'nothing that could be unchanged');
  });

  it('does not call a value fresh for longer because its source does not want to be asked: another is', async () => {
    first.answers = [{ kind: 'failed' }];
    second.answers = [value(2, { notBefore: START + 13 * TTL_MS }), value(3)];
    client = makeProviderClient({ feeds: feedsOf([first, second]), clock: () => now });
    assert.deepEqual(await ask(), fresh(2));
    now = START + TTL_MS;
    assert.ok(isStale(await ask()));
    await new Promise(setImmediate);
    assert.deepEqual([first.calls.length, second.calls.length], [2, 1], 'the one that may be asked');
    // Twelve lifetimes are the longest that a source can keep us from asking it; the value is forgotten before.
    now = START + STALE_MS;
    assert.deepEqual(await ask(), fresh(3));
  });

  it('keeps the time that the source sends, unless it is in the future', async () => {
    first.answers = [value(1, { time: START - 86_400_000 }), value(2, { time: START + 60_000 })];
    assert.deepEqual(await ask('A'), { ...fresh(1), time: START - 86_400_000 });
    assert.deepEqual(await ask('B'), fresh(2));
  });

  it('holds no more entries than it may', async () => {
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now, entriesMax: 3 });
    first.answers = [value(1)];
    for (const key of ['A', 'B', 'C']) await ask(key);
    await ask('A');
    await ask('D');
    assert.equal(client.size(), 3);
    await ask('A');
    assert.equal(first.calls.length, 4, 'the least recently used one went');
    await ask('B');
    assert.equal(first.calls.length, 5);
  });

  it('knows after a restart what it knew, and what it had used up', async () => {
    first = new FakeSource('coinbase', [{ calls: 5, perMs: 60_000 }]);
    first.answers = [value(1)];
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    await ask('A');
    await client.ask('crypto', 'B', { node: '', share: 2 });
    const state = client.state();
    now += 1000;
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    client.restore(state);
    assert.deepEqual(await ask('A'), fresh(1, START));
    assert.equal((await ask('C')).kind, 'limited');
    now = START + STALE_MS;
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    client.restore(state);
    assert.equal(client.size(), 0);
  });
});
