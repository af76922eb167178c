/** Open connections by network, in memory that all DNS workers of a process share. */

import { LIMITS } from '../../../core/limits.ts';

/** Words of a table row entry: key, kind of key (0: empty), count. */
const CELL = 4;
const KIND = 2;
const COUNT = 3;
/** Word 0 is the number of rows; each worker's row begins at a multiple of this many words. */
const HEAD = 16;
const WORD_OCTETS = 4;
/** TCP, DoT and DoH, each with /64, /56 and /48. */
const KEYS_PER_CONNECTION = 9;

/** Connections of one worker over one transport. The share is fixed: a worker can evict only its own. */
export function connectionShare(workers: number): number {
  return Math.max(1, Math.floor(LIMITS.tcpConnections / workers));
}

export function createConnectionMemory(workers: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + workers * cellsOf(workers) * CELL) * WORD_OCTETS);
  new Uint32Array(memory)[0] = workers;
  return memory;
}

/** A power of two, at least twice the number of keys, so that searches are short. */
function cellsOf(workers: number): number {
  return 2 ** Math.ceil(Math.log2(2 * KEYS_PER_CONNECTION * connectionShare(workers)));
}

/** Clears the row of a worker that ended: its sockets are closed. */
export function releaseConnections(memory: SharedArrayBuffer, worker: number): void {
  const row = cellsOf(new Uint32Array(memory)[0]!) * CELL;
  new Uint32Array(memory, (HEAD + worker * row) * WORD_OCTETS, row).fill(0);
}

/**
 * One worker's view of the table. Each row is a hash table (linear probing) with one writer, so no count is lost to another
 * thread. A reader may miscount a key once while its writer moves it.
 */
export class ConnectionTable {
  readonly workers: number;
  readonly #words: Uint32Array;
  readonly #cells: number;
  readonly #own: number;

  /** Clears what an earlier worker of this number left. */
  constructor(memory: SharedArrayBuffer, worker: number) {
    this.#words = new Uint32Array(memory);
    this.workers = this.#words[0]!;
    this.#cells = cellsOf(this.workers);
    this.#own = HEAD + worker * this.#cells * CELL;
    releaseConnections(memory, worker);
  }

  /** Connections of a key in the whole process. @param kind 1 or more */
  count(high: number, low: number, kind: number): number {
    let sum = 0;
    const step = this.#cells * CELL;
    for (let row = HEAD; row < this.#words.length; row += step) {
      const at = this.#find(row, high, low, kind);
      if (this.#words[at + KIND] !== 0) sum += this.#words[at + COUNT]!;
    }
    return sum;
  }

  add(high: number, low: number, kind: number): void {
    const words = this.#words;
    const at = this.#find(this.#own, high, low, kind);
    if (words[at + KIND] === 0) {
      words[at] = high;
      words[at + 1] = low;
      words[at + COUNT] = 0;
      words[at + KIND] = kind;
    }
    words[at + COUNT] = words[at + COUNT]! + 1;
  }

  remove(high: number, low: number, kind: number): void {
    const words = this.#words;
    const at = this.#find(this.#own, high, low, kind);
    if (words[at + KIND] === 0) return;
    words[at + COUNT] = words[at + COUNT]! - 1;
    if (words[at + COUNT] === 0) this.#close(at);
  }

  /** For tests. */
  get size(): number {
    let size = 0;
    const end = this.#own + this.#cells * CELL;
    for (let at = this.#own; at < end; at += CELL) if (this.#words[at + KIND] !== 0) size++;
    return size;
  }

  /** The position of a key in a row, or of the empty element where it would be. */
  #find(row: number, high: number, low: number, kind: number): number {
    const words = this.#words;
    let cell = homeOf(high, low, kind, this.#cells);
    for (let left = this.#cells; left > 0; left--) {
      const at = row + cell * CELL;
      if (words[at + KIND] === 0) return at;
      if (words[at] === high && words[at + 1] === low && words[at + KIND] === kind) return at;
      cell = (cell + 1) & (this.#cells - 1);
    }
    throw new RangeError('the table of connections is full');
  }

  /** Removes a key and moves later ones back (Knuth 6.4, algorithm R). */
  #close(at: number): void {
    const words = this.#words;
    const mask = this.#cells - 1;
    let hole = (at - this.#own) / CELL;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const from = this.#own + next * CELL;
      if (words[from + KIND] === 0) break;
      const home = homeOf(words[from]!, words[from + 1]!, words[from + KIND]!, this.#cells);
      // Keep a key whose home is after the gap.
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      words.copyWithin(this.#own + hole * CELL, from, from + CELL);
      hole = next;
    }
    words[this.#own + hole * CELL + KIND] = 0;
  }
}

function homeOf(high: number, low: number, kind: number, cells: number): number {
  let hash = Math.imul(high ^ Math.imul(low, 0x9e3779b1) ^ Math.imul(kind, 0x85ebca77), 0xc2b2ae35);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) & (cells - 1);
}
