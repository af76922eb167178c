/**
 * What is read from the API, by key: each key is read once for all components that show it. A value that is known is shown at once and
 * read again behind it. A read that is refused with 429, or fails on the way, is repeated by itself.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { noteAnswer, noteFailure } from '../app/offline.ts';
import { retryAt } from './retry.ts';

export type Resource<T> = {
  /** Reads again, because the value has changed or is wanted anew. After a read under way, which may have seen what was before, another follows. */
  readonly again: () => void;
  /** Reads again, unless a read is under way. */
  readonly poll: () => void;
} & (
  | { readonly state: 'loading'; readonly value: undefined; readonly error: undefined }
  /** `error`: the value is from before, and the last read failed. */
  | { readonly state: 'ready'; readonly value: T; readonly error: unknown }
  | { readonly state: 'failed'; readonly value: undefined; readonly error: unknown }
);

export interface ResourceOptions {
  /** Milliseconds in which a value is not read again. Default 2,000. */
  readonly freshMs?: number;
}

type Fetcher = (signal: AbortSignal) => Promise<unknown>;

interface Snapshot {
  readonly value: unknown;
  readonly hasValue: boolean;
  readonly error: unknown;
}

interface Entry {
  readonly now: Signal<Snapshot>;
  fetch: Fetcher;
  users: number;
  /** Milliseconds of performance.now(); 0: must be read again. */
  readAt: number;
  reading: AbortController | null;
  /** What is being read may be old by now: another read follows. */
  isOld: boolean;
  retry: ReturnType<typeof setTimeout> | null;
  failures: number;
}

const NOTHING: Snapshot = { value: undefined, hasValue: false, error: undefined };
const FRESH_MS = 2000;
/** Entries that no component shows are kept up to this number. */
const KEPT_MAX = 200;

const entries = new Map<string, Entry>();
let doRetriesRest = (): boolean => false;

/** @param isOver whether a retry would be in vain now */
export function restRetriesWhile(isOver: () => boolean): void {
  doRetriesRest = isOver;
}

/**
 * Reads a value and follows it.
 * @param key names the value and everything that it depends on, such as `records acme flags`; null: reads nothing yet
 * @param fetch passes the signal to the client
 */
export function useResource<T>(
  key: string | null,
  fetch: (signal: AbortSignal) => Promise<T>,
  { freshMs = FRESH_MS }: ResourceOptions = {},
): Resource<T> {
  const entry = key === null ? null : entryOf(key, fetch);
  const latest = useRef(fetch);
  latest.current = fetch;
  useEffect(() => {
    if (entry === null) return;
    entry.users += 1;
    entry.fetch = (signal) => latest.current(signal);
    if (entry.readAt === 0 || performance.now() - entry.readAt > freshMs) read(entry);
    return () => {
      entry.users -= 1;
      if (entry.users === 0) stop(entry);
    };
  }, [entry, freshMs]);
  return resourceOf<T>(entry);
}

function resourceOf<T>(entry: Entry | null): Resource<T> {
  // A read under way goes on: where answers take longer than a poll waits, none would ever arrive.
  const poll = (): void => {
    if (entry !== null && entry.reading === null) read(entry);
  };
  const again = (): void => {
    if (entry !== null && entry.reading !== null) entry.isOld = true;
    poll();
  };
  const { value, hasValue, error } = entry === null ? NOTHING : entry.now.value;
  if (hasValue) return { state: 'ready', value: value as T, error, again, poll };
  if (error !== undefined) return { state: 'failed', value: undefined, error, again, poll };
  return { state: 'loading', value: undefined, error: undefined, again, poll };
}

function entryOf(key: string, fetch: Fetcher): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const made: Entry = {
    now: signal(NOTHING),
    fetch,
    users: 0,
    readAt: 0,
    reading: null,
    isOld: false,
    retry: null,
    failures: 0,
  };
  entries.set(key, made);
  for (const [other, entry] of entries) {
    if (entries.size <= KEPT_MAX) break;
    if (entry.users === 0 && entry !== made) entries.delete(other);
  }
  return made;
}

/** One read at a time: a new one ends the one before. */
function read(entry: Entry): void {
  stop(entry);
  const reading = new AbortController();
  entry.reading = reading;
  const sentAt = performance.now();
  entry.readAt = sentAt;
  entry.fetch(reading.signal).then(
    (value) => {
      if (reading.signal.aborted) return;
      entry.reading = null;
      entry.failures = 0;
      noteAnswer(sentAt);
      entry.now.value = { value, hasValue: true, error: undefined };
      if (entry.isOld) read(entry);
    },
    (error: unknown) => {
      if (reading.signal.aborted) return;
      entry.reading = null;
      entry.readAt = 0;
      entry.failures += 1;
      entry.now.value = { ...entry.now.peek(), error };
      const plan = retryAt(error, entry.failures);
      if (plan.arrived) noteAnswer(sentAt);
      else noteFailure();
      if (entry.users === 0) return;
      if (plan.waitMs === null) {
        // Once for all who asked during the read that failed.
        if (entry.isOld) read(entry);
        return;
      }
      entry.retry = setTimeout(() => {
        if (!doRetriesRest()) read(entry);
      }, plan.waitMs);
    },
  );
}

function stop(entry: Entry): void {
  entry.isOld = false;
  if (entry.reading !== null) {
    entry.reading.abort();
    entry.reading = null;
    entry.readAt = 0;
  }
  if (entry.retry !== null) clearTimeout(entry.retry);
  entry.retry = null;
}

/** Puts a value in, for example the answer to a write. */
export function setResource(key: string, value: unknown): void {
  const entry = entries.get(key);
  if (entry !== undefined) entry.now.value = { value, hasValue: true, error: undefined };
}

/** After a write: what begins with the prefix is read again, at once where it is shown. */
export function invalidate(prefix: string): void {
  for (const [key, entry] of entries) {
    if (!key.startsWith(prefix)) continue;
    entry.readAt = 0;
    if (entry.users > 0) read(entry);
  }
}

/** Reads again what is shown: the window has the focus again, the network is back, or somebody signed in again. */
export function refetchAll(): void {
  invalidate('');
}

/** Forgets everything: another person may sign in here. What is shown is read again by then. */
export function forgetResources(): void {
  for (const entry of entries.values()) stop(entry);
  entries.clear();
}

/** Milliseconds since the last read after which a value is read again when the window gets the focus. */
const FOCUS_MS = 10_000;

export function startRefetching(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    for (const entry of entries.values()) {
      if (entry.users > 0 && performance.now() - entry.readAt > FOCUS_MS) read(entry);
    }
  });
}
