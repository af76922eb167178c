/** Rows of changes as compressed JSON, with a bound on every length before memory is taken for it. */

import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import {
  ChangeFormatError,
  decodeChange,
  type EncodedChange,
  encodeChange,
} from '../../protocol/changes/change-codec.ts';
import { compress, decompressJson } from './compression.ts';
import { FeedRefusedError } from './refusal.ts';

/** Rows of one batch, compressed. */
export interface PackedRows {
  /** Of the first and of the last row. */
  readonly from: number;
  readonly to: number;
  readonly plainLength: number;
  readonly compressed: Uint8Array;
}

/**
 * Divides changes into batches within the bounds of one message.
 * @param changes ascending without a gap, at least one
 * @throws RangeError when one change alone is above the bound
 */
export function packRows(changes: readonly Change[]): PackedRows[] {
  const packed: PackedRows[] = [];
  let rows: string[] = [];
  let octets = 0;
  let from = changes[0]?.seq ?? 0;
  const close = (): void => {
    if (rows.length === 0) return;
    const plain = Buffer.from(`[${rows.join(',')}]`);
    packed.push({
      from,
      to: from + rows.length - 1,
      plainLength: plain.length,
      compressed: compress(plain),
    });
    from += rows.length;
    rows = [];
    octets = 0;
  };
  for (const change of changes) {
    const row = JSON.stringify(rowOf(change));
    // With the comma or bracket before it; the last bracket is the 1 below.
    const length = Buffer.byteLength(row) + 1;
    if (length + 1 > LIMITS.feedBatchOctets)
      throw new RangeError(`change ${change.seq} is too large for a batch`);
    if (rows.length === LIMITS.feedBatchChanges || octets + length + 1 > LIMITS.feedBatchOctets) close();
    rows.push(row);
    octets += length;
  }
  close();
  return packed;
}

/** `seq` is left out: the header has it. */
function rowOf(change: Change): object {
  const { seq: _, data, ...row } = encodeChange(change);
  return { ...row, data: data === null ? null : Buffer.from(data).toString('base64') };
}

/**
 * @param from `seq` of the first row
 * @param count rows that the header states, at most `LIMITS.feedBatchChanges`
 * @param plainLength that the header states, at most `LIMITS.feedBatchOctets`
 * @throws FeedRefusedError `decompress` or `rows`, whatever the bytes are
 */
export function unpackRows(
  compressed: Uint8Array,
  { from, count, plainLength }: { from: number; count: number; plainLength: number },
): Change[] {
  const rows = decompressJson(compressed, plainLength, 'rows');
  if (!Array.isArray(rows) || rows.length !== count) throw new FeedRefusedError('rows');
  return rows.map((row: unknown, i) => changeOf(row, from + i));
}

function changeOf(row: unknown, seq: number): Change {
  if (typeof row !== 'object' || row === null) throw new FeedRefusedError('rows');
  const { data = null, ...rest } = row as { data?: unknown };
  if (data !== null && typeof data !== 'string') throw new FeedRefusedError('rows');
  try {
    // The decoder checks every member.
    return decodeChange({
      ...(rest as EncodedChange),
      seq,
      data: data === null ? null : Buffer.from(data, 'base64'),
    });
  } catch (error) {
    if (error instanceof ChangeFormatError) throw new FeedRefusedError('rows');
    throw error;
  }
}
