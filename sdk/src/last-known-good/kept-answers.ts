/** What a `Reader` keeps of its answers over a restart. */
import { readKnownGood, removeDrafts, writeKnownGood } from './file.ts';
import { type KnownEntry, openKnownGood, sealKnownGood, thatFit } from './format.ts';

export interface KeptAnswersOptions {
  readonly path: string;
  /** The reader's token; empty without one. */
  readonly credential: string;
  readonly now?: () => number;
  /** Milliseconds between the beginnings of two writes. */
  readonly spacing?: number;
}

/** Without a text: no such record, or no right to read it. */
type Change = KnownEntry | { readonly text: null; readonly at: number };

const SPACING_MS = 5000;
/** An answer that has not changed is written again when its time in the file is so old: each write costs the disk two syncs. */
const SAME_MS = 60_000;

/** Those that have something to write. A program that comes to its end writes it first. */
const unwritten: Set<KeptAnswers> = new Set();
let isListening = false;

function writeBeforeExit(): void {
  if (isListening) return;
  isListening = true;
  const { process } = globalThis as { process?: { on?(event: string, run: () => void): void } };
  process?.on?.('beforeExit', () => {
    for (const kept of unwritten) {
      // At the end of a program nobody is left to be told, and one attempt is enough.
      void kept.flush().catch(() => unwritten.delete(kept));
    }
  });
}

/**
 * Answers by key, in memory and in a file. A write takes the file as it is then and changes what this process learnt since its last
 * write, so that two processes may use one file with the same token.
 */
export class KeptAnswers {
  readonly #options: KeptAnswersOptions;
  readonly #now: () => number;
  #entries: Map<string, KnownEntry>;
  /** What the file does not have yet. */
  #changes: Map<string, Change> = new Map();
  /** When each answer that the file has was read, as the file says it. */
  #writtenAt: Map<string, number>;
  #writing: Promise<void> | null = null;
  #lastWrite = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | null = null;

  private constructor(options: KeptAnswersOptions, entries: ReadonlyMap<string, KnownEntry>) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#entries = new Map(entries);
    this.#writtenAt = timesOf(entries);
  }

  /** @throws LastKnownGoodError for a file that is not used */
  static async open(options: KeptAnswersOptions): Promise<KeptAnswers> {
    const { path, credential, now = Date.now } = options;
    await removeDrafts(path, now());
    const octets = await readKnownGood(path);
    const known = octets === null ? null : await openKnownGood(credential, octets);
    return new KeptAnswers(options, known?.entries ?? new Map());
  }

  /** The last good answer, and its age in whole seconds. */
  get(key: string): { readonly text: string; readonly age: number } | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    return { text: entry.text, age: Math.max(0, Math.floor((this.#now() - entry.at) / 1000)) };
  }

  keep(key: string, text: string): void {
    const at = this.#now();
    const isSame = this.#entries.get(key)?.text === text;
    this.#entries.set(key, { text, at });
    if (isSame && at - (this.#writtenAt.get(key) ?? Number.NEGATIVE_INFINITY) < SAME_MS) return;
    this.#change(key, { text, at });
  }

  remove(key: string): void {
    if (!this.#entries.delete(key)) return;
    this.#change(key, { text: null, at: this.#now() });
  }

  /** Writes what the file does not have yet. @throws errors of the system, LastKnownGoodError */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    // A write that is under way may have begun before the last change.
    await this.#writing?.catch(() => undefined);
    if (this.#changes.size > 0) await this.#begin();
  }

  #change(key: string, change: Change): void {
    this.#changes.set(key, change);
    unwritten.add(this);
    writeBeforeExit();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== null || this.#writing !== null) return;
    const { spacing = SPACING_MS } = this.#options;
    // The clock may be set back.
    const pause = Math.min(spacing, Math.max(0, this.#lastWrite + spacing - this.#now()));
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // A later write tries again: a full disk must not make reads fail.
      void this.#begin().catch(() => undefined);
    }, pause);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #begin(): Promise<void> {
    this.#lastWrite = this.#now();
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
      if (this.#changes.size > 0) this.#schedule();
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { path, credential } = this.#options;
    const changes = this.#changes;
    this.#changes = new Map();
    unwritten.delete(this);
    try {
      const octets = await readKnownGood(path);
      const known = octets === null ? null : await openKnownGood(credential, octets);
      const entries = new Map(known?.entries ?? this.#entries);
      apply(entries, changes, this.#now());
      const fitting = thatFit(entries);
      await writeKnownGood(path, await sealKnownGood(credential, { saved: this.#now(), entries: fitting }));
      this.#writtenAt = timesOf(fitting);
      const inMemory = new Map(fitting);
      // What was confirmed without a write, and what came during this one.
      for (const [key, entry] of this.#entries) {
        if (inMemory.get(key)?.text === entry.text) inMemory.set(key, newer(inMemory.get(key), entry));
      }
      apply(inMemory, this.#changes, this.#now());
      this.#entries = inMemory;
    } catch (error) {
      for (const [key, change] of changes) if (!this.#changes.has(key)) this.#changes.set(key, change);
      unwritten.add(this);
      throw error;
    }
  }
}

function apply(entries: Map<string, KnownEntry>, changes: ReadonlyMap<string, Change>, now: number): void {
  for (const [key, change] of changes) {
    const { at } = entries.get(key) ?? change;
    // Another process knows it better. A time to come is one of a clock that was wrong.
    if (at > change.at && at <= now) continue;
    if (change.text === null) entries.delete(key);
    else entries.set(key, change);
  }
}

function newer(one: KnownEntry | undefined, other: KnownEntry): KnownEntry {
  return one !== undefined && one.at > other.at ? one : other;
}

function timesOf(entries: ReadonlyMap<string, KnownEntry>): Map<string, number> {
  return new Map([...entries].map(([key, { at }]) => [key, at]));
}
