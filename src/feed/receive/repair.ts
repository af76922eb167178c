/** Changes that did not come live: from the stream, which spares control; from control where the stream has none, or is slow. */

import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Change } from '../../protocol/change.ts';
import { type Bus, BusError, type StreamMessage } from '../bus/bus.ts';
import {
  acceptBatch,
  advanceChain,
  chainAt,
  openBatch,
  readRows,
  type SignedBatch,
} from '../message/batch.ts';
import type { FeedKeyRing, FeedVerifier } from '../message/keys.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

interface Repair {
  readonly from: 'stream' | 'control';
  readonly changes: readonly Change[];
}

type After = (epoch: string, seq: number, limit: number) => Promise<readonly Change[]>;

interface RepairOptions {
  readonly bus: StreamReads;
  /** Differs on each connection: it may lead to a broker that is nearer or more distant. */
  readonly connection: () => number;
  /** A reader over these reads. */
  readonly readerOf: (bus: StreamReads) => StreamReader;
  readonly askControl: After;
  /** Called with what a read of the stream rejects with, but not with a `BusError`. It throws what is no refusal. */
  readonly refused: (error: unknown) => void;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * The stream is slow when one of its answers takes longer than eight times the fastest one, within these bounds. Without a leader it answers
 * nobody for seconds. A read of 64 messages is one answer and takes five round trips, so that a distant node reads on from the stream.
 */
const SLOW = { factor: 8, leastMs: 100, mostMs: 1_000 } as const;

/**
 * One read of the stream is under way at most: while it is, control alone is asked. And control is asked besides only while it has answered
 * everything that this node asked before.
 * @returns the changes after `seq`. Rejects as `askControl` when the stream has none
 */
export function createRepair(
  options: RepairOptions,
): (epoch: string, seq: number, limit: number) => Promise<Repair> {
  const { askControl, timers, clock, connection } = options;
  let isReading = false;
  /** Questions to control that it has not answered. */
  let asked = 0;
  /** Milliseconds, as far as known of this connection. */
  let fastest: number | null = null;
  let measured = connection();

  function slowMs(): number {
    return Math.min(SLOW.mostMs, Math.max(SLOW.leastMs, SLOW.factor * (fastest ?? 0)));
  }

  /** Calls `onAnswer` for each answer, and rejects after it once `isOver` is true: nobody waits for the rest. */
  function watched(onAnswer: () => void, isOver: () => boolean): StreamReads {
    async function timed<T>(read: Promise<T>): Promise<T> {
      const began = clock();
      const answer = await read;
      const ms = clock() - began;
      // A clock that was set back says nothing.
      if (ms >= 0) fastest = Math.min(fastest ?? ms, ms);
      onAnswer();
      if (isOver()) throw new BusError('timeout');
      return answer;
    }
    const { bus } = options;
    return {
      readFrom: (seq, limit) => timed(bus.readFrom(seq, limit)),
      readLast: () => timed(bus.readLast()),
    };
  }

  async function fromControl(...wanted: Parameters<After>): Promise<Repair> {
    asked++;
    try {
      return { from: 'control', changes: await askControl(...wanted) };
    } finally {
      asked--;
    }
  }

  async function fromStream(reads: StreamReads, ...wanted: Parameters<After>): Promise<Repair> {
    isReading = true;
    try {
      return { from: 'stream', changes: await options.readerOf(reads).after(...wanted) };
    } catch (error) {
      // Control is asked instead.
      if (!(error instanceof BusError)) options.refused(error);
      return { from: 'stream', changes: [] };
    } finally {
      isReading = false;
    }
  }

  return async (...wanted) => {
    if (isReading) return fromControl(...wanted);
    if (connection() !== measured) fastest = null;
    measured = connection();
    const slow = Promise.withResolvers<null>();
    let isOver = false;
    let cancel = (): void => {};
    const wait = (): void => {
      cancel();
      if (!isOver) cancel = timers.after(slowMs(), () => slow.resolve(null));
    };
    wait();
    const reading = fromStream(
      watched(wait, () => isOver),
      ...wanted,
    );
    try {
      const soon = await Promise.race([reading, slow.promise]);
      if (soon === null && asked === 0) return await firstOf(reading, fromControl(...wanted));
      const found = soon ?? (await reading);
      return found.changes.length > 0 ? found : await fromControl(...wanted);
    } finally {
      isOver = true;
      cancel();
    }
  };
}

/** The first that answers; of the stream only an answer with changes counts. Control may be away, and the stream only late. */
function firstOf(reading: Promise<Repair>, asked: Promise<Repair>): Promise<Repair> {
  const late = reading.then((found) => (found.changes.length > 0 ? found : asked));
  return Promise.race([late, asked.catch(() => late)]);
}

/** Reads changes from the stream, from a `seq` of the log on. */

export type StreamReads = Pick<Bus, 'readFrom' | 'readLast'>;

interface StreamReaderOptions {
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
  const changesIn = ({ data }: StreamMessage): SignedBatch => openBatch(data, verifier);
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
          const decision = acceptBatch(state, batch);
          if (decision.do === 'hole' || changes.length >= limit) return changes.slice(0, limit);
          if (decision.do === 'refused') throw new FeedRefusedError(decision.reason);
          if (decision.do === 'apply') {
            for (const change of readRows(batch, keys()))
              if (change.seq >= decision.from) changes.push(change);
          }
          state = advanceChain(state, batch);
          place = Math.max(place, message.seq) + 1;
        }
      }
      return changes.slice(0, limit);
    },
  };
}
