import type { RecordFilter, RecordResource, Uqrp } from '../../../../sdk/src/uqrp-sdk.ts';
import type { RecordRow } from './record-pages.ts';

/** Up to so many records are read one by one; more are picked out of the list, 500 a request. */
const SINGLY = 10;
const PAGE = 500;

/** The selected records with their data, as they are now. Those that are gone are left out. */
export async function* readSelected(
  api: Pick<Uqrp, 'records'>,
  rows: readonly Pick<RecordRow, 'id' | 'key'>[],
  filter: RecordFilter,
  signal?: AbortSignal,
): AsyncGenerator<RecordResource, void, undefined> {
  if (rows.length <= SINGLY) {
    for (const { key } of rows) {
      const record = await api.records.find(key, { signal });
      if (record !== null) yield record;
    }
    return;
  }
  const wanted = new Set(rows.map(({ id }) => id));
  for await (const record of api.records.list(filter, { limit: PAGE, signal })) {
    if (wanted.delete(record.id)) yield record;
    if (wanted.size === 0) return;
  }
}

/** What a write gives a record, and a line of an export has. `encoding` only where it is plain text. */
export function storedFields({ data = '', content_type, encoding, ttl_seconds, expires_at }: RecordResource) {
  return { data, content_type, ...(encoding && { encoding }), ttl_seconds, expires_at };
}

/** A line of an export. */
export function exportLine(record: RecordResource): string {
  return `${JSON.stringify({ key: record.key, ...storedFields(record) })}\n`;
}
