import { realTimers, type Timers } from '../../../../src/base/lifecycle/timers.ts';
import {
  AppendConflictError,
  type Bus,
  BusError,
  type BusState,
  chunkSubject,
  type Responder,
  type StreamMessage,
  SUBJECTS,
} from '../../../../src/feed/bus/bus.ts';

/** Probabilities from 0 to 1, and the longest delay. Delays differ, so messages overtake one another. */
export interface BusFaults {
  readonly drop: number;
  readonly duplicate: number;
  readonly delayMs: number;
  /** Of a message: it comes up to a minute later. */
  readonly late?: number;
  /** Of an append: nothing is stored, and it times out. */
  readonly appendLost: number;
  /** Of an append: it is stored, and it times out. */
  readonly ackLost: number;
}

export const NO_FAULTS: BusFaults = { drop: 0, duplicate: 0, delayMs: 0, appendLost: 0, ackLost: 0 };

/** A broker in memory, and the means to harm it. */
export interface MemoryBroker {
  connect(name?: string): Bus;
  faults: BusFaults;
  /**
   * Changes a message on its way to one end: a live one, one that is read from the stream (`SUBJECTS.log`), or an answer (the subject of the
   * question). Null: it is withheld.
   */
  bend: (subject: string, data: Uint8Array, to: string) => Uint8Array | null;
  /** Ends that have no connection. */
  cut(name: string): void;
  heal(name: string): void;
  /** Ends that believe to be connected: what they send is lost (`out`), or what is sent to them (`in`). */
  readonly silent: { readonly out: Set<string>; readonly in: Set<string> };
  /** True: nothing that one sends reaches the other, although both reach the broker. */
  isParted: (from: string, to: string) => boolean;
  /** Ends that read the stream from a replica which lacks its last messages: how many. */
  readonly behind: Map<string, number>;
  /** The broker itself goes away, with all connections. Its stream stays. */
  stop(): void;
  start(): void;
  /** Appends and reads of the stream fail; everything else goes on. */
  streamFails: boolean;
  /** Removes the messages of the stream up to `seq`. */
  purge(seq: number): void;
  /** The stream is empty, and begins with 1 again. */
  loseStream(): void;
  /** What the stream holds. */
  readonly stream: readonly StreamMessage[];
}

interface End {
  readonly name: string;
  readonly subscribers: Map<string, Set<(data: Uint8Array, sentTo: string) => void>>;
  readonly responders: Map<string, Set<Responder>>;
  readonly states: Set<(state: BusState) => void>;
  isCut: boolean;
  isClosed: boolean;
}

/** Of a message that is late. */
const LATE_MS = 60_000;

/**
 * @param random from 0 to 1; the same numbers give the same run, as far as the timers do
 * @param appendMs until an append or a read of the stream times out
 */
export function createMemoryBroker(
  random: () => number = () => 0.5,
  timers: Timers = realTimers,
  appendMs = 1_500,
): MemoryBroker {
  const ends = new Set<End>();
  const cutNames = new Set<string>();
  const chunks = new Map<string, Uint8Array>();
  const silent = { out: new Set<string>(), in: new Set<string>() };
  const behind = new Map<string, number>();
  let stream: StreamMessage[] = [];
  let lastSeq = 0;
  let isUp = true;

  const isConnected = (end: End): boolean => isUp && !end.isCut && !end.isClosed;
  const happens = (probability: number): boolean => probability > 0 && random() < probability;
  const later = (run: () => void): void => {
    const most = happens(broker.faults.late ?? 0) ? LATE_MS : broker.faults.delayMs;
    timers.after(most === 0 ? 0 : Math.floor(random() * most), run);
  };
  const isHeard = (from: End, to: End): boolean =>
    !silent.out.has(from.name) && !silent.in.has(to.name) && !broker.isParted(from.name, to.name);
  const pause = (ms: number): Promise<void> => new Promise((resolve) => timers.after(ms, resolve));

  function deliver(from: End, subject: string, data: Uint8Array): void {
    for (const end of ends) {
      for (const { handler, isPresent } of heard(end.subscribers, subject)) {
        if (!isConnected(end) || !isHeard(from, end) || happens(broker.faults.drop)) continue;
        const sent = broker.bend(subject, data, end.name);
        if (sent === null) continue;
        for (let copies = happens(broker.faults.duplicate) ? 2 : 1; copies > 0; copies--) {
          later(() => {
            if (isConnected(end) && isPresent()) handler(sent, subject);
          });
        }
      }
    }
  }

  function announce(change: () => void): void {
    const before = new Map([...ends].map((end) => [end, isConnected(end)]));
    change();
    for (const [end, was] of before) {
      const is = isConnected(end);
      if (is !== was) for (const listener of end.states) listener(is ? 'connected' : 'disconnected');
    }
  }

  function busOf(end: End): Bus {
    const reach = (): void => {
      if (end.isClosed) throw new BusError('closed');
      if (!isConnected(end)) throw new BusError('disconnected');
    };
    async function streamCall<T>(run: () => T | Promise<T>): Promise<T> {
      reach();
      await pause(Math.floor(random() * broker.faults.delayMs));
      // A late answer is one that does not come in time.
      if (happens(broker.faults.late ?? 0)) {
        await pause(appendMs);
        throw new BusError('timeout');
      }
      const isAway = (): boolean => broker.streamFails || silent.out.has(end.name);
      if (isAway()) await pause(appendMs);
      if (isAway()) throw new BusError('timeout');
      reach();
      const result = await run();
      if (!silent.in.has(end.name)) return result;
      // It is done, and the answer is lost.
      await pause(appendMs);
      throw new BusError('timeout');
    }
    const read = (): StreamMessage[] =>
      stream.slice(0, stream.length - (behind.get(end.name) ?? 0)).flatMap(({ seq, data }) => {
        const bent = broker.bend(SUBJECTS.log, data, end.name);
        return bent === null ? [] : [{ seq, data: bent }];
      });
    return {
      publish(subject, data) {
        if (isConnected(end)) deliver(end, subject, new Uint8Array(data));
      },
      subscribe: (subject, handler) => add(end.subscribers, subject, handler),
      respond: (subject, handler) => add(end.responders, subject, handler),
      async request(subject, data, timeoutMs) {
        reach();
        const found = [...ends].flatMap((other) =>
          isConnected(other)
            ? heard(other.responders, subject).map(({ handler }) => ({ other, run: handler }))
            : [],
        );
        const chosen = found[Math.floor(random() * found.length)];
        if (chosen === undefined) throw new BusError('no_responders');
        const answer = Promise.withResolvers<Uint8Array>();
        const cancel = timers.after(timeoutMs, () => answer.reject(new BusError('timeout')));
        const isLost = happens(broker.faults.drop) || !isHeard(end, chosen.other);
        for (let copies = isLost ? 0 : happens(broker.faults.duplicate) ? 2 : 1; copies > 0; copies--) {
          later(() => {
            if (!isConnected(chosen.other)) return;
            void chosen.run(new Uint8Array(data), subject).then(
              (sent) => {
                if (sent === null || happens(broker.faults.drop) || !isHeard(chosen.other, end)) return;
                later(() => {
                  const bent = broker.bend(subject, new Uint8Array(sent), end.name);
                  if (isConnected(end) && bent !== null) answer.resolve(bent);
                });
              },
              () => {},
            );
          });
        }
        return answer.promise.finally(cancel);
      },
      append: (data, expectedLast) =>
        streamCall(async () => {
          const isLost = happens(broker.faults.appendLost);
          if (!isLost && expectedLast !== lastSeq) throw new AppendConflictError();
          if (!isLost) stream.push({ seq: ++lastSeq, data: new Uint8Array(data) });
          const seq = lastSeq;
          if (isLost || happens(broker.faults.ackLost)) {
            await pause(appendMs);
            throw new BusError('timeout');
          }
          return seq;
        }),
      readFrom: (seq, limit) =>
        streamCall(() =>
          read()
            .filter((message) => message.seq >= seq)
            .slice(0, limit),
        ),
      readLast: () => streamCall(() => read().at(-1) ?? null),
      lastSeq: () => streamCall(() => lastSeq),
      eraseStreams: () =>
        streamCall(() => {
          stream = [];
          chunks.clear();
        }),
      putChunk: (name, data) =>
        streamCall(() => {
          chunks.set(chunkSubject(name), new Uint8Array(data));
        }),
      getChunk: (name) =>
        streamCall(() => {
          const subject = chunkSubject(name);
          const stored = chunks.get(subject);
          return stored === undefined ? null : broker.bend(subject, stored, end.name);
        }),
      deleteChunk: (name) => streamCall(() => void chunks.delete(chunkSubject(name))),
      reserveChunks: () => streamCall(() => {}),
      chunkNames: () =>
        streamCall(() => [...chunks.keys()].map((subject) => subject.slice(`${SUBJECTS.chunks}.`.length))),
      state: () => (isConnected(end) ? 'connected' : 'disconnected'),
      roundTrip: () => 0,
      onState(listener) {
        end.states.add(listener);
        return () => end.states.delete(listener);
      },
      async close() {
        end.isClosed = true;
        ends.delete(end);
      },
    };
  }

  const broker: MemoryBroker = {
    faults: NO_FAULTS,
    bend: (_subject, data) => data,
    silent,
    behind,
    isParted: () => false,
    streamFails: false,
    get stream() {
      return stream;
    },
    connect(name = '') {
      const end: End = {
        name,
        subscribers: new Map(),
        responders: new Map(),
        states: new Set(),
        isCut: cutNames.has(name),
        isClosed: false,
      };
      ends.add(end);
      return busOf(end);
    },
    cut: (name) => announce(() => setCut(name, true)),
    heal: (name) => announce(() => setCut(name, false)),
    stop: () =>
      announce(() => {
        isUp = false;
      }),
    start: () =>
      announce(() => {
        isUp = true;
      }),
    purge(seq) {
      stream = stream.filter((message) => message.seq > seq);
    },
    loseStream() {
      stream = [];
      lastSeq = 0;
    },
  };

  function setCut(name: string, isCut: boolean): void {
    if (isCut) cutNames.add(name);
    else cutNames.delete(name);
    for (const end of ends) if (end.name === name) end.isCut = isCut;
  }

  return broker;
}

/** Those who listen to a subject, by its name or with `*` for its last label. */
function heard<T>(
  map: ReadonlyMap<string, ReadonlySet<T>>,
  subject: string,
): { readonly handler: T; readonly isPresent: () => boolean }[] {
  const found: { readonly handler: T; readonly isPresent: () => boolean }[] = [];
  for (const name of [subject, `${subject.slice(0, subject.lastIndexOf('.') + 1)}*`]) {
    const handlers = map.get(name);
    for (const handler of handlers ?? []) found.push({ handler, isPresent: () => handlers!.has(handler) });
  }
  return found;
}

function add<T>(map: Map<string, Set<T>>, subject: string, handler: T): () => void {
  const handlers = map.get(subject) ?? new Set<T>();
  map.set(subject, handlers.add(handler));
  return () => handlers.delete(handler);
}
