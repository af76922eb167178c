import type { SourceName } from '../sources/source.ts';

/** What the cache holds of a key of a feed. Times are milliseconds since the epoch. */
export interface CachedReading {
  /** Null: the provider reported that there is no such thing. */
  readonly value: unknown;
  /** The source's own time of the value; the time of the fetch where the source gives none. */
  readonly time: number;
  /** When it was fetched, or last confirmed by the source. */
  readonly at: number;
  readonly freshUntil: number;
  /** The source asked for no call for this key before this time. */
  readonly notBefore: number;
  /** The source of the value, and what the next call to that source sends back to it (RFC 9110 §8.8). */
  readonly source: SourceName;
  readonly validator: string | null;
}

/** Entries by feed and key. When there are more than `max`, the least recently used one is removed. */
export class ReadingCache {
  private readonly entries = new Map<string, CachedReading>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.entries.size;
  }

  get(id: string): CachedReading | null {
    const entry = this.entries.get(id);
    if (entry === undefined) return null;
    this.entries.delete(id);
    this.entries.set(id, entry);
    return entry;
  }

  set(id: string, entry: CachedReading): void {
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (this.entries.size <= this.max) return;
    const { value: first, done } = this.entries.keys().next();
    if (done !== true) this.entries.delete(first);
  }

  delete(id: string): void {
    this.entries.delete(id);
  }

  /** The `count` most recently used entries, the least recent of them first. */
  latest(count: number): readonly (readonly [string, CachedReading])[] {
    return [...this.entries].slice(-count);
  }
}
