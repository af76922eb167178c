import type { SourceName } from '../sources/source.ts';

/** Times in milliseconds since the epoch. */
export interface CachedReading {
  /** Null: the provider reported that nothing exists. */
  readonly value: unknown;
  /** The source's time of the value, else the time of the fetch. */
  readonly time: number;
  /** When it was fetched, or last confirmed by the source. */
  readonly at: number;
  readonly freshUntil: number;
  /** No call for this key before this time, as the source requested. */
  readonly notBefore: number;
  /** Source of the value (`control`: on an edge that asks control), and the validator for its next call (RFC 9110 §8.8). */
  readonly source: SourceName | 'control';
  readonly validator: string | null;
}

/** LRU cache by feed and key, with at most `max` entries. */
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

  /** The `count` most recently used entries, in order of use. */
  latest(count: number): readonly (readonly [string, CachedReading])[] {
    return [...this.entries].slice(-count);
  }
}
