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
