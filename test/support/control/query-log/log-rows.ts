import type { QueryLogRow } from '../../../../src/feed/ports/query-log.ts';
import { queryLogSink } from '../../../../src/store/query-log/add-rows.ts';
import { queryLogRow } from '../../feed/ports/query-log-suite.ts';
import type { World } from '../../http/world.ts';

let batches = 0;

/** Adds a batch as a node does: rows of one namespace, each `ago` milliseconds before the world's time. */
export async function addRows(
  world: World,
  namespaceId: string,
  rows: readonly ({ readonly ago: number } & Partial<QueryLogRow>)[],
): Promise<void> {
  batches++;
  await queryLogSink(world.store, world.now).add({
    node: `node${world.now()}`,
    batch: `api-${batches}`,
    rows: rows.map(({ ago, ...parts }) => queryLogRow(namespaceId, world.now() - ago, parts)),
    dropped: [],
  });
}

/** A query that was refused: nothing that a stranger asked is in the row. */
export const REFUSED = { status: 'refused', resource: null, version: null, rcode: 5 } as const;
