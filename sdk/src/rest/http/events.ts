import { wait } from '../../shared/wait.ts';
import { UqrpError } from './errors.ts';
import { type Http, type RequestParts, retryWaitMs } from './http.ts';
import { type StreamEvent, streamEvents } from './lines.ts';

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Failed connections in a row after which the stream ends with the error. Default 10. */
  readonly reconnects?: number | undefined;
  /** Milliseconds without a sign of life after which it connects again. The server gives one each 15 s. Default 45,000. */
  readonly silence?: number | undefined;
  /**
   * Called with true when a connection is open, and with false when it was lost and another will be tried. `error`: why; null when the
   * server ended the stream in good order.
   */
  readonly onConnection?: ((isOpen: boolean, error: UqrpError | null) => void) | undefined;
}

const RECONNECTS = 10;
const SILENCE_MS = 45_000;

/** A stream of the API, and the id of the last event that the caller has. */
interface Target {
  readonly path: string;
  readonly query: RequestParts['query'];
  readonly last: string | undefined;
  /**
   * Asks for the id after which a stream without `last` begins. Without it a connection that is lost before its first event begins the next
   * one at a later place.
   */
  readonly begin?: ((signal: AbortSignal) => Promise<string>) | undefined;
}

/**
 * The events of a stream. After a lost connection, and while the server is away, it connects again and continues after the last event. It
 * ends when the server refuses, as with 401 after the session, with the signal, or when the consumer stops.
 */
export async function* eventsOf(
  http: Http,
  { path, query, last: first, begin }: Target,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal = new AbortController().signal, onConnection = () => {} } = options;
  const { reconnects = RECONNECTS, silence = SILENCE_MS } = options;
  let last = first;
  let failures = 0;
  // Of the query log a sign of life is a comment: a connection that had one was no failed one, however quiet the hour is.
  const isAlive = (): void => {
    failures = 0;
  };
  for (;;) {
    try {
      last ??= await begin?.(signal);
      const resume = last === undefined ? {} : { 'last-event-id': last };
      const headers = { accept: 'text/event-stream', ...resume };
      const response = await http.open({ method: 'GET', path, query, headers, signal, retries: 0 });
      onConnection(true, null);
      for await (const event of streamEvents(response, { signal, silence }, isAlive)) {
        isAlive();
        if (event.id !== '') last = event.id;
        yield event;
      }
      // The server ended the stream in good order, for example before a restart.
      onConnection(false, null);
      await wait(retryWaitMs(null, Math.max(1, failures)), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      failures += 1;
      if (failures > reconnects || !(error instanceof UqrpError && error.isPassing)) throw error;
      onConnection(false, error);
      await wait(retryWaitMs(error, failures), signal);
    }
  }
}

/** The JSON of an event; null for other text. */
export function parsedData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
