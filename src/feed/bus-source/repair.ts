/** Changes that did not come live: from the stream, which spares control; from control where the stream has none, or is slow. */

import type { Clock } from '../../base/clock.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Change } from '../../protocol/change.ts';
import { BusError } from '../bus/bus.ts';
import type { StreamReader, StreamReads } from './stream-reader.ts';

export interface Repair {
  readonly from: 'stream' | 'control';
  readonly changes: readonly Change[];
}

type After = (epoch: string, seq: number, limit: number) => Promise<readonly Change[]>;

export interface RepairOptions {
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
