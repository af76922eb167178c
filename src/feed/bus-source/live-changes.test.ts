import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EPOCH, header, revocations, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import type { Change } from '../../core/change.ts';
import { openBatch, writeBatch } from '../batch/batch.ts';
import { packRows } from '../batch/rows.ts';
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
