import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { fixture, openRig, type Rig, sends } from '../../../test/support/services/providers/rig.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { answerProviderAsks, providerAsks } from '../../feed/nodes/provider-asks.ts';
import type { Asker } from './budget.ts';
import type { ProviderClient } from './client.ts';
import { answerAsk, makeRemoteClient } from './remote.ts';

const SECOND = 1000;
const ME: Asker = { node: '', share: 0 };

describe('edges ask control for data of providers', () => {
  let rig: Rig | null = null;
  afterEach(() => rig?.close());

  /** Control with a provider client over a local server, and edges without providers. */
  async function world(skewMs = 0) {
    const opened = await openRig();
    rig = opened;
    opened.replies.set('coinbase', sends(fixture('coinbase.json')));
    const broker = createMemoryBroker();
    const refused: string[] = [];
    const asked: string[] = [];
    const control = (): (() => void) =>
      answerProviderAsks(
        controlEnd(broker.connect(), { verifierOf: keyOfAny, onRefused: (reason) => refused.push(reason) }),
        answerAsk(opened.client, () => opened.now),
      );
    const stop = control();
    return {
      rig: opened,
      broker,
      refused,
      stop,
      control,
      /** Names of the edges, in the order in which they asked control. */
      asked,
      edge: (name: string): ProviderClient => {
        const ask = providerAsks(nodeEnd(broker.connect(name), name));
        return makeRemoteClient({
          ask(feed, key, share) {
            asked.push(name);
            return ask(feed, key, share);
          },
          clock: () => opened.now + skewMs,
        });
      },
    };
  }

  it('three edges, many queries: one call', async () => {
    const { rig, edge, asked } = await world();
    const edges = ['e1', 'e2', 'e3'].map(edge);
    const readings = await Promise.all(
      edges.flatMap((one) => [one, one].map((twice) => Promise.resolve(twice.ask('crypto', 'BTC-USD', ME)))),
    );
    for (const one of readings) assert.ok(one.kind === 'value' && one.value.price > 0);
    assert.equal(rig.hits.length, 1);
    // From the cache of the edge.
    assert.ok(!(edges[0]!.ask('crypto', 'BTC-USD', ME) instanceof Promise));
    assert.deepEqual(asked, ['e1', 'e2', 'e3']);
    // Over: each edge serves the old value once more, asks again, and has the value of the one new call.
    rig.now += 30 * SECOND;
    const isNew = async (one: ProviderClient): Promise<boolean> => {
      const reading = await one.ask('crypto', 'BTC-USD', ME);
      return reading.kind === 'value' && reading.at === rig.now;
    };
    for (const one of edges) while (!(await isNew(one))) await nextTurn();
    assert.deepEqual([...new Set(asked.slice(3))].sort(), ['e1', 'e2', 'e3']);
    assert.equal(rig.hits.length, 2);
    await edges[1]!.ask('crypto', 'ETH-USD', ME);
    assert.deepEqual([asked.at(-1), rig.hits.length], ['e2', 3]);
  });

  it('an edge keeps a value as long as control does, whatever its clock shows', async () => {
    for (const skewMs of [0, 3_600_000, -3_600_000]) {
      const { rig, edge } = await world(skewMs);
      const [first, later] = [edge('e1'), edge('e2')];
      await first.ask('crypto', 'BTC-USD', ME);
      rig.now += 20 * SECOND;
      const reading = await later.ask('crypto', 'BTC-USD', ME);
      assert.ok(reading.kind === 'value');
      assert.equal(reading.at, rig.now + skewMs - 20 * SECOND);
      assert.equal(reading.freshUntil, rig.now + skewMs + 10 * SECOND);
      assert.equal(rig.hits.length, 1);
      rig.close();
    }
  });

  it('while control is away a stale value is served, then none; after its return all goes on', async () => {
    const { rig, edge, stop, control } = await world();
    const one = edge('e1');
    await one.ask('crypto', 'BTC-USD', ME);
    stop();
    assert.deepEqual(await one.ask('crypto', 'ETH-USD', ME), { kind: 'down' });
    rig.now += 60 * SECOND;
    const stale = await one.ask('crypto', 'BTC-USD', ME);
    assert.ok(stale.kind === 'value' && stale.freshUntil < rig.now);
    rig.now += 15 * 60 * SECOND;
    assert.deepEqual(await one.ask('crypto', 'BTC-USD', ME), { kind: 'down' });
    const again = control();
    assert.equal((await one.ask('crypto', 'BTC-USD', ME)).kind, 'value');
    again();
  });

  it('passes on what is missing, off, down, and out of budget', async () => {
    const { rig, edge } = await world();
    const one = edge('e1');
    rig.replies.set('coinbase', sends('{"message":"NotFound"}', 404));
    rig.replies.set('kraken', sends('{"error":["EQuery:Unknown asset pair"]}'));
    assert.equal((await one.ask('crypto', 'NO-USD', ME)).kind, 'missing');
    assert.ok(!(one.ask('crypto', 'NO-USD', ME) instanceof Promise), 'it is kept');
    assert.deepEqual(await one.ask('forex', 'EUR-USD', ME), { kind: 'down' });
    rig.replies.set('coinbase', sends('', 429, { 'retry-after': '60' }));
    rig.replies.set('kraken', sends('', 429, { 'retry-after': '60' }));
    assert.deepEqual(await one.ask('crypto', 'ETH-USD', ME), { kind: 'limited', retryAfter: 60 });
    const off = await answerAsk({ ask: () => ({ kind: 'off' }) }, () => 0)('stock', 'AAPL', ME);
    assert.deepEqual(off, { kind: 'off' });
  });

  it('says that a fetch still runs, and has its result for the next question', async () => {
    const slow = Promise.withResolvers<{ readonly kind: 'down' }>();
    const timers: Timers = {
      after(_ms, run) {
        queueMicrotask(run);
        return () => {};
      },
      elapsed: () => 0,
    };
    const answer = answerAsk({ ask: () => slow.promise }, () => 0, timers);
    assert.deepEqual(await answer('crypto', 'BTC-USD', ME), { kind: 'late' });
    slow.resolve({ kind: 'down' });
    assert.deepEqual(await answer('crypto', 'BTC-USD', ME), { kind: 'down' });
  });

  it('takes only keys that the services make: a key becomes part of a URL', async () => {
    const { rig, broker, refused } = await world();
    const ask = providerAsks(nodeEnd(broker.connect(), 'liar'));
    const bad: readonly [string, string][] = [
      ['crypto', '../../BTC'],
      ['crypto', 'BTC-USD/..'],
      ['crypto', 'BTC'],
      ['crypto', `${'A'.repeat(17)}-USD`],
      ['forex', 'EUR USD-'],
      ['stock', 'A&token='],
      ['meteo', '901_0'],
      ['meteo', '0_1801'],
      ['meteo', '1.5_0'],
      ['other', 'BTC-USD'],
      ['constructor', 'BTC-USD'],
      ['crypto', 'x'.repeat(65)],
    ];
    for (const [feed, key] of bad)
      assert.deepEqual(await ask(feed, key, 0), { kind: 'down' }, `${feed} ${key}`);
    assert.deepEqual([rig.hits, refused], [[], bad.map(() => 'format')]);
    const client = { ask: () => ({ kind: 'off' }) as const };
    const keys: readonly [string, string][] = [
      ['crypto', 'BTC-USD'],
      ['forex', 'EUR-USD'],
      ['stock', 'BRK.B'],
      ['meteo', '-900_1800'],
    ];
    for (const [feed, key] of keys)
      assert.notEqual(await answerAsk(client, () => 0)(feed, key, ME), null, key);
  });

  it('an answer to another question is not used', async () => {
    const { edge, broker } = await world();
    const one = edge('e1');
    let kept: Uint8Array | null = null;
    broker.bend = (_subject, data) => {
      const sent = kept ?? data;
      kept ??= data;
      return sent;
    };
    assert.equal((await one.ask('crypto', 'BTC-USD', ME)).kind, 'value');
    assert.deepEqual(await one.ask('crypto', 'ETH-USD', ME), { kind: 'down' });
  });
});
