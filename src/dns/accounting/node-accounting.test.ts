import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { handoverOf, query, START } from '../../../test/support/dns/accounting/handovers.ts';
import { createMemoryQueryLog } from '../../../test/support/feed/memory-query-log.ts';
import { createMemoryUsage } from '../../../test/support/feed/memory-usage.ts';
import { LIMITS } from '../../base/limits.ts';
import { type QueryLogBatch, QueryLogFormatError } from '../../feed/ports/query-log.ts';
import { type UsageBatch, UsageFormatError } from '../../feed/ports/usage-sink.ts';
import { type NodeAccounting, openNodeAccounting } from './node-accounting.ts';
import { SpoolError, type UsageSpool, usageSpool } from './spool.ts';

const HOUR = 3_600_000;

describe('from a node to the control side', () => {
  let dir: string;
  let timers: ManualTimers;
  let usage: ReturnType<typeof createMemoryUsage>;
  let log: ReturnType<typeof createMemoryQueryLog>;
  /** Ids of batches that were sent, in order. */
  let sent: string[];
  let logged: QueryLogBatch[];
  let failures: string[];
  let dropped: number;
  let refused: number;
  /** What the sinks do before, and after, they add. */
  let before: (batch: UsageBatch | QueryLogBatch) => Promise<void>;
  let afterAdding: () => Promise<void>;
  let bend: (spool: UsageSpool) => UsageSpool;
  let accounting: NodeAccounting;

  const open = async (): Promise<NodeAccounting> => {
    accounting = await openNodeAccounting({
      node: 'node1',
      usage: {
        async add(batch) {
          sent.push(batch.batch);
          await before(batch);
          await usage.add(batch);
          await afterAdding();
        },
      },
      queryLog: {
        async add(batch) {
          await before(batch);
          logged.push(batch);
          await log.add(batch);
          await afterAdding();
        },
      },
      spool: bend(usageSpool(join(dir, 'accounting'))),
      onDropped: (rows) => {
        dropped += rows;
      },
      onUsageRefused(answers) {
        refused += answers;
      },
      onUsageLost: () => assert.fail('no answer is lost'),
      onFailing: (part) => failures.push(part),
      clock: () => START + timers.now,
      timers,
    });
    return accounting;
  };
  const files = (): readonly string[] => {
    try {
      return readdirSync(join(dir, 'accounting'));
    } catch {
      return [];
    }
  };
  const sums = (): Readonly<Record<string, number>> =>
    Object.fromEntries(usage.sums().map(({ namespaceId, answers }) => [namespaceId, answers]));
  const down = async (): Promise<void> => {
    throw new Error('the database is down');
  };

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-accounting-'));
    timers = createManualTimers();
    usage = createMemoryUsage();
    log = createMemoryQueryLog();
    sent = [];
    logged = [];
    failures = [];
    dropped = 0;
    refused = 0;
    before = async () => {};
    afterAdding = async () => {};
    bend = (spool) => spool;
    await open();
  });
  afterEach(async () => {
    const stopping = accounting.stop();
    await timers.advance(10_000);
    await stopping;
    rmSync(dir, { recursive: true, force: true });
  });

  /** Lets files be written. On a busy machine that takes long: the test runner's own limit is the only deadline. */
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  /** As `until`, while time passes: the name of a spool is there before its folder is on disk, and until then nothing waits for the next one. */
  const untilTime = async (holds: () => boolean): Promise<void> => {
    while (!holds()) {
      await timers.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const untilSpooled = (answers: number): Promise<void> =>
    until(() => files().includes('usage.json') && spooledAnswers() === answers);
  const spooledAnswers = (): number => {
    const text = readFileSync(join(dir, 'accounting', 'usage.json'), 'utf8');
    const { batches } = JSON.parse(text) as { batches: [string, string, [string, number, number][]][] };
    return batches.flatMap(([, , counts]) => counts).reduce((sum, [, , answers]) => sum + answers, 0);
  };

  test('the first hand-over is sent at once, the next a second later, as one batch', async () => {
    accounting.take(handoverOf({ a: 2, b: 1 }));
    await timers.advance(0);
    assert.deepEqual(sums(), { a: 2, b: 1 });
    assert.equal(log.rows().length, 3);
    accounting.take(handoverOf({ a: 3 }));
    accounting.take(handoverOf({ a: 4 }));
    await timers.advance(999);
    assert.deepEqual([sums(), sent.length], [{ a: 2, b: 1 }, 1]);
    await timers.advance(1);
    assert.deepEqual([sums(), sent.length], [{ a: 9, b: 1 }, 2]);
    assert.equal(log.rows().length, 10);
    assert.equal(accounting.waiting(), 0);
    await timers.advance(60_000);
    assert.equal(sent.length, 2, 'nothing is sent when there is nothing');
    assert.deepEqual(files(), []);
  });

  test('a sink that answers late is asked less often, and gets the same sums', async () => {
    before = () => new Promise((resolve) => timers.after(2_000, resolve));
    for (let second = 0; second < 30; second++) {
      accounting.take(handoverOf({ a: 1 }));
      await timers.advance(1_000);
    }
    // Two seconds each, then six.
    assert.ok(sent.length >= 3 && sent.length <= 5, `${sent.length} batches in 30 s`);
    before = async () => {};
    await timers.advance(20_000);
    assert.deepEqual(sums(), { a: 30 });
  });

  test('answers belong to the hour in which their second began', async () => {
    accounting.take(handoverOf({ a: 1 }, START + HOUR - 1));
    accounting.take(handoverOf({ a: 1 }, START + HOUR));
    await timers.advance(0);
    assert.deepEqual(
      usage.sums().map(({ hour, answers }) => [hour - START, answers]),
      [
        [0, 1],
        [HOUR, 1],
      ],
    );
  });

  test('while the database is down the same batch is tried again, new answers join the next one, nothing is lost', async () => {
    before = down;
    accounting.take(handoverOf({ a: 2 }));
    await timers.advance(0);
    accounting.take(handoverOf({ a: 3 }));
    accounting.take(handoverOf({ b: 5 }));
    await timers.advance(30_000);
    assert.ok(sent.length > 2);
    assert.equal(new Set(sent).size, 1, 'only one batch was ever sent');
    assert.equal(accounting.waiting(), 10);
    assert.deepEqual(failures.filter((part) => part === 'usage').length, 1, 'reported once');
    before = async () => {};
    await timers.advance(10_000);
    assert.deepEqual(sums(), { a: 5, b: 5 });
    assert.equal(log.rows().length, 10);
    assert.equal(accounting.waiting(), 0);
  });

  test('a batch whose acknowledgement was lost counts once', async () => {
    let lost = 1;
    afterAdding = async () => {
      if (lost-- > 0) throw new Error('the connection ended');
    };
    accounting.take(handoverOf({ a: 7 }));
    await timers.advance(5000);
    assert.equal(sent.length >= 1, true);
    assert.deepEqual(sums(), { a: 7 });
    assert.equal(log.rows().length, 7);
    assert.equal(accounting.waiting(), 0);
  });

  test('a batch that is refused at every attempt is given up, and the next ones follow', async () => {
    before = async (batch) => {
      const isFirst = batch.batch.endsWith('.0');
      if (isFirst) throw 'counts' in batch ? new UsageFormatError('counts') : new QueryLogFormatError('rows');
    };
    accounting.take(handoverOf({ a: 1 }));
    await timers.advance(0);
    accounting.take(handoverOf({ a: 2 }));
    await timers.advance(1000);
    assert.deepEqual(sums(), { a: 2 });
    assert.equal(log.rows().length, 2);
    assert.deepEqual(failures.toSorted(), ['query_log', 'usage']);
    assert.deepEqual([refused, dropped], [1, 1], 'what is given up is counted');
  });

  test('more counts than a batch holds go in several, one after the other', async () => {
    const counts = Object.fromEntries(
      Array.from({ length: LIMITS.usageBatchCounts }, (_, i) => [`n${i}`, 1]),
    );
    accounting.take(handoverOf(counts));
    accounting.take(handoverOf({ more: 1 }));
    await timers.advance(0);
    assert.equal(sent.length, 2);
    assert.equal(usage.sums().length, LIMITS.usageBatchCounts + 1);
  });

  test('a node passes on one batch of rows a second; rows for which there is no room are dropped and counted', async () => {
    const half = LIMITS.queryLogRowsPerSecond / 2;
    // Twice the waiting room. Two namespaces fill a third of it each, and the rest is free for others.
    const handovers = (2 * LIMITS.queryLogRowsWaiting) / LIMITS.queryLogRowsPerSecond;
    for (let i = 0; i < handovers; i++) accounting.take(handoverOf({ a: half, b: half }));
    await timers.advance(0);
    const kept = 2 * LIMITS.queryLogRowsWaiting - dropped;
    assert.ok(
      kept >= (LIMITS.queryLogRowsWaiting * 2) / 3 && kept < LIMITS.queryLogRowsWaiting,
      String(kept),
    );
    assert.equal(logged.length, 1);
    await timers.advance(1000);
    assert.equal(logged.length, 2);
    await timers.advance(60_000);
    assert.equal(log.rows().length, kept);
    assert.equal(log.dropped(), dropped, 'the batches tell how many');
    assert.deepEqual(sums(), { a: half * handovers, b: half * handovers }, 'answers are never dropped');
  });

  test('counts without progress are spooled for their user alone, within seven seconds of their hand-over', async () => {
    before = down;
    accounting.take(handoverOf({ [query.namespace]: 2 }));
    await timers.advance(6000);
    await untilSpooled(2);
    const file = join(dir, 'accounting', 'usage.json');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(dir, 'accounting')).mode & 0o777, 0o700);
    accounting.take(handoverOf({ a: 40 }));
    await untilTime(() => spooledAnswers() === 42);
    assert.ok(!readFileSync(file, 'utf8').includes('temp'), 'no row is in it');
    before = async () => {};
    await untilTime(() => files().length === 0);
  });

  test('counts that a slow batch holds up are spooled in seven seconds too, although that one has arrived (seed 2056296597)', async () => {
    const slow = Promise.withResolvers<void>();
    before = () => slow.promise;
    accounting.take(handoverOf({ a: 3 }));
    await timers.advance(0);
    assert.equal(sent.length, 1);
    accounting.take(handoverOf({ a: 1 }));
    await timers.advance(4000);
    before = down;
    slow.resolve();
    await untilTime(() => accounting.waiting() === 1);
    await timers.advance(2000);
    await untilSpooled(1);
  });

  test('as many new answers as have just arrived are spooled too (seed 1972417975)', async () => {
    before = down;
    accounting.take(handoverOf({ a: 4 }));
    await timers.advance(0);
    accounting.take(handoverOf({ b: 3 }));
    await untilTime(() => files().includes('usage.json') && spooledAnswers() === 7);
    const [first] = sent;
    // The first batch arrives, the second does not, and what waits is as much as before.
    before = async (batch) => {
      if (batch.batch !== first) throw new Error('the database is down');
    };
    accounting.take(handoverOf({ c: 4 }));
    await untilTime(() => accounting.waiting() === 7);
    const spooled = (): string => readFileSync(join(dir, 'accounting', 'usage.json'), 'utf8');
    // What arrived is not in it.
    await untilTime(() => !spooled().includes(`"${first}"`));
    assert.equal(spooledAnswers(), 7);
  });

  test('after a kill the spool is sent under the same ids: a batch that arrived before counts once', async () => {
    let isDown = true;
    before = async () => {
      if (isDown) throw new Error('the database is down');
    };
    accounting.take(handoverOf({ a: 2 }));
    await timers.advance(0);
    accounting.take(handoverOf({ a: 3, b: 4 }));
    await timers.advance(6000);
    await untilSpooled(9);
    const spool = readFileSync(join(dir, 'accounting', 'usage.json'));
    // The database comes back and takes everything; the process is killed before it removes the file.
    isDown = false;
    await timers.advance(10_000);
    assert.deepEqual(sums(), { a: 5, b: 4 });
    await accounting.stop();
    writeFileSync(join(dir, 'accounting', 'usage.json'), spool, { mode: 0o600 });
    await open();
    await timers.advance(10_000);
    assert.deepEqual(sums(), { a: 5, b: 4 });
    assert.equal(accounting.waiting(), 0);
    assert.equal(new Set(sent).size, 2, 'two batches, each sent twice or more');
  });

  test('a stop sends what is left; what cannot be sent is spooled and sent by the next start', async () => {
    accounting.take(handoverOf({ a: 1 }));
    await accounting.stop();
    assert.deepEqual([sums(), log.rows().length, files()], [{ a: 1 }, 1, []]);

    await open();
    before = down;
    accounting.take(handoverOf({ a: 10 }));
    await accounting.stop();
    assert.equal(spooledAnswers(), 10);
    before = async () => {};
    await open();
    await timers.advance(0);
    assert.deepEqual(sums(), { a: 11 });
  });

  test('a stop does not wait longer than two seconds for a database that hangs', async () => {
    before = () => new Promise(() => {});
    accounting.take(handoverOf({ a: 1 }));
    await timers.advance(0);
    const stopping = accounting.stop();
    await timers.advance(2000);
    await stopping;
    assert.equal(spooledAnswers(), 1);
  });

  test('a spool that the disk could not read at the start is read later, and not overwritten before', async () => {
    before = down;
    accounting.take(handoverOf({ a: 10 }));
    await accounting.stop();
    failures = [];
    let isFailing = true;
    bend = (spool) => ({
      ...spool,
      read: () =>
        isFailing ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : spool.read(),
    });
    await open();
    accounting.take(handoverOf({ b: 1 }));
    await timers.advance(10_000);
    assert.equal(spooledAnswers(), 10);
    assert.deepEqual(failures, ['spool', 'usage', 'query_log']);
    // Nor by a stop.
    await accounting.stop();
    assert.equal(spooledAnswers(), 10);
    await open();
    accounting.take(handoverOf({ b: 2 }));
    isFailing = false;
    await timers.advance(10_000);
    await untilSpooled(12);
    before = async () => {};
    await untilTime(() => files().length === 0);
    assert.deepEqual(sums(), { a: 10, b: 2 });
  });

  test('a damaged spool is reported, and the node counts on', async () => {
    await accounting.stop();
    for (const text of [
      '',
      '{',
      '{"format":2,"batches":[]}',
      '{"format":1,"batches":[["n","b",[["a",5,1]]]]}',
    ]) {
      await usageSpool(join(dir, 'accounting')).write([
        { node: 'n', batch: 'b', counts: [{ namespaceId: 'a', hour: HOUR, answers: 1 }] },
      ]);
      writeFileSync(join(dir, 'accounting', 'usage.json'), text);
      await assert.rejects(usageSpool(join(dir, 'accounting')).read(), SpoolError, text);
      failures = [];
      await open();
      assert.deepEqual(failures, ['spool']);
      accounting.take(handoverOf({ a: 1 }));
      await timers.advance(0);
      await accounting.stop();
    }
    assert.deepEqual(sums(), { a: 4 });
  });
});
