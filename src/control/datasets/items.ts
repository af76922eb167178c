import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import { LIMITS } from '../../base/limits.ts';
import { createSorter, type Entry } from '../../base/sorter.ts';
import {
  compareStarts,
  type DatasetItem,
  type ItemWindow,
  overlap,
  readItem,
} from '../../protocol/datasets/item.ts';
import { EARLIEST } from '../../protocol/datasets/query.ts';

/** A file of a dataset is wrong. Each message names the file, and the line or field. */
export class DatasetFault extends Error {
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join('\n'));
    this.name = 'DatasetFault';
    this.messages = messages;
  }
}

/** An open items file. */
interface ItemsFile {
  /** As named in faults. */
  readonly path: string;
  readonly handle: number;
}

interface ReadItemsOptions {
  /** Of the dataset: it decides which keys items have. */
  readonly slug: string;
  /** Called with each part of the file, in order, before its lines. */
  readonly onOctets: (octets: Uint8Array) => void;
  readonly linesMax?: number;
}

interface PlacedItem {
  /** From 1. */
  readonly line: number;
  readonly window: ItemWindow;
}

const NEWLINE = 0x0a;
const CHUNK_OCTETS = 262_144;

/**
 * Reads an items file: JSON lines in UTF-8, with LF or CRLF. Holds one chunk.
 * @throws DatasetFault with the number of the line that is wrong
 */
function* readItems(file: ItemsFile, options: ReadItemsOptions): Generator<PlacedItem> {
  const { slug, linesMax = LIMITS.datasetLines } = options;
  let line = 0;
  for (const octets of lines(file, options.onOctets)) {
    line++;
    if (line > linesMax) throw faultAt(file, line, `an items file has at most ${linesMax} lines`);
    const window = parseLine(octets, slug);
    if (typeof window === 'string') throw faultAt(file, line, window);
    yield { line, window };
  }
  if (line === 0) throw new DatasetFault([`${file.path} has no items`]);
}

function faultAt(file: ItemsFile, line: number, reason: string): DatasetFault {
  return new DatasetFault([`${file.path}:${line}: ${reason}`]);
}

function parseLine(octets: Buffer, slug: string): ItemWindow | string {
  if (octets.length > LIMITS.datasetLine) return `is longer than ${LIMITS.datasetLine} octets`;
  if (!isUtf8(octets)) return 'is not UTF-8';
  let value: unknown;
  try {
    value = JSON.parse(octets.toString('utf8'));
  } catch {
    // The parser's message quotes the line.
    return 'is not JSON';
  }
  return readItem(value, slug);
}

/** Views of a buffer that the next line may overwrite. A line above the limit is cut behind it. */
function* lines({ handle }: ItemsFile, onOctets: (octets: Uint8Array) => void): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_OCTETS);
  let held = 0;
  let position = 0;
  for (;;) {
    const read = readSync(handle, buffer, held, buffer.length - held, position);
    if (read === 0) break;
    position += read;
    const view = buffer.subarray(0, held + read);
    onOctets(view.subarray(held));
    let start = 0;
    for (let end = view.indexOf(NEWLINE); end >= 0; end = view.indexOf(NEWLINE, start)) {
      yield view.subarray(start, end);
      start = end + 1;
    }
    if (view.length - start > LIMITS.datasetLine) yield view.subarray(start);
    view.copyWithin(0, start);
    held = view.length - start;
  }
  if (held > 0) yield buffer.subarray(0, held);
}

interface PlacedWindow extends ItemWindow {
  readonly line: number;
}

/** Checks the windows of items whose lines come together. Holds those of one item. */
class WindowCheck {
  readonly #file: ItemsFile;
  readonly #onItem: ((item: DatasetItem) => void) | undefined;
  #windows: PlacedWindow[] = [];
  #items = 0;

  /** @param onItem called with each item once its windows are checked, in the order of their starts */
  constructor(file: ItemsFile, onItem?: (item: DatasetItem) => void) {
    this.#file = file;
    this.#onItem = onItem;
  }

  get items(): number {
    return this.#items;
  }

  /**
   * Adds a window of the same item as the last one, or of a later item by the order of its letters. Returns false, and adds
   * nothing, for an earlier item.
   * @throws DatasetFault when windows of an item overlap, or are too many
   */
  add(window: PlacedWindow): boolean {
    const last = this.#windows[0]?.item;
    if (last !== undefined && window.item < last) return false;
    if (window.item !== last) this.#next();
    this.#windows.push(window);
    if (this.#windows.length > LIMITS.datasetWindows) {
      throw faultAt(this.#file, window.line, `the item has more than ${LIMITS.datasetWindows} windows`);
    }
    return true;
  }

  /** Checks the last item. */
  end(): void {
    this.#next();
  }

  #next(): void {
    if (this.#windows.length === 0) return;
    this.#items++;
    this.#windows.sort(compareStarts);
    for (const [i, later] of this.#windows.entries()) {
      const earlier = this.#windows[i - 1];
      if (earlier === undefined || !overlap(earlier, later)) continue;
      const [first, second] = [earlier.line, later.line].sort((a, b) => a - b) as [number, number];
      throw faultAt(this.#file, second, `the window overlaps that of line ${first}, of the same item`);
    }
    this.#onItem?.({ item: this.#windows[0]!.item, windows: this.#windows });
    this.#windows = [];
  }
}

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
  const path = join(options.sortFolder, `items-sort-${Buffer.from(realRandom(6)).toString('hex')}`);
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
