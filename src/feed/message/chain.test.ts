import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { acceptBatch, advanceChain, type ChainState, chainAt, NO_HASH } from './batch.ts';

type Batch = Parameters<typeof acceptBatch>[1];

const hash = (name: string): Uint8Array => Buffer.alloc(32, name);

function batch(from: number, to: number, name: string, previous: Uint8Array = NO_HASH): Batch {
  return { epoch: 'e', from, to, hash: hash(name), previous };
}

/** The state after these batches, each of which must be applied or a duplicate. */
function after(...batches: readonly Batch[]): ChainState {
  return batches.reduce(
    (state, next) => {
      assert.ok(['apply', 'duplicate'].includes(acceptBatch(state, next).do));
      return advanceChain(state, next);
    },
    chainAt('e', 0),
  );
}

describe('the chain of batches', () => {
  it('applies the next batch, whose hash of the one before is right', () => {
    const state = after(batch(1, 5, 'a'));
    assert.deepEqual(acceptBatch(state, batch(6, 6, 'b', hash('a'))), { do: 'apply', from: 6 });
    assert.deepEqual(after(batch(1, 5, 'a'), batch(6, 8, 'b', hash('a'))).seq, 8);
  });

  it('refuses the next batch with the hash of another one', () => {
    const state = after(batch(1, 5, 'a'));
    assert.deepEqual(acceptBatch(state, batch(6, 6, 'c', hash('b'))), { do: 'refused', reason: 'chain' });
  });

  it('takes a batch by its seq alone after a start, and when the publisher began without the one before', () => {
    assert.deepEqual(acceptBatch(chainAt('e', 5), batch(6, 6, 'b', hash('a'))), { do: 'apply', from: 6 });
    assert.deepEqual(acceptBatch(after(batch(1, 5, 'a')), batch(6, 6, 'b')), { do: 'apply', from: 6 });
  });

  it('a batch that it has is a duplicate, one that overlaps is applied in part, one too far ahead shows a hole', () => {
    const state = after(batch(1, 5, 'a'));
    assert.deepEqual(acceptBatch(state, batch(2, 5, 'x')), { do: 'duplicate' });
    assert.deepEqual(acceptBatch(state, batch(4, 7, 'x', hash('y'))), { do: 'apply', from: 6 });
    assert.deepEqual(acceptBatch(state, batch(8, 9, 'x')), { do: 'hole', from: 6, to: 7 });
  });

  it('refuses another epoch before anything else', () => {
    const state = after(batch(1, 5, 'a'));
    assert.deepEqual(acceptBatch(state, { ...batch(1, 2, 'x'), epoch: 'f' }), {
      do: 'refused',
      reason: 'epoch',
    });
  });

  it('after a takeover, batches cut in another way go on from either', () => {
    // The first publisher sent 6-7 to this node and died; the second made another batch of the same changes.
    const state = after(batch(1, 5, 'a'), batch(6, 7, 'b', hash('a')), batch(6, 7, 'B', hash('a')));
    assert.deepEqual(acceptBatch(state, batch(8, 8, 'c', hash('B'))), { do: 'apply', from: 8 });
    assert.deepEqual(acceptBatch(state, batch(8, 8, 'c', hash('b'))), { do: 'apply', from: 8 });
    assert.deepEqual(acceptBatch(state, batch(8, 8, 'c', hash('x'))), { do: 'refused', reason: 'chain' });
  });

  it('keeps a bounded number of hashes', () => {
    let state = after(batch(1, 5, 'a'));
    for (const name of 'bcdefghijklmnop') state = advanceChain(state, batch(5, 5, name));
    assert.ok(state.tips.length <= 8);
  });

  it('any order, repetition and cut of a log ends with every change applied once, in order', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 12 });
    const order = fc.array(fc.nat(100), { maxLength: 60 });
    fc.assert(
      fc.property(cuts, cuts, order, (first, second, picks) => {
        const length = Math.min(sum(first), sum(second));
        const log = [...publish(first, length, 'first'), ...publish(second, length, 'second')];
        // After random deliveries, everything once more in order: what a repair from the stream does.
        const deliveries = [
          ...picks.map((pick) => log[pick % log.length]!),
          ...publish(first, length, 'first'),
        ];
        let state = chainAt('e', 0);
        const applied: number[] = [];
        for (const next of deliveries) {
          let decision = acceptBatch(state, next);
          if (decision.do === 'refused') {
            assert.equal(decision.reason, 'chain');
            // A repair reads by seq.
            state = chainAt('e', state.seq);
            decision = acceptBatch(state, next);
          }
          if (decision.do === 'apply') for (let seq = decision.from; seq <= next.to; seq++) applied.push(seq);
          if (decision.do !== 'hole') state = advanceChain(state, next);
        }
        assert.deepEqual(
          applied,
          Array.from({ length }, (_, i) => i + 1),
        );
      }),
    );
  });
});

const sum = (of: readonly number[]): number => of.reduce((total, n) => total + n, 0);

/** Batches of these lengths that together have the changes 1 to `length`. */
function publish(lengths: readonly number[], length: number, name: string): Batch[] {
  const batches: Batch[] = [];
  let from = 1;
  let previous = NO_HASH;
  for (const n of lengths) {
    const to = Math.min(length, from + n - 1);
    if (to < from) break;
    const next = { ...batch(from, to, ''), hash: Buffer.alloc(32, `${name}${from}-${to};`), previous };
    batches.push(next);
    previous = next.hash;
    from = to + 1;
  }
  return batches;
}
