import { decodeBase64 } from '../../../src/protocol/encodings.ts';
import type { WebhookPayload } from '../webhooks/payload.ts';
import { type Flag, FlagError, parseFlag } from './flag.ts';

/** What is known of a flag. */
export type FlagState =
  | { readonly kind: 'flag'; readonly flag: Flag }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly fault: string };

interface Entry {
  /** The document; null: there is none. */
  text: string | null;
  state: FlagState;
  /** When this was last known to be so, milliseconds of the clock. */
  confirmedAt: number;
  /** It is an earlier answer: there has been none since. */
  isStale: boolean;
  usedAt: number;
  /** Number of the last change by webhook; answers of DNS that began before it are older. */
  revision: number;
  /** Sequence number of the last event; 0: none. */
  seq: number;
  /** Until then the value of an event stands against other answers: resolvers may still have the one before. */
  heldUntil: number;
}

export interface CacheOptions {
  readonly maxFlags: number;
  readonly now: () => number;
}

/** Longest DNS TTL of a record's answer: 60 s, for namespaces that are open to everyone. */
const HOLD_MS = 60_000;

/** The documents of flags by name, at most `maxFlags`; the least recently used goes first. */
export class FlagCache {
  readonly #entries: Map<string, Entry> = new Map();
  readonly #options: CacheOptions;

  constructor(options: CacheOptions) {
    this.#options = options;
  }

  /** What is known of the flag; null for a flag that is not here. */
  use(key: string): Pick<Readonly<Entry>, 'state' | 'confirmedAt' | 'isStale'> | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    entry.usedAt = this.#options.now();
    // Moved to the end: a Map iterates in the order of insertion.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** To pass to `answered` with what an ask that begins now finds. */
  revisionOf(key: string): number {
    return this.#entries.get(key)?.revision ?? 0;
  }

  /**
   * Takes an answer of DNS. @param text the document; null: there is none
   * @param age milliseconds since the answer came, where it is an earlier one; null: it came now
   * @returns whether the flag changed; the first answer of a flag is no change
   */
  answered(key: string, text: string | null, revision: number, age: number | null = null): boolean {
    const now = this.#options.now();
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#add(key, {
        text,
        state: stateOf(text),
        confirmedAt: now - (age ?? 0),
        isStale: age !== null,
        usedAt: now,
        revision,
        seq: 0,
        heldUntil: 0,
      });
      return false;
    }
    // An earlier answer says nothing new of a flag that is here.
    if (age !== null) return false;
    entry.confirmedAt = now;
    entry.isStale = false;
    if (entry.revision !== revision || entry.text === text || now < entry.heldUntil) return false;
    entry.text = text;
    entry.state = stateOf(text);
    return true;
  }

  /** Takes an event. @returns false for one that is not newer than the last */
  changed(key: string, text: string | null, seq: number): boolean {
    const now = this.#options.now();
    const entry = this.#entries.get(key);
    if (entry !== undefined && seq <= entry.seq) return false;
    const revision = (entry?.revision ?? 0) + 1;
    const known = {
      text,
      state: stateOf(text),
      confirmedAt: now,
      isStale: false,
      revision,
      seq,
      heldUntil: now + HOLD_MS,
    };
    if (entry === undefined) this.#add(key, { ...known, usedAt: now });
    else Object.assign(entry, known);
    return true;
  }

  /** Drops flags that were last used before this time. In an outage they stay: their last values may be needed. */
  dropIdle(before: number): void {
    for (const [key, { usedAt, confirmedAt }] of this.#entries) {
      if (usedAt < before && confirmedAt >= before) this.#entries.delete(key);
    }
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** When the flag that was confirmed least recently was; null without flags. */
  oldest(): number | null {
    const times = [...this.#entries.values()].map(({ confirmedAt }) => confirmedAt);
    return times.length === 0 ? null : Math.min(...times);
  }

  #add(key: string, entry: Entry): void {
    const [first] = this.#entries.keys();
    if (this.#entries.size >= this.#options.maxFlags && first !== undefined) this.#entries.delete(first);
    this.#entries.set(key, entry);
  }
}

function stateOf(text: string | null): FlagState {
  if (text === null) return { kind: 'missing' };
  try {
    return { kind: 'flag', flag: parseFlag(text) };
  } catch (error) {
    if (error instanceof FlagError) return { kind: 'broken', fault: error.message };
    throw error;
  }
}

/** What an event says of a flag. */
export interface FlagEvent {
  readonly key: string;
  /** The document; null: it was deleted. */
  readonly text: string | null;
  readonly seq: number;
}

/** Null for events that are not of a flag of this namespace. */
export function eventOfFlag(payload: WebhookPayload, namespace: string): FlagEvent | null {
  if (payload.event !== 'record.upserted' && payload.event !== 'record.deleted') return null;
  const suffix = `.flags.${namespace.toLowerCase()}.v1`;
  const { key } = payload.data;
  if (!key.endsWith(suffix)) return null;
  const data = payload.event === 'record.upserted' ? payload.data.data : null;
  return { key: key.slice(0, -suffix.length), text: data === null ? null : decoded(data), seq: payload.seq };
}

/** Text that is no document for data that is no text. */
function decoded(data: string): string {
  const octets = decodeBase64(data);
  if (octets === null) return '';
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return '';
  }
}
