import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { EPOCH } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { FORMAT, inPieces, snapshotWorld } from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { LIMITS } from '../../base/limits.ts';
import { isSnapshotDue, startSnapshotMaker } from './snapshot-maker.ts';

const MINUTE = 60_000;
const MANY = LIMITS.feedSnapshotChanges;

describe('whether a snapshot is due', () => {
  const last = { epoch: EPOCH, seq: 1_000, tookMs: 2_000 };
  const rows: readonly [string, number, number, { epoch?: string; changes?: number } | null, boolean][] = [
    ['nothing was written', 29 * MINUTE, 2_000, {}, false],
    ['nothing was written for half an hour: the key of the present one ends', 30 * MINUTE, 2_000, {}, true],
    ['the view is not known', 29 * MINUTE, 2_000, null, false],
    ['the view is not known for half an hour', 30 * MINUTE, 2_000, null, true],
    ['a change too few', 29 * MINUTE, 2_000, { changes: MANY - 1 }, false],
    ['many changes', MINUTE, 2_000, { changes: MANY }, true],
    ['many changes within a minute', MINUTE - 1, 2_000, { changes: 10 * MANY }, false],
    ['many changes, and it takes long', 149_999, 15_000, { changes: 10 * MANY }, false],
    ['many changes, ten times as long after it', 150_000, 15_000, { changes: MANY }, true],
    ['another epoch: nodes can use none', MINUTE, 2_000, { epoch: 'another' }, true],
    ['another epoch within a minute', MINUTE - 1, 2_000, { epoch: 'another' }, false],
  ];
  for (const [title, agoMs, tookMs, now, expected] of rows) {
    it(`${title}: ${expected ? 'yes' : 'no'}`, () => {
      const present = now === null ? null : { epoch: now.epoch ?? EPOCH, seq: last.seq + (now.changes ?? 0) };
      assert.equal(isSnapshotDue({ ...last, agoMs, tookMs }, present), expected);
    });
  }
});

describe('the maker of snapshots', () => {
  function started() {
    const timers = createManualTimers();
    const broker = createMemoryBroker(() => 0.5, timers);
    const world = snapshotWorld(broker.connect('control'), broker.connect('node'));
    const made: number[] = [];
    const reserved: number[] = [];
    const state = { seq: 1, fails: false, errors: 0, copies: 0 };
    const maker = startSnapshotMaker({
      writer: world.writer,
      present: () => ({ epoch: EPOCH, seq: state.seq }),
      async reserve(octets) {
        reserved.push(octets);
        throw new Error('the broker has no room');
      },
      async copyView() {
        state.copies++;
        if (state.fails) throw new Error('not now');
        const content = inPieces(new Uint8Array(10));
        return { epoch: EPOCH, seq: state.seq, octets: 10, content };
      },
      async discardCopy() {
        state.copies--;
      },
      format: FORMAT,
      files: [],
      timers,
      onMade: ({ seq }) => made.push(seq),
      onError: () => state.errors++,
    });
    return { timers, made, reserved, state, maker };
  }

  it('makes one at the start, one a minute while much is written, and else one in half an hour', async () => {
    const { timers, made, state, maker } = started();
    await timers.advance(1_000);
    assert.deepEqual(made, [1]);
    state.seq += MANY;
    await timers.advance(30_000);
    assert.deepEqual(made, [1]);
    await timers.advance(40_000);
    assert.deepEqual(made, [1, 1 + MANY]);
    await timers.advance(25 * MINUTE);
    assert.equal(made.length, 2);
    await timers.advance(6 * MINUTE);
    assert.equal(made.length, 3);
    await maker.stop();
  });

  it('goes on until one is made, also when the one that failed was asked for', async () => {
    const { timers, made, state, maker } = started();
    await timers.advance(1_000);
    state.fails = true;
    await Promise.all([assert.rejects(maker.make(), /not now/), timers.advance(1_000)]);
    state.fails = false;
    await timers.advance(5_000);
    assert.equal(made.length, 2);
    assert.ok(state.errors > 0);
    await maker.stop();
  });

  it('removes a copy that failed, as on a full disk, and one that was sent', async () => {
    const { timers, made, state, maker } = started();
    await timers.advance(1_000);
    assert.deepEqual([made.length, state.copies], [1, 0]);
    state.fails = true;
    await Promise.all([assert.rejects(maker.make(), /not now/), timers.advance(1_000)]);
    assert.deepEqual([made.length, state.copies], [1, 0]);
    await maker.stop();
  });

  it('asks for room for three of its views, and makes one although the broker has none', async () => {
    const { timers, made, reserved, maker } = started();
    await timers.advance(1_000);
    assert.deepEqual([reserved, made], [[30], [1]]);
    await maker.stop();
  });
});
