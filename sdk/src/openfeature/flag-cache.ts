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
  /** When DNS was asked for the last answer that was this document. Events that happened before say nothing new. */
  askedAt: number;
  /** Sequence number of the last event that was taken; 0: none. */
  seq: number;
  /** When that event happened, by this clock. */
  happenedAt: number;
  /** What DNS showed before that event, until it shows the value of the event: resolvers may still have it. */
  before: Before | null;
}

interface Before {
  readonly text: string | null;
  readonly until: number;
}

export interface CacheOptions {
  readonly maxFlags: number;
  readonly now: () => number;
}

/**
 * How long a resolver may keep an answer: the TTL that the owner of an open namespace chose (`max_ttl`), of which answers show what is left.
 * The longest one that was seen counts, of any flag: so a missed event hides the present value for no longer than resolvers might.
 * An unknown one may be the longest that resolvers heed: `node:dns` tells none.
 */
const CACHED_MS = { least: 60_000, most: 86_400_000 };

/** What became of an event. `unsure`: DNS was asked since it happened, and may know of a later one. Only another read tells. */
export type Taken = 'taken' | 'known' | 'unsure';

/** The documents of flags by name, at most `maxFlags`; the least recently used goes first. */
export class FlagCache {
  readonly #entries: Map<string, Entry> = new Map();
  readonly #options: CacheOptions;
  #cachedMs = CACHED_MS.least;

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

  /**
   * Takes an answer of DNS. @param text the document; null: there is none
   * @param askedAt when it was asked for, by the clock
   * @param age milliseconds since the answer came, where it is an earlier one; null: it came now
   * @param ttl seconds that are left of its TTL; null: it is not known
   * @returns whether the flag changed; the first answer of a flag is no change
   */
  answered(
    key: string,
    text: string | null,
    askedAt: number,
    age: number | null = null,
    ttl: number | null = null,
  ): boolean {
    const now = this.#options.now();
    // An answer without a document has no TTL of its owner, and an earlier one says nothing of what resolvers keep now.
    if (text !== null && age === null) {
      const cachedMs = ttl === null ? CACHED_MS.most : ttl * 1000;
      this.#cachedMs = Math.max(this.#cachedMs, Math.min(CACHED_MS.most, cachedMs));
    }
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#add(key, {
        text,
        state: stateOf(text),
        confirmedAt: now - (age ?? 0),
        isStale: age !== null,
        usedAt: now,
        askedAt: askedAt - (age ?? 0),
        seq: 0,
        happenedAt: Number.NEGATIVE_INFINITY,
        before: null,
      });
      return false;
    }
    // An earlier answer says nothing new of a flag that is here.
    if (age !== null) return false;
    entry.confirmedAt = now;
    entry.isStale = false;
    if (text !== entry.text) {
      if (askedAt <= entry.happenedAt) {
        entry.before ??= { text, until: now + this.#cachedMs };
        return false;
      }
      const { before } = entry;
      if (before !== null && before.text === text && now < before.until) return false;
    }
    const hasChanged = text !== entry.text;
    if (hasChanged) Object.assign(entry, { text, state: stateOf(text) });
    entry.askedAt = askedAt;
    entry.before = null;
    return hasChanged;
  }

  /** Takes an event. */
  changed({ key, text, seq, age }: FlagEvent): Taken {
    const now = this.#options.now();
    const happenedAt = now - age;
    const entry = this.#entries.get(key);
    if (entry !== undefined && seq <= entry.seq) return 'known';
    if (entry !== undefined && happenedAt < entry.askedAt) return 'unsure';
    const known = {
      text,
      state: stateOf(text),
      confirmedAt: now,
      isStale: false,
      seq,
      happenedAt,
      before:
        entry === undefined ? null : { text: (entry.before ?? entry).text, until: now + this.#cachedMs },
    };
    if (entry === undefined) this.#add(key, { ...known, usedAt: now, askedAt: Number.NEGATIVE_INFINITY });
    else Object.assign(entry, known);
    return 'taken';
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
  /** Milliseconds from when it happened to when it was sent, both by the clock of the server: that of the receiver may be wrong. */
  readonly age: number;
}

/** Null for events that are not of a flag of this namespace. @param sentAt milliseconds, whole seconds: `t` of the signature */
export function eventOfFlag(payload: WebhookPayload, namespace: string, sentAt: number): FlagEvent | null {
  if (payload.event !== 'record.upserted' && payload.event !== 'record.deleted') return null;
  const suffix = `.flags.${namespace.toLowerCase()}.v1`;
  const { key } = payload.data;
  if (!key.endsWith(suffix)) return null;
  const data = payload.event === 'record.upserted' ? payload.data.data : null;
  return {
    key: key.slice(0, -suffix.length),
    text: data === null ? null : decoded(data),
    seq: payload.seq,
    age: Math.max(0, sentAt - Date.parse(payload.created_at)),
  };
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
