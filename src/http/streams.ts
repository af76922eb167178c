import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { nextTurn, type Timers } from '../base/lifecycle/timers.ts';

/**
 * Gives each caller a tick of the event loop, in call order. SQLite reads block the thread: without it, 96 listings and
 * pages would delay every other request.
 */
export function oneTickEach(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}

/**
 * Calls once when the response has ended: it was sent, or its connection is closed. A response that has ended earlier emits nothing
 * more, which a client that leaves during an `await` before this can bring about: then the call comes in a microtask, never inside of
 * this function.
 * @returns takes it back
 */
export function onResponseEnd(response: ServerResponse, call: () => void): () => void {
  let isTaken = false;
  const cancel = (): void => {
    isTaken = true;
    response.off('finish', end).off('close', end);
  };
  const end = (): void => {
    if (isTaken) return;
    cancel();
    call();
  };
  response.once('finish', end).once('close', end);
  if (response.destroyed || response.writableFinished) queueMicrotask(end);
  return cancel;
}

/** Octets of JSON sent together. Each chunk that the client reads counts as progress. */
const CHUNK = 16_384;

const OPENING = '['.charCodeAt(0);
const COMMA = ','.charCodeAt(0);

export type Batches = Iterable<readonly object[]> | AsyncIterable<readonly object[]>;

interface StreamOptions {
  /** Milliseconds for one chunk; then the connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for the whole answer; then the connection is closed. */
  readonly totalMs: number;
  readonly timers: Timers;
  /** Waits for a tick of the event loop, before each batch. */
  readonly tick: () => Promise<void>;
  /** Asked after each batch. False: the credential has ended, and the connection is closed. */
  readonly mayGoOn: () => Promise<boolean>;
  readonly reader: ListingReader;
}

/** The place of who reads an answer: whether the server or the client is the one that is awaited. */
export interface ListingReader {
  /** The client has taken what was sent, and is sent more. */
  taken(): void;
  /** The client has taken all of a batch, and waits for the next. */
  waits(): void;
  /** The answer has ended, or the connection is closed. */
  leave(): void;
}

/** Streams one JSON array. See `batchStream`. */
export function jsonArrayStream(
  batches: Batches,
  response: ServerResponse,
  options: StreamOptions,
): Readable {
  return batchStream(arrayOctets(batches), response, options);
}

/** Names of the trailer with the number of lines. An answer that was cut off has none. */
export const LINES_TRAILERS = { records: 'X-Record-Count', rows: 'X-Row-Count' } as const;

/** Streams JSON lines, and their number as a trailer (RFC 9110 §6.5). See `batchStream`. */
export function jsonLinesStream(
  batches: Batches,
  response: ServerResponse,
  options: StreamOptions & { readonly lines: keyof typeof LINES_TRAILERS },
): Readable {
  const trailer = LINES_TRAILERS[options.lines];
  const onDone = (lines: number): void => response.addTrailers({ [trailer]: String(lines) });
  return batchStream(lineOctets(batches, onDone), response, options);
}

/**
 * It holds the octets of one batch, however slow the client reads, and asks for the next batch when the client has read
 * them. Both deadlines destroy `response`.
 */
function batchStream(
  octetsOfBatches: AsyncIterable<Buffer>,
  response: ServerResponse,
  { idleMs, totalMs, timers, tick, mayGoOn, reader }: StreamOptions,
): Readable {
  const cutOff = (): void => void response.destroy();
  const cancelTotal = timers.after(totalMs, cutOff);
  let cancelIdle = (): void => {};
  let hasEnded = false;
  const wait = (): void => {
    reader.taken();
    cancelIdle();
    if (hasEnded) return;
    cancelIdle = timers.after(idleMs, cutOff);
  };
  const next = async (): Promise<void> => {
    reader.waits();
    await tick();
    if (!(await mayGoOn())) cutOff();
  };
  const stream = Readable.from(watched(octetsOfBatches, tick, next, wait), {
    objectMode: false,
    highWaterMark: CHUNK,
  });
  onResponseEnd(response, () => {
    hasEnded = true;
    cancelIdle();
    cancelTotal();
    stream.destroy();
    reader.leave();
  });
  wait();
  return stream;
}

async function* watched(
  octetsOfBatches: AsyncIterable<Buffer>,
  tick: StreamOptions['tick'],
  next: () => Promise<void>,
  onTaken: () => void,
): AsyncGenerator<Buffer> {
  await tick();
  for await (const octets of octetsOfBatches) {
    for (let at = 0; at < octets.length; at += CHUNK) {
      onTaken();
      yield octets.subarray(at, at + CHUNK);
    }
    await next();
  }
  onTaken();
}

async function* lineOctets(batches: Batches, onDone: (lines: number) => void): AsyncGenerator<Buffer> {
  let lines = 0;
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    lines += batch.length;
    yield Buffer.from(batch.map((item) => `${JSON.stringify(item)}\n`).join(''));
  }
  onDone(lines);
}

/** Octets are outside the heap. Text of 128 slow clients would fill hundreds of megabytes until a full collection. */
async function* arrayOctets(batches: Batches): AsyncGenerator<Buffer> {
  let first = OPENING;
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    // Octet 0 is `[`: it becomes a comma after the first batch. The closing bracket is left out.
    const octets = Buffer.from(JSON.stringify(batch));
    octets[0] = first;
    yield octets.subarray(0, -1);
    first = COMMA;
  }
  yield Buffer.from(first === OPENING ? '[]' : ']');
}

/** Octets of events that wait for a client, beside what the system holds of its connection. */
const BUFFER = 65_536;

/** The open response. */
export interface EventOutput {
  /** @returns false when the client reads too slowly: nothing more is written until it has read */
  write(text: string): boolean;
  /** Whether the client has read what was written, or nearly. False once the answer is ending. */
  isReady(): boolean;
  /** Whom to call when the client has read, after it was too slow. */
  onRoom?(call: () => void): void;
  /** Closes the connection in the middle. */
  cutOff(): void;
}

export interface EventStream extends EventOutput {
  /** The body of the answer. */
  readonly body: Readable;
  /** Ends the answer. */
  readonly end: () => void;
}

/** The body of a `text/event-stream` answer. @param onEnd see `onResponseEnd` */
export function eventStream(response: ServerResponse, onEnd: () => void): EventStream {
  let isReady = true;
  let isEnding = false;
  let hasEnded = false;
  let onRoom = (): void => {};
  const body = new Readable({
    highWaterMark: BUFFER,
    read() {
      const wasFull = !isReady;
      isReady = true;
      if (wasFull) void nextTurn().then(() => onRoom());
    },
  });
  onResponseEnd(response, () => {
    hasEnded = true;
    body.destroy();
    onEnd();
  });
  return {
    body,
    write(text) {
      if (!isEnding && !hasEnded) isReady = body.push(text);
      return isReady;
    },
    isReady: () => isReady && !isEnding,
    onRoom(call) {
      onRoom = call;
    },
    cutOff: () => void response.destroy(),
    end: () => {
      if (isEnding || hasEnded) return;
      // The connection takes a while to finish, and a push after the end would fail.
      isEnding = true;
      body.push(null);
    },
  };
}
