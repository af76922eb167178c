import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import type { Change } from '../../protocol/change.ts';
import { NO_MARKS } from '../engine/signals.ts';
import { createRecentChanges, RECENT_MAX, RECENT_MS } from './recent-changes.ts';

/** Changes numbered from `first`. */
const changes = (first: number, count: number): Change[] =>
  Array.from({ length: count }, (_, i) => ({
    seq: first + i,
    at: 1,
    owner: null,
    cause: 'direct',
    type: 'record.deleted',
    key: 'a.doc.acme.v1',
    namespace: 'acme',
  }));

function open() {
  const timers = createManualTimers();
  const state = { isHeard: true, now: 5 };
  const recent = createRecentChanges({ isHeard: () => state.isHeard, clock: () => state.now, timers });
  const commit = (first: number, count: number, epoch = 'a'): void =>
    recent.committed({ ...NO_MARKS, seq: first + count - 1, epoch, changes: changes(first, count) });
  const taken = (seq: number, limit: number, head: number, epoch = 'a'): number[] | null =>
    recent.take(epoch, seq, limit, head)?.changes.map((change) => change.seq) ?? null;
  return { recent, timers, state, commit, taken };
}

describe('recent changes', () => {
  it('gives what was committed, once, up to the limit, with the time of the commit', () => {
    const { recent, state, commit, taken } = open();
    commit(1, 2);
    state.now = 6;
    commit(3, 2);
    state.now = 9;
    assert.equal(recent.take('a', 0, 3, 4)?.at, 6);
    assert.deepEqual(taken(3, 3, 4), [4]);
    assert.equal(taken(3, 3, 4), null);
    assert.equal(taken(0, 3, 4), null);
  });

  it('passes over what the reader has', () => {
    const { commit, taken } = open();
    commit(1, 4);
    assert.equal(taken(4, 10, 4), null);
    assert.deepEqual(taken(2, 10, 4), [3, 4]);
  });

  it('gives nothing after a gap, nor when another process has gone ahead', () => {
    const { commit, taken } = open();
    commit(5, 2);
    assert.equal(taken(3, 10, 6), null);
    assert.equal(taken(4, 10, 7), null);
    // Number 7 is of another process.
    commit(8, 1);
    assert.equal(taken(4, 10, 8), null);
    assert.deepEqual(taken(7, 10, 8), [8]);
  });

  it('gives nothing to a reader of another epoch, and joins no changes of two', () => {
    const { commit, taken } = open();
    commit(1, 2);
    assert.equal(taken(0, 10, 2, 'b'), null);
    commit(3, 1, 'b');
    assert.equal(taken(1, 10, 3, 'b'), null);
    assert.equal(taken(2, 10, 3, 'a'), null);
    assert.deepEqual(taken(2, 10, 3, 'b'), [3]);
  });

  it('forgets everything when a unit appended what only the database can read', () => {
    const { recent, commit, taken } = open();
    commit(1, 2);
    recent.committed({ ...NO_MARKS, seq: 3, epoch: 'a', changes: null });
    assert.equal(taken(0, 10, 3), null);
    commit(4, 1);
    assert.deepEqual(taken(3, 10, 4), [4]);
  });

  it('forgets everything when a unit erased payloads, and keeps what that unit itself appended', () => {
    const { recent, commit, taken } = open();
    commit(1, 2);
    recent.committed({ ...NO_MARKS, isErasure: true });
    assert.equal(taken(0, 10, 2), null);
    commit(3, 1);
    recent.committed({ ...NO_MARKS, seq: 4, epoch: 'a', changes: changes(4, 1), isErasure: true });
    assert.equal(taken(2, 10, 4), null);
    assert.deepEqual(taken(3, 10, 4), [4]);
  });

  it('keeps a number of changes, and none of what is more', () => {
    const { commit, taken } = open();
    commit(1, RECENT_MAX - 1);
    commit(RECENT_MAX, 1);
    assert.equal(taken(0, RECENT_MAX, RECENT_MAX)?.length, RECENT_MAX);
    commit(1, RECENT_MAX);
    commit(RECENT_MAX + 1, 1);
    assert.equal(taken(0, 10, RECENT_MAX + 1), null);
    commit(1, RECENT_MAX + 1);
    assert.equal(taken(0, 10, RECENT_MAX + 1), null);
  });

  it('forgets what nobody reads, and keeps nothing that nobody is told of', async () => {
    const { timers, state, commit, taken } = open();
    commit(1, 1);
    await timers.advance(RECENT_MS - 1);
    commit(2, 1);
    assert.deepEqual(taken(0, 1, 2), [1]);
    await timers.advance(1);
    assert.equal(taken(1, 10, 2), null);
    state.isHeard = false;
    commit(3, 1);
    assert.equal(taken(2, 10, 3), null);
  });
});
