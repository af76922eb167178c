import { ConnectionError } from './errors.ts';

/** Characters of the longest line that is read: a record of an export has less than 8,000. */
const LINE_MAX = 1_048_576;

export interface LineOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without an octet after which the connection counts as lost. Default: none. */
  readonly silence?: number | undefined;
}

/** The lines of a body in UTF-8, one at a time. @throws ConnectionError when it breaks off, or a line is too long */
export async function* textLines(
  response: Response,
  options: LineOptions = {},
): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await next(reader, options);
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
      if (done) break;
      if (rest.length > LINE_MAX) throw new ConnectionError('LINE_TOO_LONG');
    }
    if (rest !== '') yield rest;
  } finally {
    // The consumer may have stopped early: the connection is not read to its end for nobody.
    await reader.cancel().catch(() => undefined);
  }
}

interface Chunk {
  readonly done: boolean;
  readonly value?: Uint8Array | undefined;
}

interface ByteReader {
  read(): Promise<Chunk>;
}

async function next(reader: ByteReader, { signal, silence }: LineOptions): Promise<Chunk> {
  try {
    return silence === undefined ? await reader.read() : await within(silence, reader.read());
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof ConnectionError ? error : new ConnectionError(null);
  }
}

/** @throws ConnectionError when the read takes longer: nothing tells that a connection was cut without a word */
async function within(milliseconds: number, read: Promise<Chunk>): Promise<Chunk> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError('SILENCE')), milliseconds);
  });
  // The read that lost is refused when its stream is cancelled.
  read.catch(() => undefined);
  try {
    return await Promise.race([read, silent]);
  } finally {
    clearTimeout(timer);
  }
}

/** The values of a body of JSON lines. */
export async function* readLines(
  response: Response,
  signal?: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  for await (const line of textLines(response, { signal })) {
    if (line !== '') yield parse(line);
  }
}

/** A line that is cut off is the mark of an answer that broke off. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new ConnectionError('INCOMPLETE');
  }
}

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  /** The last `id:` of the stream so far. */
  readonly id: string;
}

/**
 * Parses server-sent events (WHATWG HTML, section 9.2). Comments keep the connection alive and are dropped.
 * @param onComment called at each of them
 */
export async function* streamEvents(
  response: Response,
  options: LineOptions = {},
  onComment: () => void = () => {},
): AsyncGenerator<StreamEvent, void, undefined> {
  let event = '';
  let id = '';
  let data: string[] = [];
  for await (const line of textLines(response, options)) {
    if (line === '') {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n'), id };
      event = '';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (colon === 0) onComment();
  }
}
