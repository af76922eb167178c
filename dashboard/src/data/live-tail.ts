/** Follows a stream while the page shows it. */
import { ApiError, type StreamOptions } from '../../../sdk/src/uqrp-sdk.ts';

/** `waiting`: the connection was lost, and another is tried by itself. `ended`: the session has. */
export type TailPhase = 'off' | 'connecting' | 'live' | 'waiting' | 'ended' | 'failed';

export interface TailOptions<Event> {
  /** Never ends by itself while connections fail. */
  readonly stream: (options: StreamOptions) => AsyncIterable<Event>;
  readonly onEvents: (events: readonly Event[]) => void;
  /** @param error why it waits, or has failed */
  readonly onPhase: (phase: TailPhase, error: unknown) => void;
}

/** Milliseconds for which events are collected: one drawing of the page shows them all. */
const COLLECT_MS = 250;

/** @returns stops it; events that were not given out by then never are */
export function startTail<Event>({ stream, onEvents, onPhase }: TailOptions<Event>): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  let collected: Event[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = (): void => {
    timer = null;
    const events = collected;
    collected = [];
    if (!signal.aborted && events.length > 0) onEvents(events);
  };
  const options: StreamOptions = {
    signal,
    reconnects: Number.POSITIVE_INFINITY,
    onConnection: (isOpen, error) => {
      if (!signal.aborted) onPhase(isOpen ? 'live' : 'waiting', error);
    },
  };
  const follow = async (): Promise<void> => {
    onPhase('connecting', null);
    try {
      for await (const event of stream(options)) {
        collected.push(event);
        timer ??= setTimeout(flush, COLLECT_MS);
      }
    } catch (error) {
      if (signal.aborted) return;
      flush();
      onPhase(error instanceof ApiError && error.status === 401 ? 'ended' : 'failed', error);
    }
  };
  void follow();
  return () => {
    if (timer !== null) clearTimeout(timer);
    ending.abort();
  };
}
