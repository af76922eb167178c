import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Timers } from '../../../lifecycle/timers.ts';

/** UTF-16 units of JSON that leave together, at least: the reader's progress is judged by these. */
const CHUNK = 16_384;

interface StreamOptions {
  /** Milliseconds in which the reader must take a chunk; after that its connection is closed. */
  readonly idleMs: number;
  readonly timers: Timers;
  /** Called once, when the answer has ended or the connection is gone. */
  readonly onEnd: () => void;
}

/**
 * The text of one JSON array as a stream that a reader pulls. It holds one batch and about two chunks, however slow the
 * reader is.
 *
 * @param response the answer that the stream is sent with; it is cut off when the reader makes no progress
 */
export function jsonArrayStream(
  batches: AsyncIterable<readonly object[]>,
  response: ServerResponse,
  { idleMs, timers, onEnd }: StreamOptions,
): Readable {
  let cancel = (): void => {};
  let hasEnded = false;
  const wait = (): void => {
    cancel();
    if (hasEnded) return;
    cancel = timers.after(idleMs, () => response.destroy());
  };
  // A chunk is made when the one before it has been taken.
  const stream = Readable.from(watched(chunks(batches), wait), { objectMode: false, highWaterMark: CHUNK });
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    cancel();
    stream.destroy();
    onEnd();
  };
  response.once('finish', end);
  response.once('close', end);
  wait();
  return stream;
}

async function* watched(texts: AsyncIterable<string>, onTaken: () => void): AsyncGenerator<string> {
  for await (const text of texts) {
    onTaken();
    yield text;
  }
  onTaken();
}

async function* chunks(batches: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  let text = '[';
  let separator = '';
  for await (const batch of batches) {
    for (const item of batch) {
      text += separator + JSON.stringify(item);
      separator = ',';
      if (text.length < CHUNK) continue;
      yield text;
      text = '';
      // Other requests have their turn between two chunks: pages of the embedded engine are read synchronously.
      await turn();
    }
  }
  yield `${text}]`;
}
