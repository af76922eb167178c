/** Which batch may follow which. Pure: `accept` decides, `advance` makes the next state. */

import type { FeedRefusal } from '../ports/refusal.ts';
import type { BatchHeader } from './batch.ts';

/** What a node has of the feed. */
export interface ChainState {
  readonly epoch: string;
  /** The last `seq` that the node has. */
  readonly seq: number;
  /**
   * Hashes in hex of batches that end with `seq`. Several, because a publisher that takes over may cut the log into other batches.
   * Empty: none is known, and the next batch is taken by its `seq` alone, as after a start.
   */
  readonly tips: readonly string[];
}

type ChainDecision =
  /** The changes from `from` on are new. */
  | { readonly do: 'apply'; readonly from: number }
  | { readonly do: 'duplicate' }
  /** The changes `from` to `to` are missing. */
  | { readonly do: 'hole'; readonly from: number; readonly to: number }
  | { readonly do: 'refused'; readonly reason: FeedRefusal };

type ChainedHeader = Pick<BatchHeader, 'epoch' | 'from' | 'to' | 'previous'> & {
  readonly hash: Uint8Array;
};

/** More different batches than this do not end at one `seq` unless publishers fight. */
const TIPS_MAX = 8;

/** @param seq cursor of the view; the hash of what it applied last is not kept */
export function chainAt(epoch: string, seq: number): ChainState {
  return { epoch, seq, tips: [] };
}

/**
 * @param batch signed. A batch that overlaps what the node has is not compared with the tips: the hash in the middle of a batch is
 *   not known, and the rows are those of a log that never changes.
 */
export function accept(state: ChainState, batch: ChainedHeader): ChainDecision {
  if (batch.epoch !== state.epoch) return { do: 'refused', reason: 'epoch' };
  if (batch.to <= state.seq) return { do: 'duplicate' };
  if (batch.from > state.seq + 1) return { do: 'hole', from: state.seq + 1, to: batch.from - 1 };
  if (batch.from === state.seq + 1 && !follows(state, batch.previous)) {
    return { do: 'refused', reason: 'chain' };
  }
  return { do: 'apply', from: state.seq + 1 };
}

function follows({ tips }: ChainState, previous: Uint8Array): boolean {
  return tips.length === 0 || previous.every((octet) => octet === 0) || tips.includes(hex(previous));
}

/** The state after a batch that was applied or is a duplicate. */
export function advance(state: ChainState, batch: ChainedHeader): ChainState {
  if (batch.to < state.seq) return state;
  const tip = hex(batch.hash);
  if (batch.to > state.seq) return { epoch: state.epoch, seq: batch.to, tips: [tip] };
  if (state.tips.length === 0 || state.tips.includes(tip) || state.tips.length === TIPS_MAX) return state;
  return { ...state, tips: [...state.tips, tip] };
}

function hex(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex');
}
