import assert from 'node:assert/strict';
import type { QueryStatus } from '../../../src/protocol/query/outcome.ts';
import { decodeBlock, type StoredRow } from '../../../src/store/query-log/block.ts';
import type { QueryLogBlocksTable, QueryLogSeriesTable } from '../../../src/store/query-log/tables.ts';
import type { Store } from '../../../src/store/store.ts';
import { query } from './rows.ts';

/** A row with what its series says. */
export interface RowOfSeries extends StoredRow {
  readonly namespace_id: string;
  readonly status: QueryStatus;
}

/** Every row of the log, the newest first, as pages have them. */
export async function storedRows({ read }: Pick<Store, 'read'>): Promise<RowOfSeries[]> {
  const blocks = await query<QueryLogBlocksTable & Pick<QueryLogSeriesTable, 'namespace_id' | 'status'>>(
    read,
    'select q.*, s.namespace_id, s.status from query_log_blocks as q join query_log_series as s on s.id = q.series_id',
  );
  return blocks
    .flatMap((block) => {
      const { namespace_id, status } = block;
      assert.ok(status !== 'dropped', 'dropped rows have no blocks');
      return decodeBlock(block).map((row) => ({ ...row, namespace_id, status }));
    })
    .sort((a, b) => b.at - a.at || b.id - a.id);
}
