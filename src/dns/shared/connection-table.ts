/** Open connections by transport and by network, in memory that all DNS workers of a process share. */

import { LIMITS } from '../../base/limits.ts';
import type { Transport } from '../../base/network/transport.ts';

export type StreamTransport = Exclude<Transport, 'udp'>;

/** The place of a transport's number among the words that hold one for each transport. */
const PLACE: Readonly<Record<StreamTransport, number>> = { tcp: 0, dot: 1, doh: 2 };
/** Words of a table row entry: key, kind of key (0: empty), count. */
const CELL = 4;
const KIND = 2;
const COUNT = 3;
/** Word 0 is the number of rows, word 1 the connections a row has room for. From `WANTED`: see `wantPlace`. */
const CONNECTIONS = 1;
const WANTED = 2;
/** Each worker's row begins at this word, or a multiple of the row's length later, with its open connections by transport. */
const HEAD = 16;
const COUNTS = 4;
const WORD_OCTETS = 4;
/** TCP, DoT and DoH, each with /64, /56 and /48. */
const KEYS_PER_CONNECTION = 9;

/** @param connections over each transport in the process; one worker may have all of them */
export function createConnectionMemory(
  workers: number,
  connections: number = LIMITS.tcpConnections,
): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + workers * rowOf(connections)) * WORD_OCTETS);
  new Uint32Array(memory).set([workers, connections]);
  return memory;
}

/** A power of two, at least twice the number of keys, so that searches are short. */
function cellsOf(connections: number): number {
  return 2 ** Math.ceil(Math.log2(2 * KEYS_PER_CONNECTION * connections));
}

function rowOf(connections: number): number {
  return COUNTS + cellsOf(connections) * CELL;
}

/** Clears the row of a worker that ended: its sockets are closed, so its places are free. */
export function releaseConnections(memory: SharedArrayBuffer, worker: number): void {
  const row = rowOf(new Uint32Array(memory)[CONNECTIONS]!);
  const words = new Uint32Array(memory, (HEAD + worker * row) * WORD_OCTETS, row);
  // A page that is only read takes no memory; a write to each would take 2 MB a worker.
  for (let at = 0; at < row; at++) if (words[at] !== 0) words[at] = 0;
}

/**
 * One worker's view of the table. Each row is a hash table (linear probing) with one writer, so no count is lost to another
 * thread. A reader may miscount a key once while its writer moves it. Two workers that take the last place in the same
 * moment both get one, so at most one connection a worker is open above a limit.
 */
export class ConnectionTable {
  readonly workers: number;
  readonly #words: Uint32Array;
  readonly #cells: number;
  readonly #row: number;
  readonly #own: number;

  /** Clears what an earlier worker of this number left. */
  constructor(memory: SharedArrayBuffer, worker: number) {
    this.#words = new Uint32Array(memory);
    this.workers = this.#words[0]!;
    this.#cells = cellsOf(this.#words[CONNECTIONS]!);
    this.#row = rowOf(this.#words[CONNECTIONS]!);
    this.#own = HEAD + worker * this.#row + COUNTS;
    releaseConnections(memory, worker);
  }

  /** Counts a connection of this worker. */
  opened(transport: StreamTransport): void {
    Atomics.add(this.#words, this.#own - COUNTS + PLACE[transport], 1);
  }

  closed(transport: StreamTransport): void {
    // 0: the row was cleared meanwhile. Below it a number without a sign would fill the process until its end.
    if (this.ownOpen(transport) > 0) Atomics.sub(this.#words, this.#own - COUNTS + PLACE[transport], 1);
  }

  /** Open connections of this worker. */
  ownOpen(transport: StreamTransport): number {
    return Atomics.load(this.#words, this.#own - COUNTS + PLACE[transport]);
  }

  /** Open connections of the process. */
  open(transport: StreamTransport): number {
    let sum = 0;
    for (let row = HEAD; row < this.#words.length; row += this.#row)
      sum += Atomics.load(this.#words, row + PLACE[transport]);
    return sum;
  }

  /** Asks a worker that has more connections to close an idle one: this one had to refuse a newcomer. */
  wantPlace(transport: StreamTransport): void {
    Atomics.store(this.#words, WANTED + PLACE[transport], 1);
  }

  /** Whether a worker asked; answers one such request. */
  takeWanted(transport: StreamTransport): boolean {
    return Atomics.exchange(this.#words, WANTED + PLACE[transport], 0) === 1;
  }

  /** Connections of a key in the whole process. @param kind 1 or more */
  count(high: number, low: number, kind: number): number {
    let sum = 0;
    for (let row = HEAD; row < this.#words.length; row += this.#row) {
      const at = this.#find(row + COUNTS, high, low, kind);
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
