import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import type { UsageBatch, UsageCount } from '../../feed/ports/usage-sink.ts';
import { createUsageOutbox } from './outboxes.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);

describe('usage outbox', () => {
  let now = START;
  let lost = 0;
  const outboxOf = (spooled: readonly UsageBatch[]) => {
    const outbox = createUsageOutbox({
      node: 'n',
      boot: 'b',
      clock: () => now,
      onLost: (answers) => {
        lost += answers;
      },
    });
    outbox.takeOver(spooled);
    return outbox;
  };
  const empty = () => outboxOf([]);
  beforeEach(() => {
    now = START;
    lost = 0;
  });
  const total = (batches: readonly UsageBatch[]): number =>
    batches.flatMap(({ counts }) => counts).reduce((sum, { answers }) => sum + answers, 0);

  test('above its bound answers join an earlier hour of their namespace, and none is lost', () => {
    const outbox = empty();
    for (let i = 0; i < LIMITS.usageWaitingCounts; i++) outbox.count(`n${i}`, START, 1);
    for (let hour = 1; hour < 50; hour++) outbox.count('n7', START + hour * HOUR, 1);
    const counts: readonly UsageCount[] = outbox.unsent().flatMap((batch) => batch.counts);
    assert.equal(counts.length, LIMITS.usageWaitingCounts);
    assert.deepEqual(
      counts.find(({ namespaceId }) => namespaceId === 'n7'),
      { namespaceId: 'n7', hour: START, answers: 50 },
    );
    assert.equal(outbox.waiting(), LIMITS.usageWaitingCounts + 49);
  });

  test('a batch keeps its id and its members from the spool to its arrival', () => {
    const outbox = empty();
    for (let i = 0; i < 2 * LIMITS.usageBatchCounts + 1; i++) outbox.count(`n${i}`, START, 1);
    const spooled = outbox.unsent();
    assert.deepEqual(
      spooled.map(({ batch, counts }) => [batch, counts.length]),
      [
        ['b.0', LIMITS.usageBatchCounts],
        ['b.1', LIMITS.usageBatchCounts],
        ['b.2', 1],
      ],
    );
    const ids = spooled.map(({ batch }) => batch);
    for (const [at, expected] of spooled.entries()) {
      assert.deepEqual(outbox.ids().slice(0, spooled.length - at), ids.slice(at));
      const batch = outbox.next()!;
      assert.equal(batch.batch, expected.batch);
      // The last one has grown since: it was never sent.
      assert.deepEqual(batch.counts.slice(0, expected.counts.length), expected.counts);
      const before = structuredClone(batch);
      // What comes after the batch was sent belongs to another one.
      outbox.count(expected.counts[0]!.namespaceId, START, 100);
      assert.deepEqual(outbox.next(), before);
      outbox.settle();
    }
    assert.equal(total(outbox.unsent()), 100);
    assert.equal(outbox.waiting(), 100);
  });

  test('a batch is sent for six days, and then lost and counted: control does not know its id for longer', () => {
    const outbox = empty();
    outbox.count('a', START, 2);
    const [batch] = [outbox.next()!];
    outbox.count('a', START + HOUR, 3);
    now = START + LIMITS.usageSpoolDays * 24 * HOUR;
    assert.equal(outbox.next(), batch);
    assert.equal(lost, 0);
    now++;
    // What was never sent is sent, however old it is.
    assert.deepEqual(outbox.next()!.counts, [{ namespaceId: 'a', hour: START + HOUR, answers: 3 }]);
    assert.deepEqual([lost, outbox.waiting()], [2, 3]);
  });

  test('a batch of an earlier process was perhaps sent in its newest hour', () => {
    const counts = [START, START + HOUR].map((hour) => ({ namespaceId: 'a', hour, answers: 1 }));
    const later = { namespaceId: 'a', hour: START + 2 * HOUR, answers: 5 };
    const outbox = outboxOf([
      { node: 'n', batch: 'old.0', counts },
      { node: 'n', batch: 'old.1', counts: [later] },
    ]);
    now = START + HOUR + LIMITS.usageSpoolDays * 24 * HOUR;
    assert.equal(outbox.next()!.batch, 'old.0');
    now++;
    assert.equal(outbox.next()!.batch, 'old.1');
    assert.deepEqual([lost, outbox.waiting()], [2, 5]);
    assert.deepEqual(
      outbox.unsent().map(({ batch }) => batch),
      ['old.1'],
    );
  });
});
