import { type OpenFile, scratchFile } from './files.ts';

/** Both are views of a buffer that the next entry overwrites. */
export interface Entry {
  readonly key: Uint8Array<ArrayBuffer>;
  readonly value: Buffer;
}

export interface Sorter {
  /** Copies both; of equal keys the last added wins. @param value at most 65,535 bytes, as the key */
  add(key: Uint8Array, value: Uint8Array): void;
  /** All entries in byte order of their keys. Call it once, after the last `add`. */
  entries(): Generator<Entry, void>;
  close(): void;
}

/** Two bytes of key length, two of value length. */
const HEAD = 4;
const LARGEST_ENTRY = HEAD + 2 * 0xffff;
const READ_BYTES = 65_536;

/**
 * Sorts more than memory should hold: sorted runs of a fixed size go to a temporary file and are merged. The file is
 * unlinked once it is open, so nothing of it outlives the process.
 * @param path of the temporary file, made when the first run is full
 * @param runBytes memory for one run, at least one entry
 */
export function createSorter(path: string, runBytes = 8 * 2 ** 20): Sorter {
  const arena = Buffer.allocUnsafeSlow(Math.max(runBytes, 2 * HEAD));
  const runs: { readonly from: number; readonly to: number }[] = [];
  let file: OpenFile | null = null;
  let written = 0;
  let filled = 0;
  let run: RunIndex = { keys: [], starts: [] };
  // Made once: a buffer of this size for each run would stay in memory until a garbage collection.
  let sorted: Buffer | null = null;

  function spill(): void {
    file ??= scratchFile(path);
    const from = written;
    sorted ??= Buffer.allocUnsafeSlow(arena.length);
    let length = 0;
    for (const start of sortedStarts(run)) {
      length += arena.copy(sorted, length, start, start + entryLength(arena, start));
    }
    file.write(sorted.subarray(0, length), written);
    written += length;
    runs.push({ from, to: written });
    run = { keys: [], starts: [] };
    filled = 0;
  }

  return {
    add(key, value) {
      const length = HEAD + key.length + value.length;
      if (length > arena.length) throw new RangeError('an entry is larger than a run');
      if (filled + length > arena.length) spill();
      arena.writeUInt16LE(key.length, filled);
      arena.writeUInt16LE(value.length, filled + 2);
      arena.set(key, filled + HEAD);
      arena.set(value, filled + HEAD + key.length);
      run.keys.push(arena.toString('latin1', filled + HEAD, filled + HEAD + key.length));
      run.starts.push(filled);
      filled += length;
    },
    *entries() {
      if (file === null) {
        for (const start of sortedStarts(run)) yield entryAt(arena, start);
        return;
      }
      spill();
      yield* merged(runs.map(({ from, to }, order) => openRun(file!, from, to, order)));
    },
    close() {
      file?.close();
      file = null;
    },
  };
}

interface RunIndex {
  /** Latin-1 text, whose order is that of the bytes: JavaScript compares strings faster than buffers. */
  readonly keys: string[];
  readonly starts: number[];
}

function sortedStarts({ keys, starts }: RunIndex): number[] {
  const order = Array.from(keys.keys());
  order.sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
  return order.filter((at, i) => keys[at] !== keys[order[i + 1] ?? -1]).map((at) => starts[at]!);
}

function entryLength(bytes: Buffer, start: number): number {
  return HEAD + bytes.readUInt16LE(start) + bytes.readUInt16LE(start + 2);
}

function entryAt(bytes: Buffer, start: number): Entry {
  const valueAt = start + HEAD + bytes.readUInt16LE(start);
  return {
    key: bytes.subarray(start + HEAD, valueAt) as Uint8Array<ArrayBuffer>,
    value: bytes.subarray(valueAt, valueAt + bytes.readUInt16LE(start + 2)),
  };
}

/** A reader over one run. `key` is null past the last entry. */
interface Run {
  readonly order: number;
  key: string | null;
  entry(): Entry;
  advance(): void;
}

function openRun(file: OpenFile, from: number, to: number, order: number): Run {
  const buffer = Buffer.allocUnsafe(Math.min(to - from, READ_BYTES + LARGEST_ENTRY));
  let position = from;
  let at = 0;
  let end = 0;
  const fill = (): void => {
    buffer.copyWithin(0, at, end);
    end -= at;
    at = 0;
    const part = buffer.subarray(end, end + to - position);
    if (file.read(part, position) < part.length) throw new Error('the temporary file of a sort ends early');
    position += part.length;
    end += part.length;
  };
  const look = (): void => {
    if (position < to && end - at < LARGEST_ENTRY) fill();
    run.key = at < end ? buffer.toString('latin1', at + HEAD, at + HEAD + buffer.readUInt16LE(at)) : null;
  };
  const run: Run = {
    order,
    key: null,
    entry: () => entryAt(buffer, at),
    advance: () => {
      at += entryLength(buffer, at);
      look();
    },
  };
  look();
  return run;
}

/** Merges runs; of equal keys that of the latest run wins. */
function* merged(opened: Run[]): Generator<Entry, void> {
  // Ascending by key; among equal keys the latest run first.
  const waiting: Run[] = [];
  for (const run of opened) insert(waiting, run);
  let last: string | null = null;
  for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
    if (run.key !== last) {
      last = run.key;
      yield run.entry();
    }
    run.advance();
    insert(waiting, run);
  }
}

function insert(waiting: Run[], run: Run): void {
  if (run.key === null) return;
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = waiting[middle]!;
    const before = other.key! < run.key || (other.key === run.key && other.order > run.order);
    if (before) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, run);
}
