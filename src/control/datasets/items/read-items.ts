import { isUtf8 } from 'node:buffer';
import { readSync } from 'node:fs';
import { LIMITS } from '../../../base/limits.ts';
import { type ItemWindow, readItem } from '../../../protocol/datasets/item.ts';
import { DatasetFault } from '../fault.ts';

/** An open items file. */
export interface ItemsFile {
  /** As named in faults. */
  readonly path: string;
  readonly handle: number;
}

export interface ReadItemsOptions {
  /** Of the dataset: it decides which keys items have. */
  readonly slug: string;
  /** Called with each part of the file, in order, before its lines. */
  readonly onOctets: (octets: Uint8Array) => void;
  readonly linesMax?: number;
}

export interface PlacedItem {
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
export function* readItems(file: ItemsFile, options: ReadItemsOptions): Generator<PlacedItem> {
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

export function faultAt(file: ItemsFile, line: number, reason: string): DatasetFault {
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
