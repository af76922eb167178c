import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { createSorter, type Entry } from '../../../base/files/sorter.ts';
import { LIMITS } from '../../../base/limits.ts';
import { EARLIEST } from '../../../protocol/datasets/as-of.ts';
import type { DatasetItem, ItemWindow } from '../../../protocol/datasets/item.ts';
import { DatasetFault } from '../fault.ts';
import { type ItemsFile, readItems } from './read-items.ts';
import { type PlacedWindow, WindowCheck } from './window-check.ts';

/** Windows of items as entries of `external-sort`. */

/** Entries sort by item, start and line: the item ends in a zero octet, and numbers are big-endian. */
const INSTANT_OCTETS = 6;
const LINE_OCTETS = 4;
const TAIL_OCTETS = 1 + INSTANT_OCTETS + LINE_OCTETS;
const OPEN_START = 0;
const OPEN_END = 2 ** 48 - 1;
/** No text has a control character. */
const SEPARATOR = '\n';

/** Written again for each line: the sorter copies its entries. */
const KEY = Buffer.alloc(LIMITS.datasetItemKey + TAIL_OCTETS);
const VALUE = Buffer.alloc(INSTANT_OCTETS + 4 * (LIMITS.datasetText + 1));

function sortKey({ item, from }: ItemWindow, line: number): Buffer {
  const key = KEY.subarray(0, item.length + TAIL_OCTETS);
  let at = key.write(item, 'latin1');
  at = key.writeUInt8(0, at);
  at = key.writeUIntBE(from === null ? OPEN_START : from - EARLIEST + 1, at, INSTANT_OCTETS);
  key.writeUInt32BE(line, at);
  return key;
}

/** @param withFacts whether the texts of the window are part of it; without, they are read as empty */
function sortValue({ to, issuer, brand, cc, type }: ItemWindow, withFacts: boolean): Buffer {
  const end = VALUE.writeUIntBE(to === null ? OPEN_END : to - EARLIEST, 0, INSTANT_OCTETS);
  if (!withFacts) return VALUE.subarray(0, end);
  return VALUE.subarray(0, end + VALUE.write([issuer, brand, cc, type].join(SEPARATOR), end, 'utf8'));
}

function readEntry({ key, value }: Entry): PlacedWindow {
  const octets = Buffer.from(key.buffer, key.byteOffset, key.length);
  const itemEnd = octets.length - TAIL_OCTETS;
  const from = octets.readUIntBE(itemEnd + 1, INSTANT_OCTETS);
  const to = value.readUIntBE(0, INSTANT_OCTETS);
  const [issuer = '', brand = '', cc = '', type = ''] = value
    .toString('utf8', INSTANT_OCTETS)
    .split(SEPARATOR);
  return {
    item: octets.toString('latin1', 0, itemEnd),
    from: from === OPEN_START ? null : from - 1 + EARLIEST,
    to: to === OPEN_END ? null : to + EARLIEST,
    issuer,
    brand,
    cc,
    type,
    line: octets.readUInt32BE(octets.length - LINE_OCTETS),
  };
}

/** Facts of an items file without faults. */
export interface CheckedItems {
  /** Of its octets, lower-case hex. */
  readonly sha256: string;
  readonly octets: number;
  readonly items: number;
  readonly windows: number;
}

/** Takes what a reading finds: the octets of the file, and its items in the order of their keys. */
export interface ItemsSink {
  octets(part: Uint8Array): void;
  item(item: DatasetItem): void;
}

export interface CheckOptions {
  readonly slug: string;
  /** Folder of the temporary file that lines in another order are sorted over. */
  readonly sortFolder: string;
  /** Called about once per 256 KiB. It starts again at 0 when the file must be sorted. */
  readonly onProgress?: (octets: number, total: number) => void;
  /** Called once for each reading of the file: what an earlier one gave is void. */
  readonly sink?: () => ItemsSink;
  readonly linesMax?: number;
  /** Memory of one sorted run. */
  readonly runBytes?: number;
}

const CHUNK_OCTETS = 262_144;

/**
 * Checks every line, and the windows of every item. A file whose items are in the order of their keys is read once and
 * needs no other file; any other one is read again and sorted over a temporary file.
 * @throws DatasetFault with file, line and reason
 */
export function checkItems(path: string, options: CheckOptions): CheckedItems {
  const handle = openSync(path, 'r');
  try {
    const file = { path, handle };
    if (!fstatSync(handle).isFile()) throw new DatasetFault([`${path} is not a regular file`]);
    return checkInOrder(file, options) ?? checkSorted(file, options);
  } finally {
    closeSync(handle);
  }
}

/** Lower-case hex, of a file of any size. */
export function sha256Of(path: string): string {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_OCTETS);
  const handle = openSync(path, 'r');
  try {
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk)) {
      hash.update(chunk.subarray(0, read));
    }
  } finally {
    closeSync(handle);
  }
  return hash.digest('hex');
}

/** Null when an item comes after one with a greater key. */
function checkInOrder(file: ItemsFile, options: CheckOptions): CheckedItems | null {
  const reading = startReading(file, options);
  const check = new WindowCheck(file, reading.onItem);
  for (const { line, window } of reading.items) {
    if (!check.add({ ...window, line })) return null;
  }
  check.end();
  return reading.facts(check.items);
}

function checkSorted(file: ItemsFile, options: CheckOptions): CheckedItems {
  const reading = startReading(file, options);
  const check = new WindowCheck(file, reading.onItem);
  const path = join(options.sortFolder, `items-sort-${randomBytes(6).toString('hex')}`);
  const sorter = createSorter(path, options.runBytes);
  try {
    for (const { line, window } of reading.items) {
      // Facts that nobody takes would make the temporary file several times as large.
      sorter.add(sortKey(window, line), sortValue(window, options.sink !== undefined));
    }
    for (const entry of sorter.entries()) check.add(readEntry(entry));
  } finally {
    sorter.close();
  }
  check.end();
  return reading.facts(check.items);
}

function startReading(file: ItemsFile, { slug, onProgress, linesMax, sink: open }: CheckOptions) {
  const sink = open?.();
  const hash = createHash('sha256');
  const total = fstatSync(file.handle).size;
  let octets = 0;
  let windows = 0;
  const onOctets = (part: Uint8Array): void => {
    hash.update(part);
    octets += part.length;
    sink?.octets(part);
    onProgress?.(octets, total);
  };
  function* counted() {
    for (const item of readItems(file, { slug, onOctets, ...(linesMax !== undefined && { linesMax }) })) {
      windows++;
      yield item;
    }
  }
  return {
    items: counted(),
    onItem: sink && ((item: DatasetItem) => sink.item(item)),
    /** Call it once, after the last item. */
    facts: (items: number): CheckedItems => ({ sha256: hash.digest('hex'), octets, items, windows }),
  };
}
