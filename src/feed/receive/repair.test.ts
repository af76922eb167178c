import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { revocations } from '../../../test/support/feed/batch/messages.ts';
import type { Change } from '../../protocol/change.ts';
import { BusError, type StreamMessage } from '../bus/bus.ts';
import { createRepair, type StreamReader } from './repair.ts';

const NEXT = revocations(11, 12);
const EPOCH = 'epoch';

/** A stream and a control process that answer when the test says so, and a reader that reads the stream once. */
function world({ steps = 1 } = {}) {
  const timers = createManualTimers();
  const reads: PromiseWithResolvers<StreamMessage | null>[] = [];
  const questions: PromiseWithResolvers<readonly Change[]>[] = [];
  const refusals: unknown[] = [];
  let closedReads = 0;
  let roundTrip = 0;
  const readLast = async (): Promise<StreamMessage | null> => {
    const read = Promise.withResolvers<StreamMessage | null>();
    reads.push(read);
    try {
      return await read.promise;
    } finally {
      closedReads++;
    }
  };
  const repair = createRepair({
    bus: { readLast, readFrom: () => Promise.reject(new Error('not read')) },
    roundTrip: () => roundTrip,
    readerOf: (bus): StreamReader => ({
      ends: () => Promise.reject(new Error('not asked')),
      async after() {
        for (let step = 0; step < steps; step++) if ((await bus.readLast()) === null) return [];
        return NEXT;
      },
    }),
    askControl() {
      const question = Promise.withResolvers<readonly Change[]>();
      questions.push(question);
      return question.promise;
    },
    refused: (error) => refusals.push(error),
    timers,
  });
  return {
    timers,
    reads,
    questions,
    refusals,
    pendingReads: () => reads.length - closedReads,
    setRoundTrip: (ms: number): void => {
      roundTrip = ms;
    },
    repair: () => repair(EPOCH, 10, 100),
  };
}

const MESSAGE: StreamMessage = { seq: 1, data: new Uint8Array(0) };
const FROM_STREAM = { from: 'stream', changes: NEXT } as const;
const FROM_CONTROL = { from: 'control', changes: NEXT } as const;

describe('the repair of what did not come live', () => {
  it('asks nobody but the stream while that answers within 100 ms', async () => {
    const { timers, reads, questions, repair } = world();
    const found = repair();
    await timers.advance(99);
    reads[0]!.resolve(MESSAGE);
    assert.deepEqual(await found, FROM_STREAM);
    assert.equal(questions.length, 0);
    assert.deepEqual(timers.pending(), [], 'no timer is left');
  });

  it('asks control at once where the stream has nothing, or fails', async () => {
    const { timers, reads, questions, repair } = world();
    for (const answer of [
      (read: (typeof reads)[number]) => read.resolve(null),
      (read: (typeof reads)[number]) => read.reject(new BusError('no_responders')),
    ]) {
      const found = repair();
      answer(reads.at(-1)!);
      await timers.advance(0);
      questions.at(-1)!.resolve(NEXT);
      assert.deepEqual(await found, FROM_CONTROL);
    }
    assert.equal(questions.length, 2);
  });

  it('takes the answer of control when the stream does not answer, and reads the stream no second time meanwhile', async () => {
    const { timers, reads, questions, pendingReads, repair } = world();
    for (let call = 1; call <= 3; call++) {
      const found = repair();
      await timers.advance(100);
      questions.at(-1)!.resolve(NEXT);
      assert.deepEqual(await found, FROM_CONTROL);
      assert.equal(questions.length, call, 'one question for each call');
      assert.equal(pendingReads(), 1);
    }
    reads[0]!.reject(new BusError('timeout'));
    await timers.advance(0);
    const found = repair();
    reads[1]!.resolve(MESSAGE);
    assert.deepEqual(await found, FROM_STREAM, 'the stream is read again');
  });

  it('takes the answer of a stream that is late when control is away', async () => {
    const { timers, reads, questions, repair } = world();
    const found = repair();
    await timers.advance(100);
    questions[0]!.reject(new BusError('no_responders'));
    await timers.advance(500);
    reads[0]!.resolve(MESSAGE);
    assert.deepEqual(await found, FROM_STREAM);
  });

  it('takes the answer of control when the late stream has nothing', async () => {
    const { timers, reads, questions, repair } = world();
    const found = repair();
    await timers.advance(100);
    reads[0]!.resolve(null);
    await timers.advance(100);
    questions[0]!.resolve(NEXT);
    assert.deepEqual(await found, FROM_CONTROL);
  });

  it('rejects when both are away, in either order, and succeeds later', async () => {
    for (const isStreamFirst of [true, false]) {
      const { timers, reads, questions, repair } = world();
      const found = repair();
      const failed = assert.rejects(found, { reason: 'no_responders' });
      await timers.advance(100);
      const fail = [
        () => reads[0]!.reject(new BusError('timeout')),
        () => questions[0]!.reject(new BusError('no_responders')),
      ];
      for (const end of isStreamFirst ? fail : fail.toReversed()) {
        end();
        await timers.advance(10);
      }
      await failed;
      const next = repair();
      reads[1]!.resolve(MESSAGE);
      assert.deepEqual(await next, FROM_STREAM);
    }
  });

  it('has one question under way besides a slow stream: while control is slow as well, it asks no further one', async () => {
    const { timers, reads, questions, repair } = world();
    for (let call = 1; call <= 10; call++) {
      const found = repair();
      await timers.advance(150);
      reads.at(-1)!.resolve(MESSAGE);
      assert.deepEqual(await found, FROM_STREAM);
      assert.equal(questions.length, 1);
    }
  });

  it('leaves a read of many steps at its next answer when control was faster', async () => {
    const { timers, reads, questions, pendingReads, repair } = world({ steps: 20 });
    const found = repair();
    await timers.advance(100);
    questions[0]!.resolve(NEXT);
    assert.deepEqual(await found, FROM_CONTROL);
    reads[0]!.resolve(MESSAGE);
    await timers.advance(0);
    assert.deepEqual([reads.length, pendingReads()], [1, 0]);
  });

  it('stays with a distant stream as long as each answer takes less than ten round trips, and 1.5 s', async () => {
    const { timers, reads, questions, setRoundTrip, repair } = world({ steps: 3 });
    for (const [trip, ms] of [
      [0, 99],
      [40, 399],
      [600, 1_499],
    ] as const) {
      setRoundTrip(trip);
      const found = repair();
      for (let step = 0; step < 3; step++) {
        await timers.advance(ms);
        reads.at(-1)!.resolve(MESSAGE);
        await timers.advance(0);
      }
      assert.deepEqual(await found, FROM_STREAM);
      assert.equal(questions.length, 0, `${trip} ms`);
    }
    const found = repair();
    await timers.advance(1_500);
    assert.equal(questions.length, 1);
    questions[0]!.resolve(NEXT);
    assert.deepEqual(await found, FROM_CONTROL);
  });

  it('counts a message of the stream that must not be used, and asks control', async () => {
    const { timers, reads, questions, refusals, repair } = world();
    const found = repair();
    const refusal = new Error('refused');
    reads[0]!.reject(refusal);
    await timers.advance(0);
    questions[0]!.resolve(NEXT);
    assert.deepEqual(await found, FROM_CONTROL);
    assert.deepEqual(refusals, [refusal]);
  });
});
