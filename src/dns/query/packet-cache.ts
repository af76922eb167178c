import { SeenHashes } from '../../base/hashes.ts';
import { LIMITS } from '../../base/limits.ts';
import { LOWER } from '../../protocol/dns/name.ts';
import { HEADER_OCTETS, QUESTION_OCTETS, truncateInto, udpLimit } from '../../protocol/dns/skim.ts';
import { isChanging } from '../../view/freshness.ts';
import type { Tag } from '../accounting/tag.ts';
import { CacheRows, type ReadCounter, ROW_OCTETS, ScannedQuery, type Validity } from './cache-rows.ts';
import type { Reply } from './write-reply.ts';

/** Associativity: rows of a bucket. Their hashes are 16 octets, which lie in one cache line. */
const WAYS = 4;
/** Estimated octets of a tag: an object of eight numbers and references, two short texts, and the reference to it. */
const TAG_OCTETS = 168;

const RD = 0x01;
const CD = 0x10;
const NAME_AT = HEADER_OCTETS;
// A constant of this module: see `cache-rows.ts`.
const FOLDED = LOWER;

export interface PacketCacheSettings {
  /** Rounded up to a power of two. */
  readonly entries: number;
  /** Limit of everything: rows, tags, and what is left for the replies. */
  readonly octets: number;
}

const PACKET_CACHE_DEFAULTS: PacketCacheSettings = { entries: 65_536, octets: 33_554_432 };

/**
 * Ready replies by question (name in lower case, type, class) and the EDNS bits that change the answer. A lookup copies
 * id, letter case, RD and CD from the query, truncates for a small UDP payload, and allocates nothing. It reads two cache
 * lines (hashes of a bucket, row) and the reply (ADR 1).
 *
 * A reply is stored at the second sight of its question, and entries without a hit are replaced first. So a flood of
 * unique names takes no memory and evicts no entry that is in use.
 */
export class PacketCache {
  private readonly mask: number;
  private readonly rows: CacheRows;
  private readonly arena: ReplyArena;
  private readonly tags: (Tag | null)[];
  private readonly readCounter: ReadCounter;
  private readonly seen = new SeenHashes();
  private readonly query = new ScannedQuery();
  /** After a `lookup` that hit: what the reply is counted as. Null for no query of the product, and for TC. */
  tag: Tag | null = null;

  constructor(readCounter: ReadCounter, settings: PacketCacheSettings = PACKET_CACHE_DEFAULTS) {
    const buckets = 2 ** Math.ceil(Math.log2(Math.max(1, settings.entries / WAYS)));
    const rows = buckets * WAYS;
    this.mask = buckets - 1;
    this.rows = new CacheRows(rows);
    this.tags = new Array<Tag | null>(rows).fill(null);
    const octets = settings.octets - rows * (ROW_OCTETS + TAG_OCTETS);
    this.arena = new ReplyArena(octets, (row) => this.release(row));
    this.readCounter = readCounter;
  }

  /** Octets of replies. */
  get size(): number {
    return this.arena.octetsInUse;
  }

  /** Writes the cached reply to `request[0, length)` into `out`. Returns its octets, or 0 for a miss. */
  lookup(request: Uint8Array, length: number, isUdp: boolean, out: Uint8Array, now: number): number {
    const { rows, query } = this;
    if (!query.read(request, length)) return 0;
    const row = this.find(request);
    if (row < 0) return 0;
    if (!rows.isValid(row, now, this.readCounter)) {
      this.drop(row);
      return 0;
    }
    rows.setUsed(row);
    return this.serve(row, request, isUdp, out);
  }

  /** Whether `request[0, length)` is an ordinary query with DO for a type of records. */
  wantsSigned(request: Uint8Array, length: number): boolean {
    const { query } = this;
    return query.read(request, length) && query.wantsSigned(request);
  }

  /**
   * Stores the reply if its question was seen before. Ignores requests that `lookup` does not look for, and what was read during a commit.
   */
  store(request: Uint8Array, length: number, reply: Reply, validity: Validity, tag: Tag | null = null): void {
    const { query, arena } = this;
    if (validity.until === 0 || !query.read(request, length) || !this.seen.again(query.hash)) return;
    if (isChanging(validity.keyCount) || isChanging(validity.namespaceCount)) return;
    const row = this.victim(request);
    if (!this.rows.isEmpty(row)) this.drop(row);
    const place = arena.place(row, reply.bytes.length);
    if (place < 0) return;
    arena.bytes.set(reply.bytes, place);
    // The question in lower case. `serve` overwrites it with the letters of each request.
    for (let i = NAME_AT; i < query.nameEnd; i++) arena.bytes[place + i] = FOLDED[request[i]!]!;
    this.rows.write(row, query, place, reply, validity);
    this.tags[row] = tag;
  }

  private serve(row: number, request: Uint8Array, isUdp: boolean, out: Uint8Array): number {
    const { rows, query, arena } = this;
    const { nameEnd } = query;
    const place = rows.placeOf(row);
    let length = rows.lengthOf(row);
    if (isUdp && length > udpLimit(query.payload, LIMITS.udpPayload)) {
      const reply = arena.bytes.subarray(place, place + length);
      length = truncateInto(out, reply, nameEnd + QUESTION_OCTETS, rows.optOf(row), length);
      this.tag = null;
    } else {
      arena.bytes.copy(out, 0, place, place + length);
      this.tag = this.tags[row]!;
    }
    out[0] = request[0]!;
    out[1] = request[1]!;
    out[2] = (out[2]! & ~RD) | (request[2]! & RD);
    out[3] = (out[3]! & ~CD) | (request[3]! & CD);
    for (let at = NAME_AT; at < nameEnd; at++) out[at] = request[at]!;
    return length;
  }

  /** The row of the scanned question, or -1. */
  private find(request: Uint8Array): number {
    const { hash } = this.query;
    const first = (hash & this.mask) * WAYS;
    for (let row = first; row < first + WAYS; row++) {
      if (this.rows.hashOf(row) === hash && this.matches(row, request)) return row;
    }
    return -1;
  }

  /** Compares the scanned question. Lengths are not compared: no wire name is a prefix of another. */
  private matches(row: number, request: Uint8Array): boolean {
    const { rows, query } = this;
    if (rows.ednsOf(row) !== query.edns) return false;
    const { bytes } = this.arena;
    const place = rows.placeOf(row);
    const { nameEnd } = query;
    let at = NAME_AT;
    for (; at < nameEnd; at++) if (bytes[place + at] !== FOLDED[request[at]!]) return false;
    for (; at < nameEnd + QUESTION_OCTETS; at++) if (bytes[place + at] !== request[at]) return false;
    return true;
  }

  /**
   * The row for a new entry: its old version (first of all, since a question has one entry), an empty row, or one without a
   * hit since the hand of the arena passed it.
   */
  private victim(request: Uint8Array): number {
    const { rows, query } = this;
    const old = this.find(request);
    if (old >= 0) return old;
    const first = (query.hash & this.mask) * WAYS;
    let unused = -1;
    for (let row = first; row < first + WAYS; row++) {
      if (rows.isEmpty(row)) return row;
      if (!rows.isUsed(row)) unused = row;
    }
    return unused < 0 ? first + (query.hash >>> 30) : unused;
  }

  /** CLOCK: the arena takes the octets of a row that had no hit since the hand passed it. */
  private release(row: number): boolean {
    if (this.rows.isUsed(row)) {
      this.rows.clearUsed(row);
      return false;
    }
    this.forget(row);
    return true;
  }

  private drop(row: number): void {
    this.arena.free(this.rows.placeOf(row));
    this.forget(row);
  }

  private forget(row: number): void {
    this.rows.clear(row);
    this.tags[row] = null;
  }
}

/** Words of 32 bits before the octets of a record: the row that owns it, and the size of the record in words, these included. */
const HEADER_WORDS = 2;
const SIZE = 1;
/** Sizes are multiples of this, so that free octets beside a record always hold a header. */
const UNIT_WORDS = HEADER_WORDS;
/** Owner of octets that are free. */
const FREE = -1;
const WORD_OCTETS = 4;
/** Records that one `place` passes at most, so that a store stays short. */
const PASS_MAX = 64;

/** Asked when the hand passes a record: whether its octets may be taken. If so, the owner has forgotten them when it returns. */
type ReleaseRow = (row: number) => boolean;

/**
 * Octets of replies in one block of memory, used as a ring. A hand walks over the records, takes the octets of those that
 * are not in use, and writes the new record where enough of them are side by side. No record is moved or crosses the end.
 * Records lie without gaps: free octets are a record as well.
 */
export class ReplyArena {
  readonly bytes: Buffer;
  private readonly words: Int32Array;
  private readonly release: ReleaseRow;
  /** Index of the word where the next search begins: always a record's first. */
  private hand = 0;
  private wordsInUse = 0;

  constructor(octets: number, release: ReleaseRow) {
    const units = Math.max(1, Math.floor(octets / WORD_OCTETS / UNIT_WORDS));
    this.words = new Int32Array(units * UNIT_WORDS);
    this.bytes = Buffer.from(this.words.buffer);
    this.release = release;
    this.words[0] = FREE;
    this.words[SIZE] = this.words.length;
  }

  /** Octets of all records in use, headers included. */
  get octetsInUse(): number {
    return this.wordsInUse * WORD_OCTETS;
  }

  /** Reserves `octets` for a row. @returns their offset in `bytes`, or -1 when no room was found */
  place(row: number, octets: number): number {
    const { words } = this;
    const size = HEADER_WORDS + Math.ceil(octets / WORD_OCTETS / UNIT_WORDS) * UNIT_WORDS;
    if (size > words.length) return -1;
    let gap = this.hand;
    let at = gap;
    for (let passed = 0; passed < PASS_MAX; passed++) {
      if (at === words.length) {
        at = 0;
        gap = 0;
      }
      const record = at;
      const owner = words[record]!;
      at += words[record + SIZE]!;
      if (owner === FREE || this.release(owner)) {
        if (owner !== FREE) this.markFree(record);
        const rest = at - gap - size;
        if (rest >= 0) return this.take(row, gap, size, rest);
      } else {
        gap = at;
      }
    }
    this.hand = at === words.length ? 0 : at;
    return -1;
  }

  /** Frees the record at the offset that `place` gave. */
  free(place: number): void {
    this.markFree(place / WORD_OCTETS - HEADER_WORDS);
  }

  private markFree(record: number): void {
    this.words[record] = FREE;
    this.wordsInUse -= this.words[record + SIZE]!;
  }

  private take(row: number, record: number, size: number, rest: number): number {
    const { words } = this;
    const end = record + size;
    words[record] = row;
    words[record + SIZE] = size;
    if (rest > 0) {
      words[end] = FREE;
      words[end + SIZE] = rest;
    }
    this.wordsInUse += size;
    this.hand = end === words.length ? 0 : end;
    return (record + HEADER_WORDS) * WORD_OCTETS;
  }
}
