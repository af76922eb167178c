import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Timers } from '../../../lifecycle/timers.ts';

/** Octets of JSON that leave together, at most. Each one taken counts as progress of the reader. */
const CHUNK = 16_384;

const OPENING = '['.charCodeAt(0);
const COMMA = ','.charCodeAt(0);

export type Batches = Iterable<readonly object[]> | AsyncIterable<readonly object[]>;

interface StreamOptions {
  /** Milliseconds in which the reader must take a chunk; after that its connection is closed. */
  readonly idleMs: number;
  /** Milliseconds in which the reader must take the whole array; after that its connection is closed. */
  readonly totalMs: number;
  readonly timers: Timers;
  /** Waits for a tick of the event loop, before each batch. */
  readonly tick: () => Promise<void>;
  /** Called once, when the answer has ended or the connection is gone. */
  readonly onEnd: () => void;
}

/**
 * The text of one JSON array as a stream that a reader pulls. It holds the octets of one batch, however slow the reader is.
 *
 * @param batches each is asked for when the octets of the one before it have been taken
 * @param response the answer that the stream is sent with; it is cut off at either deadline
 */
export function jsonArrayStream(
  batches: Batches,
  response: ServerResponse,
  { idleMs, totalMs, timers, tick, onEnd }: StreamOptions,
): Readable {
  const cutOff = (): void => void response.destroy();
  const cancelTotal = timers.after(totalMs, cutOff);
  let cancelIdle = (): void => {};
  let hasEnded = false;
  const wait = (): void => {
    cancelIdle();
    if (hasEnded) return;
    cancelIdle = timers.after(idleMs, cutOff);
  };
  const stream = Readable.from(watched(batches, tick, wait), { objectMode: false, highWaterMark: CHUNK });
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    cancelIdle();
    cancelTotal();
    stream.destroy();
    onEnd();
  };
  response.once('finish', end);
  response.once('close', end);
  wait();
  return stream;
}

async function* watched(
  batches: Batches,
  tick: StreamOptions['tick'],
  onTaken: () => void,
): AsyncGenerator<Buffer> {
  await tick();
  for await (const octets of arrayOctets(batches)) {
    for (let at = 0; at < octets.length; at += CHUNK) {
      onTaken();
      yield octets.subarray(at, at + CHUNK);
    }
    await tick();
  }
  onTaken();
}

/**
 * The JSON of each batch, in octets at once: they lie outside the heap. Text that waits for a slow reader outlives the young
 * generation, and 128 readers leave hundreds of megabytes of it to the next full collection.
 */
async function* arrayOctets(batches: Batches): AsyncGenerator<Buffer> {
  let first = OPENING;
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    // The batch's own brackets: the opening one becomes a comma after the first batch, and the closing one is left out.
    const octets = Buffer.from(JSON.stringify(batch));
    octets[0] = first;
    yield octets.subarray(0, -1);
    first = COMMA;
  }
  yield Buffer.from(first === OPENING ? '[]' : ']');
}
