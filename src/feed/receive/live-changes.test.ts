import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EPOCH, header, revocations, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import type { Change } from '../../protocol/change.ts';
import { openBatch, packRows, type SignedBatch, writeBatch } from '../message/batch.ts';
import { createLiveChanges } from './live-changes.ts';

const ITEMS = 100;

function items(seq: number): Change {
  const facts = { from: null, to: null, issuer: 'i', brand: 'b', cc: 'DE', type: 't' };
  return {
    type: 'dataset.items',
    namespace: 'public',
    versionId: '2f1c8a50-6d7e-4b1d-9c64-0a6b8f5b7c11',
    items: Array.from({ length: ITEMS }, (_, i) => ({ item: `${i}`, windows: [facts] })),
    seq,
    at: 1_000,
    owner: null,
    cause: 'direct',
  };
}

/** Live batches of one change each. */
function receive(live: ReturnType<typeof createLiveChanges>, from: number, to: number): void {
  for (let seq = from; seq <= to; seq++) {
    const message = writeBatch(header(), packRows(revocations(seq, seq))[0]!, secrets);
    assert.equal(
      live.receive(openBatch(message, verifier), () => [items(seq)]),
      null,
    );
  }
}

const itemsOf = (changes: readonly Change[]): number => changes.length * ITEMS;

function batchOf(more: Parameters<typeof header>[0], from: number, to = from): SignedBatch {
  return openBatch(writeBatch(header(more), packRows(revocations(from, to))[0]!, secrets), verifier);
}

it('forgets what waited behind a hole when the log is another one (F06)', () => {
  const live = createLiveChanges();
  const other = '9d2b6c11-2f1c-4b1d-8a50-0c7b8f5b7c11';
  live.take(EPOCH, 0, 10);
  assert.equal(
    live.receive(batchOf({}, 2), () => revocations(2, 2)),
    null,
  );
  assert.deepEqual(live.take(other, 0, 10), []);
  live.receive(batchOf({ epoch: other }, 1), () => revocations(1, 1));
  // Change 2 of the former log is not change 2 of this one.
  assert.deepEqual(
    live.take(other, 0, 10).map(({ seq }) => seq),
    [1],
  );
});

it('has room behind a hole for another log, where the one before left a batch', () => {
  const live = createLiveChanges();
  const other = '9d2b6c11-2f1c-4b1d-8a50-0c7b8f5b7c11';
  const receiveOne = (epoch: string, seq: number): unknown =>
    live.receive(batchOf({ epoch }, seq), () => revocations(seq, seq));
  live.take(EPOCH, 0, 10);
  receiveOne(EPOCH, 2);
  live.take(other, 0, 10);
  for (const seq of [2, 1]) receiveOne(other, seq);
  assert.deepEqual(
    live.take(other, 0, 10).map(({ seq }) => seq),
    [1, 2],
  );
});

it('calls a batch a replay that comes later than any does that was not held back (F07)', () => {
  const live = createLiveChanges();
  live.take(EPOCH, 0, 10);
  const read = (from: number) => () => revocations(from, from);
  assert.equal(live.receive(batchOf({ at: 1_000 }, 1), read(1)), null);
  assert.equal(live.receive(batchOf({ at: 20_000 }, 2), read(2)), null);
  // The same change in another batch, as a publisher sends it after a takeover: new, and of now.
  assert.equal(live.receive(batchOf({ at: 19_000, streamSeq: 7 }, 2), read(2)), null);
  assert.equal(live.receive(batchOf({ at: 9_999, streamSeq: 8 }, 2), read(2)), 'replayed');
});

it('items of datasets that wait for their reader are bounded, in order and behind a hole', () => {
  const inOrder = createLiveChanges();
  inOrder.take(EPOCH, 0, 1);
  receive(inOrder, 1, 300);
  assert.equal(itemsOf(inOrder.take(EPOCH, 0, 1_000)), 20_000);
  inOrder.take(EPOCH, 150, 1_000);
  assert.equal(itemsOf(inOrder.take(EPOCH, 200, 1_000)), 0);

  const behind = createLiveChanges();
  behind.take(EPOCH, 0, 1);
  receive(behind, 2, 300);
  assert.equal(itemsOf(behind.take(EPOCH, 1, 1_000)), 20_000);
});

it('knows the place in the stream after the last batch in order, and none behind a hole or of another log', () => {
  const live = createLiveChanges();
  live.take(EPOCH, 0, 10);
  const receiveAt = (streamSeq: number, from: number): unknown =>
    live.receive(batchOf({ streamSeq }, from), () => revocations(from, from));
  receiveAt(7, 1);
  assert.equal(live.placeAfter(EPOCH, 1), 8);
  receiveAt(9, 3);
  assert.equal(live.placeAfter(EPOCH, 3), null);
  assert.equal(live.placeAfter('another', 1), null);
  // The stream cannot be written: the batch has no place.
  receiveAt(0, 2);
  assert.equal(live.placeAfter(EPOCH, 2), null);
  assert.equal(live.placeAfter(EPOCH, 3), 10, 'the hole is closed');
});
