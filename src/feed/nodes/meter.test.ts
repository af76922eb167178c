import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMemoryBroker, type MemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, NOW, nodeEnd, RING } from '../../../test/support/feed/exchange/nodes.ts';
import { createMemoryQueryLog } from '../../../test/support/feed/memory-query-log.ts';
import { createMemoryUsage } from '../../../test/support/feed/memory-usage.ts';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { type Bus, BusError, SUBJECTS } from '../bus/bus.ts';
import { type ControlEnd, RpcError } from '../message/rpc.ts';
import { type UsageBatch, type UsageCount, UsageFormatError, type UsageSink } from '../ports/usage-sink.ts';
import { busQueryLogSink, busUsageSink, startMeter } from './meter.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PRESENT = NOW - (NOW % HOUR);
const count = (namespaceId: string, answers: number, hour = PRESENT): UsageCount => ({
  namespaceId,
  hour,
  answers,
});
const batch = (id: string, ...counts: UsageCount[]): UsageBatch => ({ node: 'node1', batch: id, counts });

interface World {
  readonly broker: MemoryBroker;
  readonly usage: ReturnType<typeof createMemoryUsage>;
  readonly log: ReturnType<typeof createMemoryQueryLog>;
  readonly refused: string[];
  readonly leftOut: number[];
  readonly errors: unknown[];
}

function world(more: Partial<ControlEnd> = {}, sink?: UsageSink): World {
  const broker = createMemoryBroker();
  const [usage, log] = [createMemoryUsage(), createMemoryQueryLog()];
  const [refused, leftOut, errors]: [string[], number[], unknown[]] = [[], [], []];
  const report = {
    onRefused: (reason: string) => refused.push(reason),
    onError: (error: unknown) => errors.push(error),
  };
  startMeter({
    end: controlEnd(broker.connect(), { ...report, ...more }),
    usage: sink ?? usage,
    queryLog: log,
    existing: async (ids) => new Set(ids.filter((id) => id !== 'unknown')),
    onLeftOut: (answers) => leftOut.push(answers),
  });
  return { broker, usage, log, refused, leftOut, errors };
}

describe('metering over the bus', () => {
  it('takes the name of a node from its signature, whatever the batch says', async () => {
    const { broker, log } = world();
    const sent = { node: 'node2', batch: 'b.1', rows: [queryLogRow('a', NOW)], dropped: [] };
    await busQueryLogSink(nodeEnd(broker.connect(), 'node1')).add(sent);
    await busQueryLogSink(nodeEnd(broker.connect(), 'node2')).add(sent);
    assert.deepEqual(
      log.rows().map(({ node }) => node),
      ['node1', 'node2'],
    );
  });

  it('a batch whose acknowledgement was lost counts once when it is sent again', async () => {
    const { broker, usage, refused } = world();
    let losses = 3;
    broker.bend = (_subject, data, to) =>
      to === 'node' && losses-- > 0 ? Buffer.from(data.subarray(1)) : data;
    const mine: string[] = [];
    const sink = busUsageSink(nodeEnd(broker.connect('node'), 'node1', { refused: mine as never[] }));
    for (let i = 0; i < 3; i++) await assert.rejects(sink.add(batch('b.1', count('a', 7))));
    await sink.add(batch('b.1', count('a', 7)));
    assert.deepEqual(usage.sums(), [count('a', 7)]);
    assert.deepEqual([mine, refused], [['format', 'format', 'format'], []]);
  });

  it('a replayed request changes nothing', async () => {
    const { broker, usage } = world();
    const heard: [string, Uint8Array][] = [];
    const bus = broker.connect();
    const request: Bus['request'] = (subject, data, ms) => {
      heard.push([subject, data]);
      return bus.request(subject, data, ms);
    };
    await busUsageSink(nodeEnd({ ...bus, request }, 'node1')).add(batch('b.1', count('a', 7)));
    const [subject, data] = heard[0]!;
    for (let i = 0; i < 3; i++) await bus.request(subject, data, 1_000);
    assert.deepEqual(usage.sums(), [count('a', 7)]);
  });

  it('counts of namespaces that do not exist, and of hours that are none of the present, are left out', async () => {
    const { broker, usage, leftOut } = world();
    const sink = busUsageSink(nodeEnd(broker.connect(), 'node1'));
    const kept = [count('a', 1), count('a', 2, PRESENT - 6 * DAY + HOUR), count('a', 4, PRESENT + 2 * HOUR)];
    const invented = [
      count('unknown', 8),
      count('a', 16, PRESENT - 6 * DAY - HOUR),
      count('a', 32, PRESENT + 3 * HOUR),
    ];
    await sink.add(batch('b.1', ...kept, ...invented));
    assert.deepEqual(new Set(usage.sums()), new Set(kept));
    assert.deepEqual(leftOut, [56]);
    // Nothing is left of it: it is acknowledged, else the node would repeat it without end.
    await sink.add(batch('b.2', count('unknown', 1)));
    assert.deepEqual(leftOut, [56, 1]);
  });

  it('what is out of bounds is answered as such, and a body of another shape too', async () => {
    const { broker, usage, refused } = world();
    const node = nodeEnd(broker.connect(), 'node1');
    const invalid = async (body: unknown): Promise<unknown> => {
      const answer = await node.ask('usage', body, 1_000);
      assert.equal(answer.status, 'invalid');
      return answer.body;
    };
    assert.equal(await invalid(['b.1', [['a', PRESENT, 0]]]), 'answers');
    assert.equal(await invalid(['b 1', [['a', PRESENT, 1]]]), 'batch');
    const shapes = [
      null,
      {},
      [],
      ['b.1'],
      ['b.1', {}],
      ['b.1', [['a', PRESENT]]],
      ['b.1', [[1, PRESENT, 1]]],
      [1, []],
    ];
    for (const shape of shapes) assert.equal(await invalid(shape), null);
    assert.deepEqual(
      refused,
      shapes.map(() => 'format'),
    );
    assert.deepEqual(usage.sums(), []);
    // As the sink of the node tells it: the sender drops the batch.
    broker.bend = (_subject, data) => data;
    const old = busUsageSink({ ...node, ask: async () => ({ status: 'invalid', body: 'hour' }) });
    await assert.rejects(
      old.add(batch('b.1', count('a', 1))),
      (error) => error instanceof UsageFormatError && error.field === 'hour',
    );
  });

  it('is not acknowledged while the database fails, and counts once afterwards', async () => {
    const usage = createMemoryUsage();
    let isDown = true;
    const failing: UsageSink = {
      add: (sent) => (isDown ? Promise.reject(new Error('the database is away')) : usage.add(sent)),
    };
    const { broker, errors } = world({}, failing);
    const sink = busUsageSink(nodeEnd(broker.connect(), 'node1'));
    await assert.rejects(
      sink.add(batch('b.1', count('a', 7))),
      (error) => error instanceof RpcError && error.status === 'failed',
    );
    assert.equal(errors.length, 1);
    isDown = false;
    await sink.add(batch('b.1', count('a', 7)));
    assert.deepEqual(usage.sums(), [count('a', 7)]);
  });

  it('one node cannot use up what others may send', async () => {
    let now = NOW;
    let opened = 0;
    const ring = () => {
      opened++;
      return RING;
    };
    const { broker, usage } = world({ clock: () => now, ring });
    const [one, two] = ['node1', 'node2'].map((name) => busUsageSink(nodeEnd(broker.connect(), name)));
    let busy = 0;
    for (let i = 0; i < 130; i++) {
      await one!.add(batch(`b.${i}`, count('a', 1))).catch((error: unknown) => {
        assert.ok(error instanceof RpcError && error.status === 'busy');
        busy++;
      });
    }
    assert.equal(busy, 10);
    assert.equal(opened, 120, 'what is above the rate is not even decrypted');
    await two!.add(batch('b.1', count('b', 1)));
    now += 50;
    await one!.add(batch('b.200', count('a', 1)));
    assert.deepEqual(
      usage.sums().map(({ answers }) => answers),
      [121, 1],
    );
  });

  it('a node without a key, or one that was removed, is not served', async () => {
    const { broker, refused, usage } = world({ verifierOf: () => null });
    const keyless = busUsageSink(nodeEnd(broker.connect(), 'node1', { key: null }));
    await assert.rejects(keyless.add(batch('b.1', count('a', 1))), BusError);
    const removed = nodeEnd(broker.connect(), 'node1');
    await assert.rejects(removed.ask('usage', ['b.1', [['a', PRESENT, 1]]], 20), BusError);
    assert.deepEqual([refused, usage.sums()], [['signer'], []]);
  });

  it('a request on the subject of another kind is refused', async () => {
    const { broker, refused } = world();
    const bus = broker.connect();
    const node = nodeEnd(
      { ...bus, request: (_subject, data, ms) => bus.request(`${SUBJECTS.meter}.node1`, data, ms) },
      'node1',
    );
    await assert.rejects(node.ask('provider', ['crypto', 'BTC'], 20), BusError);
    assert.deepEqual(refused, ['format']);
  });
});
