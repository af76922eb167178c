/** Windows of items as entries of `external-sort`. */
import { EARLIEST } from '../../../core/datasets/as-of.ts';
import type { ItemWindow } from '../../../core/datasets/item.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Entry } from '../../../external-sort/sorter.ts';
import type { PlacedWindow } from './window-check.ts';

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

export function sortKey({ item, from }: ItemWindow, line: number): Buffer {
  const key = KEY.subarray(0, item.length + TAIL_OCTETS);
  let at = key.write(item, 'latin1');
  at = key.writeUInt8(0, at);
  at = key.writeUIntBE(from === null ? OPEN_START : from - EARLIEST + 1, at, INSTANT_OCTETS);
  key.writeUInt32BE(line, at);
  return key;
}

/** @param withFacts whether the texts of the window are part of it; without, they are read as empty */
export function sortValue({ to, issuer, brand, cc, type }: ItemWindow, withFacts: boolean): Buffer {
  const end = VALUE.writeUIntBE(to === null ? OPEN_END : to - EARLIEST, 0, INSTANT_OCTETS);
  if (!withFacts) return VALUE.subarray(0, end);
  return VALUE.subarray(0, end + VALUE.write([issuer, brand, cc, type].join(SEPARATOR), end, 'utf8'));
}

export function readEntry({ key, value }: Entry): PlacedWindow {
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
