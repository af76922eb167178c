/** Reads changes from the stream, from a `seq` of the log on. */
import type { Change } from '../../protocol/change.ts';
import { openBatch, readRows, type SignedBatch } from '../batch/batch.ts';
import { accept, advance, chainAt } from '../batch/chain.ts';
import type { FeedKeyRing } from '../batch/feed-key.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import type { Bus, StreamMessage } from '../bus/bus.ts';

export type StreamReads = Pick<Bus, 'readFrom' | 'readLast'>;

export interface StreamReaderOptions {
  readonly bus: StreamReads;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
}

export interface StreamReader {
  /** First and last change of this stream and its epoch, or null. */
  ends(): Promise<{ readonly epoch: string; readonly from: number; readonly to: number } | null>;
  /** The changes after `seq` without a gap, at most `limit`; none when the stream does not have the next one. */
  after(epoch: string, seq: number, limit: number): Promise<readonly Change[]>;
}

/** Messages of one read. */
const READ_MESSAGES = 64;
/** Reads of one call: as many messages as a batch has changes. A broker that repeats old messages would never end it. */
const READS_MAX = 16;

/** Calls reject with `BusError`, and with `FeedRefusedError` for a message that must not be used. */
export function createStreamReader({ bus, verifier, keys }: StreamReaderOptions): StreamReader {
  /** Pages of snapshots are signed too, but their rows are no changes. */
  function changesIn({ data }: StreamMessage): SignedBatch {
    const batch = openBatch(data, verifier);
    if (batch.kind !== 'changes') throw new FeedRefusedError('format');
    return batch;
  }
  const open = (message: StreamMessage | null | undefined): SignedBatch | null =>
    message == null ? null : changesIn(message);

  /** The place of the first message that ends after `seq`. */
  async function placeOf(
    seq: number,
    last: { readonly seq: number; readonly from: number },
  ): Promise<number> {
    // A batch has at least one change, so no place before this one has the next change.
    let low = Math.max(1, last.seq - Math.max(0, last.from - (seq + 1)));
    let high = last.seq;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [found] = await bus.readFrom(middle, 1);
      const batch = open(found);
      if (found === undefined || batch === null || batch.to > seq || found.seq > high) high = middle;
      else low = Math.max(middle, found.seq) + 1;
    }
    return low;
  }

  return {
    async ends() {
      const [[first], last] = await Promise.all([bus.readFrom(1, 1), bus.readLast()]);
      const [from, to] = [open(first), open(last)];
      if (from === null || to === null) return null;
      // Older batches of another epoch: the log begins somewhere between.
      return { epoch: to.epoch, from: from.epoch === to.epoch ? from.from : to.from, to: to.to };
    },
    async after(epoch, seq, limit) {
      const last = await bus.readLast();
      const end = open(last);
      if (last === null || end === null || end.epoch !== epoch || end.to <= seq) return [];
      let place = end.from <= seq + 1 ? last.seq : await placeOf(seq, { seq: last.seq, from: end.from });
      let state = chainAt(epoch, seq);
      const changes: Change[] = [];
      for (let reads = 0; reads < READS_MAX && changes.length < limit && place <= last.seq; reads++) {
        const messages = await bus.readFrom(place, READ_MESSAGES);
        if (messages.length === 0) break;
        for (const message of messages) {
          const batch = changesIn(message);
          const decision = accept(state, batch);
          if (decision.do === 'hole' || changes.length >= limit) return changes.slice(0, limit);
          if (decision.do === 'refused') throw new FeedRefusedError(decision.reason);
          if (decision.do === 'apply') {
            for (const change of readRows(batch, keys()))
              if (change.seq >= decision.from) changes.push(change);
          }
          state = advance(state, batch);
          place = Math.max(place, message.seq) + 1;
        }
      }
      return changes.slice(0, limit);
    },
  };
}
