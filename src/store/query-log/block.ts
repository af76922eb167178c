import type { Transport } from '../../base/network/transport.ts';
import type { QueryLogRow } from '../../feed/ports/query-log.ts';
import type { QueryOperation } from '../../protocol/names/query-name.ts';
import type { QueryLogBlocksTable } from './tables.ts';

const MINUTE = 60_000;

/**
 * Longest time from the first row of a block to its last, milliseconds: about what a node sends at once. A page reads the blocks around
 * its first row, so a long block would make it decode many rows for few.
 */
export const BLOCK_SPAN = 2_000;

/**
 * Blocks and rows that one batch may number: `queryLogBatchRows`, rounded up to a power of two. The numbers of a batch begin at a
 * multiple of it, at most one batch a millisecond, so that they stay below 2^53 until the year 2109.
 */
export const BATCH_NUMBERS = 2048;

/** What many rows of a block share. */
type Kind = readonly [
  resource: string | null,
  version: string | null,
  operation: QueryOperation,
  qtype: number,
  rcode: number,
  transport: Transport,
];

/** JSON of a block: its kinds, and of each row three numbers: milliseconds after the first row, place of its kind, duration. */
type Body = readonly [kinds: readonly Kind[], rows: readonly number[]];

/** A query as it is stored. No member can hold a name, parameter, token or address. */
export interface StoredRow {
  /** Ascends in the order in which rows are committed; the numbers between two ids tell nothing. */
  readonly id: number;
  readonly series_id: number;
  readonly at: number;
  readonly resource: string | null;
  readonly version: string | null;
  readonly operation: QueryOperation;
  readonly qtype: number;
  readonly rcode: number;
  readonly transport: Transport;
  readonly node: string;
  readonly duration_ms: number;
}

export type BlockRow = Omit<QueryLogRow, 'namespaceId' | 'status'>;

/** The part of a block that its rows alone determine. */
type BlockContent = Pick<QueryLogBlocksTable, 'first_at' | 'last_at' | 'row_count' | 'body'>;

/** A block before it is stored, with what its hours are counted by. */
export interface EncodedRows extends BlockContent {
  readonly parts: readonly {
    readonly resource: string | null;
    readonly transport: Transport;
    readonly rows: number;
  }[];
}

/**
 * Makes blocks of rows, the oldest row first. A block lies within one minute, so that a count of whole minutes cuts no block.
 * @param now a row of the future would be listed before it happened: it counts as of now
 */
export function encodeBlocks(rows: readonly BlockRow[], now: number): EncodedRows[] {
  const sorted = isAscending(rows) ? rows : rows.toSorted((a, b) => a.at - b.at);
  const blocks: EncodedRows[] = [];
  for (let start = 0; start < sorted.length; ) {
    const first = Math.min(sorted[start]!.at, now);
    const limit = Math.min(first + BLOCK_SPAN, first - (first % MINUTE) + MINUTE);
    let end = start + 1;
    while (end < sorted.length && Math.min(sorted[end]!.at, now) < limit) end++;
    blocks.push(encodeBlock(sorted.slice(start, end), first, now));
    start = end;
  }
  return blocks;
}

function encodeBlock(rows: readonly BlockRow[], first: number, now: number): EncodedRows {
  const kinds: Kind[] = [];
  const places = new Map<string, number>();
  const totals: number[] = [];
  const numbers: number[] = [];
  let at = first;
  for (const row of rows) {
    at = Math.min(row.at, now);
    const { resource, version, operation, qtype, rcode, transport, durationMs } = row;
    const key = `${resource} ${version} ${operation} ${qtype} ${rcode} ${transport}`;
    let place = places.get(key);
    if (place === undefined) {
      place = kinds.length;
      places.set(key, place);
      kinds.push([resource, version, operation, qtype, rcode, transport]);
      totals.push(0);
    }
    totals[place]! += 1;
    numbers.push(at - first, place, durationMs);
  }
  const body: Body = [kinds, numbers];
  const parts = kinds.map((kind, i) => ({ resource: kind[0], transport: kind[5], rows: totals[i]! }));
  return { first_at: first, last_at: at, row_count: rows.length, body: JSON.stringify(body), parts };
}

function isAscending(rows: readonly BlockRow[]): boolean {
  for (let i = 1; i < rows.length; i++) if (rows[i]!.at < rows[i - 1]!.at) return false;
  return true;
}

/** What of a block its rows are made of. */
export type EncodedBlock = Pick<QueryLogBlocksTable, 'series_id' | 'first_id' | 'first_at' | 'node' | 'body'>;

/** The rows of a block, in the order of their time and of their ids. */
export function decodeBlock({ series_id, first_id, first_at, node, body }: EncodedBlock): StoredRow[] {
  const [kinds, numbers] = JSON.parse(body) as Body;
  const rows: StoredRow[] = [];
  for (let i = 0; i < numbers.length; i += 3) {
    const [resource, version, operation, qtype, rcode, transport] = kinds[numbers[i + 1]!]!;
    rows.push({
      id: first_id + rows.length,
      series_id,
      at: first_at + numbers[i]!,
      resource,
      version,
      operation,
      qtype,
      rcode,
      transport,
      node,
      duration_ms: numbers[i + 2]!,
    });
  }
  return rows;
}

/** How many rows of a block are in an interval. */
export function countInBlock(
  { first_at, body }: Pick<EncodedBlock, 'first_at' | 'body'>,
  { since, until }: { readonly since: number; readonly until: number },
): number {
  const [, numbers] = JSON.parse(body) as Body;
  let count = 0;
  for (let i = 0; i < numbers.length; i += 3) {
    const at = first_at + numbers[i]!;
    if (at >= since && at < until) count++;
  }
  return count;
}
