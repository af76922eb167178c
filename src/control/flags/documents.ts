import { createHash } from 'node:crypto';
import { type Flag, FlagError, parseFlag } from '../../../sdk/src/flag-rules.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { type FlagRecord, type ReadNamespace, readFlagRecords } from '../../store/flags.ts';
import { readSpan } from '../../store/record-listing.ts';
import type { Db } from '../../store/store.ts';

/** A flag as it is kept: its rules, and its values as JSON, which is a third of what they take as objects. */
export interface FlagDocument {
  readonly key: string;
  /** Null: the document is broken or encrypted, and `fault` names the field. */
  readonly rules: Flag | null;
  readonly fault: string;
  /** JSON by name of the variant. */
  readonly values: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch, or null: never. */
  readonly expiresAt: number | null;
  /** SHA-256 of the document. */
  readonly digest: string;
  /** Octets of memory, about. */
  readonly cost: number;
}

/** Octets of a document in memory, measured with documents of many small conditions: at most 4.2 for each octet. */
const COST = { each: 512, octet: 6 };

/** Tags of a namespace that were there before, by which a request is known that asks for a state that is past. */
const PAST_TAGS = 32;
/** Records that one statement of a load reads. */
const PAGE = 500;

/** The key of a flag in the key of its record; null: the record is no flag. */
export function flagOfKey(key: string, namespace: string): string | null {
  const end = `.flags.${namespace}.v1`;
  return key.endsWith(end) && key.length > end.length ? key.slice(0, -end.length) : null;
}

export function recordOfFlag(flag: string, namespace: string): string {
  return `${flag}.flags.${namespace}.v1`;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** First octets of payloads that a client encrypted or signed. No JSON begins with one. */
const SEALED: ReadonlySet<number | undefined> = new Set([1, 2, 3]);

export function flagDocumentOf(
  key: string,
  { data, expires_at: expiresAt }: Omit<FlagRecord, 'key'>,
): FlagDocument {
  const digest = createHash('sha256').update(data).digest('base64url');
  const common = { key, expiresAt, digest, cost: COST.each + COST.octet * data.length };
  try {
    const flag = parseFlag(textOf(data));
    const values = new Map([...flag.variants].map(([name, value]) => [name, JSON.stringify(value)]));
    return { ...common, rules: { ...flag, variants: NONE }, fault: '', values };
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    return { ...common, rules: null, fault: error.message, values: NONE };
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

function textOf(data: Uint8Array): string {
  if (SEALED.has(data[0])) throw new FlagError('the document is encrypted or signed');
  try {
    return UTF8.decode(data);
  } catch {
    throw new FlagError('the document is not UTF-8');
  }
}

/** The flags of one namespace, in memory. */
export class FlagSet {
  #flags = new Map<string, FlagDocument>();
  #sorted: readonly FlagDocument[] | null = null;
  #tag: string | null = null;
  #past: string[] = [];
  /** When the first of them expires. */
  #nextExpiry = Number.POSITIVE_INFINITY;
  /** Octets of memory, about. */
  cost = 0;
  /** False: there are more than `LIMITS.flagsOfNamespace`, and none is kept. */
  isWhole = true;

  /** Makes it empty. */
  clear(): void {
    this.#flags = new Map();
    this.cost = 0;
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    this.#hasChanged();
  }

  /** @param document null: there is no such flag any more */
  set(key: string, document: FlagDocument | null): void {
    this.cost -= this.#flags.get(key)?.cost ?? 0;
    if (document === null) this.#flags.delete(key);
    else {
      this.#flags.set(key, document);
      this.cost += document.cost;
      this.#nextExpiry = Math.min(this.#nextExpiry, document.expiresAt ?? Number.POSITIVE_INFINITY);
    }
    this.#hasChanged();
    if (this.#flags.size <= LIMITS.flagsOfNamespace) return;
    this.clear();
    this.isWhole = false;
  }

  get(key: string, now: number): FlagDocument | null {
    this.#expire(now);
    return this.#flags.get(key) ?? null;
  }

  /** In order of their keys. */
  all(now: number): readonly FlagDocument[] {
    this.#expire(now);
    this.#sorted ??= [...this.#flags.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    return this.#sorted;
  }

  /** A digest of all documents, the same in every process. */
  tag(now: number): string {
    this.#expire(now);
    if (this.#tag === null) {
      const sum = createHash('sha256');
      for (const { key, digest } of this.all(now)) sum.update(`${key} ${digest}\n`);
      this.#tag = sum.digest('base64url').slice(0, 22);
    }
    return this.#tag;
  }

  /** Whether it had this tag, now or not long ago. */
  hasHad(tag: string, now: number): boolean {
    return this.tag(now) === tag || this.#past.includes(tag);
  }

  #expire(now: number): void {
    if (now < this.#nextExpiry) return;
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    for (const [key, { expiresAt }] of this.#flags) {
      if (expiresAt === null) continue;
      if (expiresAt <= now) this.set(key, null);
      else this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt);
    }
  }

  #hasChanged(): void {
    this.#sorted = null;
    if (this.#tag !== null) this.#past = [...this.#past.slice(1 - PAST_TAGS), this.#tag];
    this.#tag = null;
  }
}

/** Reads the flags of a namespace into the set. It looks through all its records, a thousand with each statement. */
export async function loadFlags(
  db: Db,
  set: FlagSet,
  { id, name }: ReadNamespace,
  now: number,
): Promise<void> {
  set.clear();
  set.isWhole = true;
  let after: Parameters<typeof readSpan>[3] = null;
  do {
    const span: Awaited<ReturnType<typeof readSpan>> = await readSpan(
      db,
      id,
      { resource: 'flags' },
      after,
      PAGE,
      now,
    );
    for (const row of span.rows) {
      const key = flagOfKey(row.key, name);
      if (key !== null) set.set(key, flagDocumentOf(key, row));
    }
    after = span.next;
    if (after !== null) await nextTurn();
  } while (after !== null && set.isWhole);
}

/** Reads some flags of a namespace again. @returns null for those that are gone */
export async function readFlags(
  db: Db,
  { id, name }: ReadNamespace,
  keys: readonly string[],
  now: number,
): Promise<Map<string, FlagDocument | null>> {
  const records = keys.map((key) => recordOfFlag(key, name));
  const rows = await readFlagRecords(db, id, records, now);
  const found = new Map<string, FlagDocument | null>(keys.map((key) => [key, null]));
  for (const row of rows) {
    const key = flagOfKey(row.key, name);
    if (key !== null) found.set(key, flagDocumentOf(key, row));
  }
  return found;
}
