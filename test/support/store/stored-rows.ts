import assert from 'node:assert/strict';
import type { QueryStatus } from '../../../src/protocol/query/query-status.ts';
import { decodeBlock, type StoredRow } from '../../../src/store/query-log/block.ts';
import type { Store } from '../../../src/store/store.ts';

/** A row with what its series says. */
export interface RowOfSeries extends StoredRow {
  readonly namespace_id: string;
  readonly status: QueryStatus;
}

/** Every row of the log, the newest first, as pages have them. */
export async function storedRows({ read }: Pick<Store, 'read'>): Promise<RowOfSeries[]> {
  const blocks = await read
    .selectFrom('query_log_blocks as q')
    .innerJoin('query_log_series as s', 's.id', 'q.series_id')
    .selectAll('q')
    .select(['s.namespace_id', 's.status'])
    .execute();
  return blocks
    .flatMap((block) => {
      const { namespace_id, status } = block;
      assert.ok(status !== 'dropped', 'dropped rows have no blocks');
      return decodeBlock(block).map((row) => ({ ...row, namespace_id, status }));
    })
    .sort((a, b) => b.at - a.at || b.id - a.id);
}
