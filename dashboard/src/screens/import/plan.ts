/** The dry run: what an import would do, row by row. */
import type { ExportedRecord, NewRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import type { BulkRecord } from '../records/bulk-job.ts';
import type { RefusalReason, Row } from './candidate.ts';

/** As it was compared. */
export interface StoredRecord extends ExportedRecord {
  readonly updated_at: string;
}

export type Change = 'new' | 'changed' | 'same' | 'refused';

export interface PlannedRow {
  readonly line: number;
  readonly key: string;
  readonly change: Change;
  readonly record: NewRecord | null;
  readonly refusal: RefusalReason | null;
  /** Fields that differ from the stored record. */
  readonly fields: readonly (keyof ExportedRecord)[];
  /** The stored record. */
  readonly before: StoredRecord | null;
}

export interface Plan {
  readonly rows: readonly PlannedRow[];
  readonly counts: Readonly<Record<Change, number>>;
}

const TYPE_DEFAULT = 'application/octet-stream';

/**
 * @param stored the records that stand at these keys now
 * @param ttlDefault of the server, for rows that give none
 */
export function planOf(
  rows: readonly Row[],
  stored: ReadonlyMap<string, StoredRecord>,
  ttlDefault: number,
): Plan {
  const counts = { new: 0, changed: 0, same: 0, refused: 0 };
  const planned = rows.map((row): PlannedRow => {
    const one = plannedRow(row, stored, ttlDefault);
    counts[one.change] += 1;
    return one;
  });
  return { rows: planned, counts };
}

function plannedRow(row: Row, stored: ReadonlyMap<string, StoredRecord>, ttlDefault: number): PlannedRow {
  const { line, record } = row;
  if (record === null) {
    return { line, key: row.key, change: 'refused', record, refusal: row.refusal, fields: [], before: null };
  }
  const now = stored.get(record.key);
  const fields = now === undefined ? [] : differingFields(record, now, ttlDefault);
  const change = now === undefined ? 'new' : fields.length > 0 ? 'changed' : 'same';
  return { line, key: record.key, change, record, refusal: null, fields, before: now ?? null };
}

/** A write replaces the record as a whole: what a row does not give takes its default. */
function differingFields(
  record: NewRecord,
  stored: ExportedRecord,
  ttlDefault: number,
): (keyof ExportedRecord)[] {
  const { data, content_type = TYPE_DEFAULT, encoding, ttl_seconds = ttlDefault, expires_in = 0 } = record;
  const expires = record.expires_at ?? null;
  const fields: (keyof ExportedRecord)[] = [];
  if (data !== stored.data) fields.push('data');
  if (content_type !== stored.content_type) fields.push('content_type');
  if ((encoding === 'plain') !== (stored.encoding === 'plain')) fields.push('encoding');
  if (ttl_seconds !== stored.ttl_seconds) fields.push('ttl_seconds');
  // A lifetime from now on is never the time that is stored.
  if (expires_in > 0 || timeOf(expires) !== timeOf(stored.expires_at)) fields.push('expires_at');
  return fields;
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

/** The records that an import would write, each on the condition that nobody has changed it since it was compared. */
export function toWrite(plan: Plan): readonly { readonly key: string; readonly record: BulkRecord }[] {
  return plan.rows.flatMap(({ key, change, record, before }) =>
    record !== null && (change === 'new' || change === 'changed')
      ? [{ key, record: { ...record, if_updated_at: before?.updated_at ?? null } }]
      : [],
  );
}
