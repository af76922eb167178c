/** Live batches in the order of the log, as far as they have come. */

import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import { acceptBatch, advanceChain, type ChainState, chainAt, type SignedBatch } from '../message/batch.ts';
import type { FeedRefusal } from '../ports/refusal.ts';

interface LiveChanges {
  /**
   * Takes a batch; `read` is called only for one that is new.
   * @returns why it is refused, or null
   * @throws what `read` throws
   */
  receive(batch: SignedBatch, read: (batch: SignedBatch) => Change[]): FeedRefusal | null;
  /** The changes that follow `seq` without a gap, at most `limit`. Forgets those up to `seq`. */
  take(epoch: string, seq: number, limit: number): readonly Change[];
  /** Place in the stream of the batch after `seq`; null unless `seq` is the end of the last batch that was in order. */
  readonly placeAfter: (epoch: string, seq: number) => number | null;
}

interface Held {
  readonly batch: SignedBatch;
  readonly changes: readonly Change[];
  readonly weight: number;
}

/** Batches whose hash is remembered, to tell a copy from what a publisher sends a second time after a takeover: that has another hash. */
const SEEN_MAX = 256;
/** Later than this no batch comes that was not held back. Those sent a second time have a new time. */
const LATE_MS = 10_000;
/**
 * Changes that wait for their reader, and as many that wait for a hole to be closed; each item of a dataset counts as one. What is dropped
 * here is read from the stream later.
 */
const CHANGES_MAX = 20 * LIMITS.feedBatchChanges;

function weightOf(changes: readonly Change[]): number {
  return changes.reduce(
    (sum, change) => sum + (change.type === 'dataset.items' ? change.items.length : 1),
    0,
  );
}

export function createLiveChanges(): LiveChanges {
  let state: ChainState | null = null;
  /** The last batch that was in order, and has a place. */
  let placed: SignedBatch | null = null;
  /** Ends with `state.seq`. */
  let ready: Change[] = [];
  let readyWeight = 0;
  /** Batches behind a hole, by their first change. */
  const ahead = new Map<number, Held>();
  let aheadWeight = 0;
  /** In hex, oldest first. */
  const seen = new Set<string>();
  let newestAt = 0;

  /** Of a batch that brings nothing new. */
  function isReplay({ hash, at }: SignedBatch): boolean {
    const name = Buffer.from(hash).toString('hex');
    if (seen.has(name) || at < newestAt - LATE_MS) return true;
    seen.add(name);
    const [oldest] = seen;
    if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
    return false;
  }

  /** @returns why it is refused, or null */
  function append(current: ChainState, { batch, changes, weight }: Held): FeedRefusal | null {
    const decision = acceptBatch(current, batch);
    if (decision.do === 'refused') return decision.reason;
    if (decision.do === 'apply') {
      if (ready.length > 0 && readyWeight + weight > CHANGES_MAX) return null;
      ready = ready.concat(changes.filter(({ seq }) => seq >= decision.from));
      readyWeight += weight;
    }
    if (decision.do !== 'hole') state = advanceChain(current, batch);
    if (decision.do === 'apply' && batch.streamSeq > 0) placed = batch;
    return null;
  }

  function hold(held: Held): void {
    if (aheadWeight + held.weight > CHANGES_MAX || ahead.has(held.batch.from)) return;
    ahead.set(held.batch.from, held);
    aheadWeight += held.weight;
  }

  /** Appends what a closed hole made next. */
  function drain(): void {
    for (const [from, held] of [...ahead].toSorted(([a], [b]) => a - b)) {
      if (state === null || from > state.seq + 1) return;
      ahead.delete(from);
      aheadWeight -= held.weight;
      // Refused here: the changes are read from the stream instead.
      append(state, held);
    }
  }

  function restart(epoch: string, seq: number): void {
    // Of another log, or of one that was set back.
    if (state?.epoch !== epoch || seq < state.seq) {
      ahead.clear();
      aheadWeight = 0;
    }
    state = chainAt(epoch, seq);
    ready = [];
    readyWeight = 0;
    drain();
  }

  return {
    receive(batch, read) {
      // Before the first reader there is nothing to follow.
      if (state === null) return null;
      const decision = acceptBatch(state, batch);
      if (decision.do === 'refused') return decision.reason;
      const isRepeated = isReplay(batch);
      newestAt = Math.max(newestAt, batch.at);
      if (decision.do === 'duplicate') {
        state = advanceChain(state, batch);
        if (isRepeated) return 'replayed';
      } else {
        const changes = read(batch);
        const held = { batch, changes, weight: weightOf(changes) };
        if (decision.do === 'hole') hold(held);
        else append(state, held);
        drain();
      }
      return null;
    },
    take(epoch, seq, limit) {
      const first = state === null ? 0 : state.seq - ready.length;
      if (state?.epoch !== epoch || seq < first || seq > state.seq) restart(epoch, seq);
      else if (seq > first) {
        ready = ready.slice(seq - first);
        readyWeight = weightOf(ready);
      }
      return ready.slice(0, limit);
    },
    placeAfter: (epoch, seq) => (placed?.epoch === epoch && placed.to === seq ? placed.streamSeq + 1 : null),
  };
}
