/** Open connections by network, counted over all DNS workers of a process, in memory that they share. */

import { LIMITS } from '../../../core/limits.ts';

/** Words of an entry: the key, what it is a key of (0: the entry is empty), and how many connections. */
const CELL = 4;
const KIND = 2;
const COUNT = 3;
/** The number of rows is the first word; the row of each worker begins at a multiple of this many words. */
const HEAD = 16;
const WORD_OCTETS = 4;
/** TCP, DoT and DoH, with a /64, a /56 and a /48 each. */
const KEYS_PER_CONNECTION = 9;

/** Connections that one worker may hold over one transport: a worker evicts its own only, so each has a fixed share. */
export function connectionShare(workers: number): number {
  return Math.max(1, Math.floor(LIMITS.tcpConnections / workers));
}

/** Memory of the tables of so many workers, all zero. */
export function createConnectionMemory(workers: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + workers * cellsOf(workers) * CELL) * WORD_OCTETS);
  new Uint32Array(memory)[0] = workers;
  return memory;
}

/** At least twice as many as there can be keys, so that a search is short; a power of two. */
function cellsOf(workers: number): number {
  return 2 ** Math.ceil(Math.log2(2 * KEYS_PER_CONNECTION * connectionShare(workers)));
}

/** Forgets the connections of a worker that has died: its sockets are closed. Another worker is not affected. */
export function releaseConnections(memory: SharedArrayBuffer, worker: number): void {
  const row = cellsOf(new Uint32Array(memory)[0]!) * CELL;
  new Uint32Array(memory, (HEAD + worker * row) * WORD_OCTETS, row).fill(0);
}

/**
 * The view that one worker has of the table. Each row is a hash table (linear probing) that its worker alone writes, so no
 * count is lost to another thread, and what a dead worker held is given back by clearing its row. A reader may meet an entry
 * while its owner moves it, and then miscounts by that entry once.
 */
export class ConnectionTable {
  readonly workers: number;
  readonly #words: Uint32Array;
  readonly #cells: number;
  readonly #own: number;

  /** Begins with an empty row, whatever an earlier worker of this number left there. */
  constructor(memory: SharedArrayBuffer, worker: number) {
    this.#words = new Uint32Array(memory);
    this.workers = this.#words[0]!;
    this.#cells = cellsOf(this.workers);
    this.#own = HEAD + worker * this.#cells * CELL;
    releaseConnections(memory, worker);
  }

  /** Connections of a key in the whole process. @param kind 1 or more: keys of different kinds are different */
  count(high: number, low: number, kind: number): number {
    let sum = 0;
    const step = this.#cells * CELL;
    for (let row = HEAD; row < this.#words.length; row += step) {
      const at = this.#find(row, high, low, kind);
      if (this.#words[at + KIND] !== 0) sum += this.#words[at + COUNT]!;
    }
    return sum;
  }

  /** Counts one connection of this worker in. */
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

  /** Counts one out that was counted in. */
  remove(high: number, low: number, kind: number): void {
    const words = this.#words;
    const at = this.#find(this.#own, high, low, kind);
    if (words[at + KIND] === 0) return;
    words[at + COUNT] = words[at + COUNT]! - 1;
    if (words[at + COUNT] === 0) this.#close(at);
  }

  /** Entries in use in this worker's row, for tests. */
  get size(): number {
    let size = 0;
    const end = this.#own + this.#cells * CELL;
    for (let at = this.#own; at < end; at += CELL) if (this.#words[at + KIND] !== 0) size++;
    return size;
  }

  /** The entry of a key in a row, or the empty one where it would be. */
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

  /** Empties an entry, and moves back those that were pushed on by it (Knuth, 6.4, algorithm R). */
  #close(at: number): void {
    const words = this.#words;
    const mask = this.#cells - 1;
    let hole = (at - this.#own) / CELL;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const from = this.#own + next * CELL;
      if (words[from + KIND] === 0) break;
      const home = homeOf(words[from]!, words[from + 1]!, words[from + KIND]!, this.#cells);
      // Whether its home lies after the hole, up to where it is: then it has to stay.
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
