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
  let clockError = 0;
  const reads: PromiseWithResolvers<StreamMessage | null>[] = [];
  const questions: PromiseWithResolvers<readonly Change[]>[] = [];
  const refusals: unknown[] = [];
  let closedReads = 0;
  let connections = 0;
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
    connection: () => connections,
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
    clock: () => 1_000_000 + timers.now + clockError,
    timers,
  });
  return {
    timers,
    reads,
    questions,
    refusals,
    pendingReads: () => reads.length - closedReads,
    setClockBack: (ms: number): void => {
      clockError -= ms;
    },
    connectAgain: (): void => {
      connections++;
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

  it('measures a distant broker again after a connection to a near one', async () => {
    const { timers, reads, questions, connectAgain, repair } = world({ steps: 2 });
    const answered = async (firstMs: number, secondMs: number): Promise<void> => {
      const found = repair();
      await timers.advance(firstMs);
      reads.at(-1)!.resolve(MESSAGE);
      await timers.advance(secondMs);
      reads.at(-1)!.resolve(MESSAGE);
      assert.deepEqual(await found, FROM_STREAM);
    };
    await answered(1, 5);
    connectAgain();
    // A round trip, then five.
    await answered(60, 300);
    await answered(60, 300);
    assert.equal(questions.length, 0);
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

  it('stays with a distant stream whose every answer takes 80 ms, or once it is known 300 ms', async () => {
    const { timers, reads, questions, repair } = world({ steps: 20 });
    let found = repair();
    const answers = async (ms: number): Promise<void> => {
      for (let step = 0; step < 20; step++) {
        await timers.advance(ms);
        reads.at(-1)!.resolve(MESSAGE);
        await timers.advance(0);
      }
    };
    await answers(80);
    assert.deepEqual(await found, FROM_STREAM);
    found = repair();
    await answers(300);
    assert.deepEqual(await found, FROM_STREAM);
    assert.equal(questions.length, 0);
  });

  it('waits for a stream no longer than a second, whatever its clock said before', async () => {
    const { timers, reads, questions, setClockBack, repair } = world();
    for (const back of [-3_600_000, 3_600_000]) {
      const found = repair();
      setClockBack(back);
      reads.at(-1)!.resolve(MESSAGE);
      assert.deepEqual(await found, FROM_STREAM);
    }
    const found = repair();
    await timers.advance(1_000);
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
