import type { SourceName } from './source.ts';

/** What is kept of a key of a feed. Times are milliseconds since the epoch. */
export interface Entry {
  /** Null: the provider says that there is no such thing. */
  readonly value: unknown;
  /** The source's own time of the value; the time of the fetch where the source tells none. */
  readonly time: number;
  /** When it was fetched, or last confirmed by the source. */
  readonly at: number;
  readonly freshUntil: number;
  /** The source does not want to be asked for this key before. */
  readonly notBefore: number;
  /** Whose it is, and what that source wants to see again. */
  readonly source: SourceName;
  readonly validator: string | null;
}

/** Entries by feed and key. Reading one moves it to the end; when there are too many, those at the beginning go. */
export class EntryCache {
  private readonly entries = new Map<string, Entry>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.entries.size;
  }

  get(id: string): Entry | null {
    const entry = this.entries.get(id);
    if (entry === undefined) return null;
    this.entries.delete(id);
    this.entries.set(id, entry);
    return entry;
  }

  set(id: string, entry: Entry): void {
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (this.entries.size <= this.max) return;
    const { value: first, done } = this.entries.keys().next();
    if (done !== true) this.entries.delete(first);
  }

  delete(id: string): void {
    this.entries.delete(id);
  }

  /** The most recently used ones, the least recent of them first. */
  latest(count: number): readonly (readonly [string, Entry])[] {
    return [...this.entries].slice(-count);
  }
}
