/**
 * The feed of changes, while the window shows a page of records: one stream for all that follow the same namespace. The place in the feed is
 * kept while the page is loaded, so what changed meanwhile is told to who comes back.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import {
  ApiError,
  type ChangeResource,
  type ChangesReset,
  type StreamOptions,
} from '../../../sdk/src/uqrp-sdk.ts';
import { api } from '../app/client.ts';
import { session, useUser } from '../app/session.ts';
import { startTail, type TailPhase } from './live-tail.ts';

export interface FeedState {
  readonly phase: TailPhase;
  /** Why it waits or has failed. */
  readonly error: unknown;
  /** Newest first. */
  readonly changes: readonly ChangeResource[];
  /** Changes are missing between those above, or older ones were left out. */
  readonly hasGap: boolean;
}

export interface FeedListener {
  readonly onChanges: (changes: readonly ChangeResource[]) => void;
  /** Changes may be missing: what is shown must be read again. */
  readonly onGap: () => void;
}

/** Newer ones take their places. */
const FEED_ROWS = 500;
/** Milliseconds between attempts to learn the present end. */
const START_AGAIN_MS = 5000;
const FIRST: FeedState = { phase: 'off', error: null, changes: [], hasGap: false };

class Feed {
  readonly state: Signal<FeedState> = signal(FIRST);
  readonly listeners = new Set<FeedListener>();
  readonly #namespace: string | undefined;
  /** After the last change that was given out; null: it begins at the present end. */
  #cursor: string | null = null;
  #stop: (() => void) | null = null;

  constructor(namespace: string | undefined) {
    this.#namespace = namespace;
  }

  /** Begins or ends the stream. A hidden window needs none: other programs of the account may. */
  update(): void {
    const isWanted =
      this.listeners.size > 0 && document.visibilityState === 'visible' && session.peek().phase === 'in';
    if (isWanted === (this.#stop !== null)) return;
    if (isWanted) this.start();
    else this.#end();
  }

  start(): void {
    this.#stop?.();
    this.#stop = startTail<ChangeResource | ChangesReset>({
      stream: (options) => this.#follow(options),
      onEvents: (events) => this.#take(events),
      onPhase: (phase, error) => {
        this.state.value = { ...this.state.peek(), phase, error };
      },
    });
  }

  #end(): void {
    this.#stop?.();
    this.#stop = null;
    this.state.value = { ...this.state.peek(), phase: 'off', error: null };
  }

  async *#follow(options: StreamOptions): AsyncGenerator<ChangeResource | ChangesReset, void, undefined> {
    if (this.#cursor === null) {
      this.#cursor = await this.#presentEnd(options);
      // What was shown before may be older than this end.
      for (const { onGap } of this.listeners) onGap();
    }
    yield* api.changes({ namespace: this.#namespace, since: this.#cursor, ...options });
  }

  async #presentEnd({ signal: ending, onConnection }: StreamOptions): Promise<string> {
    for (;;) {
      try {
        return (await api.changesPage({ namespace: this.#namespace }, { signal: ending })).next;
      } catch (error) {
        ending?.throwIfAborted();
        if (error instanceof ApiError && error.status !== 429 && error.status < 500) throw error;
        onConnection?.(false, error as ApiError);
        await new Promise((resolve) => setTimeout(resolve, START_AGAIN_MS));
        ending?.throwIfAborted();
      }
    }
  }

  #take(events: readonly (ChangeResource | ChangesReset)[]): void {
    this.#cursor = events.at(-1)!.cursor;
    const changes = events.filter((event): event is ChangeResource => event.event !== 'reset');
    const now = this.state.peek();
    const all = [...changes.toReversed(), ...now.changes];
    const hasReset = changes.length < events.length;
    this.state.value = {
      ...now,
      changes: all.slice(0, FEED_ROWS),
      hasGap: now.hasGap || hasReset || all.length > FEED_ROWS,
    };
    for (const { onChanges, onGap } of this.listeners) {
      if (hasReset) onGap();
      if (changes.length > 0) onChanges(changes);
    }
  }
}

/** By user and namespace: nothing of one user is shown to another. */
const feeds = new Map<string, Feed>();
/** Feeds that nobody follows are kept up to this number. */
const KEPT_MAX = 20;

/** @param namespace null: all of them */
function feedOf(user: string, namespace: string | null): Feed {
  const key = `${user} ${namespace ?? ''}`;
  const found = feeds.get(key) ?? new Feed(namespace ?? undefined);
  feeds.set(key, found);
  for (const [other, { listeners }] of feeds) {
    if (feeds.size <= KEPT_MAX) break;
    if (listeners.size === 0 && other !== key) feeds.delete(other);
  }
  return found;
}

/** Follows the changes of a namespace while the component is shown. @param namespace null: of all */
export function useFeed(
  namespace: string | null,
  listener?: FeedListener,
): FeedState & { readonly again: () => void } {
  const feed = feedOf(useUser().id, namespace);
  const latest = useRef(listener);
  latest.current = listener;
  const { phase } = session.value;
  useEffect(() => {
    const own: FeedListener = {
      onChanges: (changes) => latest.current?.onChanges(changes),
      onGap: () => latest.current?.onGap(),
    };
    const update = (): void => feed.update();
    feed.listeners.add(own);
    update();
    document.addEventListener('visibilitychange', update);
    return () => {
      feed.listeners.delete(own);
      document.removeEventListener('visibilitychange', update);
      update();
    };
  }, [feed, phase]);
  return { ...feed.state.value, again: () => feed.start() };
}
