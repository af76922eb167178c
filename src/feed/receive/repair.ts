/** Changes that did not come live: from the stream, which spares control; from control where the stream has none, or is slow. */

import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Change } from '../../protocol/change.ts';
import { type Bus, BusError, type StreamMessage } from '../bus/bus.ts';
import {
  acceptBatch,
  advanceChain,
  type ChainState,
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
  /** Of the present connection to the broker, milliseconds. */
  readonly roundTrip: () => number;
  /** A reader over these reads. */
  readonly readerOf: (bus: StreamReads) => StreamReader;
  readonly askControl: After;
  /** Called with what a read of the stream rejects with, but not with a `BusError`. It throws what is no refusal. */
  readonly refused: (error: unknown) => void;
  readonly timers: Timers;
}

/**
 * The stream is slow when one of its answers takes longer than ten round trips, within these bounds. Without a leader it answers
 * nobody for seconds. A read of 512 messages is one answer, and takes seven round trips on a new connection: TCP begins slowly, and packets are
 * lost. A distant node that leaves it for control loses its place in the stream, and searches it afterwards. Calls to the stream end after 1.5 s.
 */
const SLOW = { factor: 10, leastMs: 100, mostMs: 1_500 } as const;

/**
 * One read of the stream is under way at most: while it is, control alone is asked. And control is asked besides only while it has answered
 * everything that this node asked before.
 * @returns the changes after `seq`. Rejects as `askControl` when the stream has none
 */
export function createRepair(
  options: RepairOptions,
): (epoch: string, seq: number, limit: number) => Promise<Repair> {
  const { askControl, timers, roundTrip } = options;
  let isReading = false;
  /** Questions to control that it has not answered. */
  let asked = 0;

  function slowMs(): number {
    return Math.min(SLOW.mostMs, Math.max(SLOW.leastMs, SLOW.factor * roundTrip()));
  }

  /** Calls `onAnswer` for each answer, and rejects after it once `isOver` is true: nobody waits for the rest. */
  function watched(onAnswer: () => void, isOver: () => boolean): StreamReads {
    async function heard<T>(read: Promise<T>): Promise<T> {
      const answer = await read;
      onAnswer();
      if (isOver()) throw new BusError('timeout');
      return answer;
    }
    const { bus } = options;
    return {
      readFrom: (seq, limit) => heard(bus.readFrom(seq, limit)),
      readLast: () => heard(bus.readLast()),
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

/** Where a read of the stream ended, so that the next one goes on there without a search. */
interface StreamPosition {
  readonly state: ChainState;
  /** Of the first message that was not read. */
  readonly place: number;
  /** Of the last message of the stream, when that was asked. */
  readonly last: number;
  /** Were read, and have what follows `state.seq`. As they came: nothing of them is decrypted. */
  readonly messages: readonly StreamMessage[];
}

/** The position of one node, which several readers use one after the other. */
export interface ReadAhead {
  /** Forgets it. @returns what goes on after `seq`, or null */
  take(epoch: string, seq: number): StreamPosition | null;
  keep(position: StreamPosition): void;
}

export function createReadAhead(): ReadAhead {
  let kept: StreamPosition | null = null;
  return {
    take(epoch, seq) {
      const found = kept;
      kept = null;
      return found !== null && found.state.epoch === epoch && found.state.seq === seq ? found : null;
    },
    keep(position) {
      kept = position;
    },
  };
}

interface StreamReaderOptions {
  readonly bus: StreamReads;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  readonly ahead: ReadAhead;
  /** Place in the stream of what follows `seq`, as far as live batches told; null: it is searched for. */
  readonly placeAfter: (epoch: string, seq: number) => number | null;
}

export interface StreamReader {
  /** First and last change of this stream and its epoch, or null. */
  ends(): Promise<{ readonly epoch: string; readonly from: number; readonly to: number } | null>;
  /** The changes after `seq` without a gap, at most `limit`; none when the stream does not have the next one. */
  after(epoch: string, seq: number, limit: number): Promise<readonly Change[]>;
}

/** Messages of one read, at most: as many as `readFrom` asks for at a time, so that a distant broker gives them in one round trip. */
const READ_MESSAGES = 512;
/** Reads of one call: as many messages as a batch has changes. A broker that repeats old messages would never end it. */
const READS_MAX = 16;
/** Places that are looked at together in a search: each round trip leaves an eighth of the stream. */
const PROBES = 7;

/** Calls reject with `BusError`, and with `FeedRefusedError` for a message that must not be used. */
export function createStreamReader(options: StreamReaderOptions): StreamReader {
  const { bus, verifier, keys, ahead, placeAfter } = options;
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
      const probes = probesBetween(low, high);
      const answers = await Promise.all(probes.map((place) => bus.readFrom(place, 1)));
      for (const [i, place] of probes.entries()) {
        const found = answers[i]?.[0];
        const batch = open(found);
        if (found === undefined || batch === null || batch.to > seq || found.seq > high) {
          high = place;
          break;
        }
        low = Math.max(low, place + 1, found.seq + 1);
      }
    }
    return low;
  }

  /** Where the next change after `seq` is; null: the stream does not have it. */
  async function find(epoch: string, seq: number): Promise<StreamPosition | null> {
    const last = await bus.readLast();
    const end = open(last);
    if (last === null || end === null || end.epoch !== epoch || end.to <= seq) return null;
    const state = chainAt(epoch, seq);
    if (end.from <= seq + 1) return { state, place: last.seq + 1, last: last.seq, messages: [last] };
    const told = placeAfter(epoch, seq);
    const place = told ?? (await placeOf(seq, { seq: last.seq, from: end.from }));
    return { state, place, last: last.seq, messages: [] };
  }

  /** Keeps what is left of a message that has more changes than were asked for. */
  function keepRest(found: readonly Change[], position: StreamPosition, batch: SignedBatch): void {
    const seq = found.at(-1)?.seq ?? position.state.seq;
    if (batch.to > seq) ahead.keep({ ...position, state: chainAt(batch.epoch, seq) });
    else {
      const state = advanceChain(position.state, batch);
      ahead.keep({ ...position, state, messages: position.messages.slice(1) });
    }
  }

  /** The changes from a position on, in order. */
  async function read(from: StreamPosition, limit: number): Promise<readonly Change[]> {
    const { last } = from;
    let { state, place, messages } = from;
    const changes: Change[] = [];
    for (let reads = 0; ; reads++) {
      for (const [i, message] of messages.entries()) {
        const batch = changesIn(message);
        const decision = acceptBatch(state, batch);
        if (decision.do === 'hole') return changes;
        if (decision.do === 'refused') throw new FeedRefusedError(decision.reason);
        if (decision.do === 'apply') {
          for (const change of readRows(batch, keys())) if (change.seq >= decision.from) changes.push(change);
        }
        if (changes.length >= limit) {
          const found = changes.slice(0, limit);
          keepRest(found, { state, place, last, messages: messages.slice(i) }, batch);
          return found;
        }
        state = advanceChain(state, batch);
      }
      if (place > last || reads === READS_MAX) break;
      messages = await bus.readFrom(place, Math.min(READ_MESSAGES, last - place + 1));
      if (messages.length === 0) break;
      for (const { seq } of messages) place = Math.max(place, seq) + 1;
    }
    return changes;
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
      const kept = ahead.take(epoch, seq);
      const next = kept === null ? [] : await read(kept, limit);
      if (next.length > 0) return next;
      // The stream may have begun again since the last read.
      const found = await find(epoch, seq);
      return found === null ? [] : read(found, limit);
    },
  };
}

/** Ascending places below `high`, from `low` on, which divide what lies between. */
function probesBetween(low: number, high: number): readonly number[] {
  const step = Math.ceil((high - low) / (PROBES + 1));
  const count = Math.min(PROBES, Math.ceil((high - low) / step));
  return Array.from({ length: count }, (_, i) => Math.min(low + (i + 1) * step - 1, high - 1));
}
