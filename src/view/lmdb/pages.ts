/** The pages of an LMDB file: layout of data version 2, by the mdb.c that lmdb-js has. Numbers are little-endian, as everywhere in the view. */
import type { OpenFile } from '../../base/files.ts';
import { PAGE_SIZE } from './tree.ts';

/** Of a page: number (8), transaction (8), padding (2), flags (2), then two ends of the unused part (2, 2), or pages of a large value (4). */
export const PAGE_HEADER_OCTETS = 24;
const TRANSACTION_AT = 8;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const UPPER_AT = 22;
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;

/** Of a meta page: that of the free pages and ours, and the number of the last transaction. */
const TREES_AT = [48, 96] as const;
const COMMITTED_AT = 152;
/** Of a tree: its levels, its pages of each kind, and its root. */
const DEPTH_AT = 6;
const COUNTS_AT = [8, 16, 24] as const;
const ROOT_AT = 40;

/** Of an entry: size of its value, or the page below it (6), flags that are a part of the latter (2), size of its key (2), the key, the value. */
const ENTRY_FLAGS_AT = 4;
const ENTRY_KEY_SIZE_AT = 6;
const ENTRY_KEY_AT = 8;
/** The value is in pages of its own: their first one (8), transaction (8), their number (8). */
const IS_LARGE = 0x01;
const LARGE_PAGES_AT = 16;

/** Numbers of pages and transactions have eight octets, of which the last two are zero; all of them are ones for a tree without pages. */
const NUMBER_OCTETS = 6;
const NO_PAGE = 2 ** 48 - 1;

export class DamagedPageError extends Error {
  override readonly name = 'DamagedPageError';

  constructor() {
    super('the view is damaged');
  }
}

/** Of branches, leaves, and pages of large values. */
export type PageCounts = readonly [branches: number, leaves: number, large: number];

interface PageTree {
  /** Its root. */
  readonly page: number;
  /** Of branches above the leaves. */
  readonly levels: number;
  /** The other one has lists of free pages, by transactions: their octets have another order. */
  readonly isOurs: boolean;
}

interface Meta {
  /** Number of the last transaction. */
  readonly committed: number;
  /** Without those that have no page. */
  readonly trees: readonly PageTree[];
  /** Of both together. */
  readonly counts: PageCounts;
}

/** What the last transaction has committed. @throws DamagedPageError */
export function readMeta(file: OpenFile): Meta {
  const metas = [0, 1].map((number) => {
    const page = Buffer.alloc(PAGE_SIZE);
    if (file.read(page, number * PAGE_SIZE) < PAGE_SIZE) throw new DamagedPageError();
    return page;
  });
  const [first, second] = metas as [Buffer, Buffer];
  const newest = numberAt(first, COMMITTED_AT) > numberAt(second, COMMITTED_AT) ? first : second;
  const trees = TREES_AT.map((tree, i) => ({
    page: numberAt(newest, tree + ROOT_AT),
    levels: newest.readUInt16LE(tree + DEPTH_AT) - 1,
    isOurs: i === 1,
  })).filter(({ page }) => page !== NO_PAGE);
  const [branches, leaves, large] = COUNTS_AT.map((at) =>
    TREES_AT.reduce((sum, tree) => sum + numberAt(newest, tree + at), 0),
  );
  return { committed: numberAt(newest, COMMITTED_AT), trees, counts: [branches!, leaves!, large!] };
}

function numberAt(octets: Buffer, at: number): number {
  return octets.readUIntLE(at, NUMBER_OCTETS);
}

/** @param page at least its header */
export function transactionOf(page: Buffer): number {
  return numberAt(page, TRANSACTION_AT);
}

/** Whether a page of the file has the number of its place. @throws DamagedPageError */
export function checkPage(page: Buffer, number: number, kind: 'branch' | 'leaf'): void {
  const flags = page.readUInt16LE(FLAGS_AT) & (BRANCH | LEAF);
  if (numberAt(page, 0) !== number || flags !== (kind === 'branch' ? BRANCH : LEAF))
    throw new DamagedPageError();
}

/** A value that has pages of its own. */
export interface LargeValue {
  readonly first: number;
  readonly pages: number;
  readonly octets: number;
}

/** @param header of its first page. @throws DamagedPageError */
export function checkLargeValue(header: Buffer, { first, pages, octets }: LargeValue): void {
  const isLarge = numberAt(header, 0) === first && (header.readUInt16LE(FLAGS_AT) & OVERFLOW) !== 0;
  if (!isLarge || header.readUInt32LE(LOWER_AT) !== pages || PAGE_HEADER_OCTETS + octets > pages * PAGE_SIZE)
    throw new DamagedPageError();
}

/**
 * The octets of a page between the places of its entries and the entries, which belong to neither.
 * @returns null for a page without entries
 * @throws DamagedPageError
 */
export function unusedOf(page: Buffer): Buffer | null {
  if ((page.readUInt16LE(FLAGS_AT) & (BRANCH | LEAF)) === 0) return null;
  const [lower, upper] = [page.readUInt16LE(LOWER_AT), page.readUInt16LE(UPPER_AT)];
  if (lower > upper || PAGE_HEADER_OCTETS + upper > PAGE_SIZE) throw new DamagedPageError();
  return page.subarray(PAGE_HEADER_OCTETS + lower, PAGE_HEADER_OCTETS + upper);
}

/** Where the entries of a page begin. */
function entriesOf(page: Buffer): number[] {
  const entries = page.readUInt16LE(LOWER_AT) / 2;
  return Array.from({ length: entries }, (_, i) => {
    const at = PAGE_HEADER_OCTETS + page.readUInt16LE(PAGE_HEADER_OCTETS + 2 * i);
    if (at + ENTRY_KEY_AT > PAGE_SIZE) throw new DamagedPageError();
    return at;
  });
}

/** @param page with its unused part where `unusedOf` says. @throws DamagedPageError */
export function largeValuesOf(page: Buffer): LargeValue[] {
  return entriesOf(page)
    .filter((at) => (page.readUInt16LE(at + ENTRY_FLAGS_AT) & IS_LARGE) !== 0)
    .map((at) => {
      const value = at + ENTRY_KEY_AT + page.readUInt16LE(at + ENTRY_KEY_SIZE_AT);
      if (value + LARGE_PAGES_AT + NUMBER_OCTETS > PAGE_SIZE) throw new DamagedPageError();
      return {
        first: numberAt(page, value),
        pages: numberAt(page, value + LARGE_PAGES_AT),
        octets: page.readUInt32LE(at),
      };
    });
}

interface Child {
  readonly page: number;
  /** First octets of its keys, at least and at most. */
  readonly begins: number;
  readonly ends: number;
}

/** The pages below a branch, in the order of their keys. @throws DamagedPageError */
export function childrenOf(page: Buffer): Child[] {
  const entries = entriesOf(page);
  return entries.map((at, i) => {
    const after = entries[i + 1];
    return {
      // Flags are the upper part of the number.
      page: numberAt(page, at),
      // The first one has no key: where it begins, and where the last one ends, the branches above know.
      begins: i === 0 ? 0 : page[at + ENTRY_KEY_AT]!,
      ends: after === undefined ? 0xff : page[after + ENTRY_KEY_AT]!,
    };
  });
}
