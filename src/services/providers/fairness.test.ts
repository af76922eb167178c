import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import {
  FakeSource,
  feedsOf,
  STALE_MS,
  TTL_MS,
  value,
} from '../../../test/support/services/providers/fake-feeds.ts';
import type { Market } from '../crypto-prices.ts';
import type { Asker } from './budget.ts';
import { makeProviderClient, type ProviderClient } from './client.ts';
import type { Reading } from './outcome.ts';
import { answerAsk, makeRemoteClient } from './remote.ts';
import type { Fetched } from './source.ts';

const SECOND = 1000;
const LATER = Promise.withResolvers<Fetched<Market>>().promise;
const here = (share: number): Asker => ({ node: '', share });
/** One share; the others have odd ones too, so all addresses may be forged. */
const STRANGER = here(1);
const OTHERS = Array.from({ length: 12 }, (_, i) => here(3 + 2 * i));

describe('a stranger who asks for all it can', () => {
  let now: number;
  let first: FakeSource;
  let second: FakeSource;
  let client: ProviderClient;
  let last = 0;

  beforeEach(() => {
    now = Date.UTC(2026, 0, 1);
    // As Open-Meteo and MET Norway.
    const daily = { calls: 10_000, perMs: 86_400_000 };
    first = new FakeSource('coinbase', [
      { calls: 600, perMs: 60_000 },
      { calls: 5000, perMs: 3_600_000 },
      daily,
    ]);
    second = new FakeSource('kraken', [{ calls: 20, perMs: 10_000 }]);
    for (const source of [first, second]) source.answers = [value(1)];
    client = makeProviderClient({ feeds: feedsOf([first, second]), clock: () => now, patienceMs: 1 });
  });

  const newKey = (): string => `X${++last}-USD`;
  const kindsOf = async (asked: readonly (Reading<Market> | Promise<Reading<Market>>)[]) =>
    (await Promise.all(asked.map(async (one) => await one))).map(({ kind }) => kind);

  it('more new keys than the budget has: each of twelve others has its own, every minute for two hours', async () => {
    let refused = 0;
    for (let minute = 0; minute < 120; minute++) {
      now += 60 * SECOND;
      const flood = await kindsOf(
        Array.from({ length: 400 }, () => client.ask('crypto', newKey(), STRANGER)),
      );
      refused += flood.filter((kind) => kind === 'limited').length;
      const cities = await kindsOf(OTHERS.map((other) => client.ask('crypto', newKey(), other)));
      assert.deepEqual(cities, Array(12).fill('value'), `minute ${minute}`);
    }
    assert.ok(refused > 30_000, `${refused}`);
    assert.ok(first.calls.length <= 5000 * 0.9 * 2);
  });

  it('at a node: others there and at other nodes have theirs', async () => {
    const control = answerAsk(client, () => now);
    const [near, far] = ['fra1', 'nyc1'].map((node) =>
      makeRemoteClient({
        ask: async (feed, key, share) => (await control(feed, key, { node, share })) ?? { kind: 'down' },
        clock: () => now,
      }),
    ) as [ProviderClient, ProviderClient];
    for (let second = 0; second < 120; second++) {
      now += SECOND;
      await kindsOf(Array.from({ length: 100 }, () => near.ask('crypto', newKey(), STRANGER)));
      if (second % 10 > 0) continue;
      const [other] = OTHERS.splice(0, 1);
      OTHERS.push(other!);
      for (const node of [near, far]) {
        assert.deepEqual(
          await kindsOf([node.ask('crypto', newKey(), other!)]),
          ['value'],
          `second ${second}`,
        );
      }
    }
  });

  it('with forged addresses of all shares, for one feed at a node: another feed has its questions to control', async () => {
    const asked: string[] = [];
    const node = makeRemoteClient({
      ask: async (feed) => {
        asked.push(feed);
        return { kind: 'down' };
      },
      clock: () => now,
    });
    for (let i = 0; i < 1000; i++) void node.ask('meteo', `${i}_0`, here(1 + 2 * (i % 64)));
    assert.equal(asked.length, 60);
    await node.ask('crypto', newKey(), here(1));
    assert.equal(asked.at(-1), 'crypto');
  });

  it('leaves half of the calls that may run at once', async () => {
    first.answers = [LATER];
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    for (let i = 0; i < 20; i++) void client.ask('crypto', newKey(), STRANGER);
    assert.equal(first.calls.length, 8);
    void client.ask('crypto', newKey(), OTHERS[0]!);
    assert.equal(first.calls.length, 9);
    assert.deepEqual(await client.ask('crypto', newKey(), STRANGER), { kind: 'limited', retryAfter: 1 });
  });

  it('cannot refuse a key to those who wait for it too', async () => {
    first = new FakeSource('coinbase', [{ calls: 9, perMs: 60_000 }]);
    first.answers = [value(1)];
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    for (let i = 0; i < 5; i++) await client.ask('crypto', newKey(), STRANGER);
    const asked = [STRANGER, OTHERS[0]!, STRANGER, OTHERS[1]!].map((one) => client.ask('crypto', 'A', one));
    assert.deepEqual(await kindsOf(asked), ['limited', 'value', 'limited', 'value']);
    assert.equal(first.calls.filter(({ key }) => key === 'A').length, 1);
  });

  it('cannot keep a stale value from being fetched by others', async () => {
    first = new FakeSource('coinbase', [{ calls: 20, perMs: STALE_MS * 10 }]);
    first.answers = [value(1), value(2)];
    client = makeProviderClient({ feeds: feedsOf([first]), clock: () => now });
    await client.ask('crypto', 'A', OTHERS[0]!);
    for (let i = 0; i < 8; i++) await client.ask('crypto', newKey(), STRANGER);
    now += 2 * TTL_MS;
    const priceOf = async (asker: Asker) => {
      const reading = await client.ask('crypto', 'A', asker);
      return reading.kind === 'value' && reading.value.price;
    };
    assert.equal(await priceOf(STRANGER), 1, 'the stale one');
    assert.equal(await priceOf(OTHERS[1]!), 2);
  });
});
