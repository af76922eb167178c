import { ENGINES } from '../../../test/support/control/webhooks/dispatch-world.ts';
import { type QueryLogWorld, queryLogSuite } from '../../../test/support/feed/ports/query-log-suite.ts';
import { settle, type TestDatabase } from '../../../test/support/store/fixtures.ts';
import { query } from '../../../test/support/store/rows.ts';
import { storedRows } from '../../../test/support/store/stored-rows.ts';
import { loggedLabel } from '../../feed/ports/query-log.ts';
import { queryLogSink } from './add-rows.ts';

const NOW = Date.UTC(2026, 0, 2);

async function storeLog(database: TestDatabase): Promise<QueryLogWorld> {
  const first = await database.open();
  const stores = [first];
  const homes = [await settle(first, 'acme'), await settle(first, 'other')];
  return {
    namespaceIds: [homes[0]!.namespaceId, homes[1]!.namespaceId],
    now: NOW,
    async open() {
      const store = await database.open();
      stores.push(store);
      return queryLogSink(store, () => NOW);
    },
    async rows() {
      const rows = await storedRows(first);
      return rows.map((row) => ({
        at: row.at,
        namespaceId: row.namespace_id,
        resource: row.resource === null ? null : loggedLabel(row.resource),
        version: row.version === null ? null : loggedLabel(row.version),
        operation: row.operation,
        qtype: row.qtype,
        status: row.status,
        rcode: row.rcode,
        transport: row.transport as 'udp',
        durationMs: row.duration_ms,
        node: row.node,
      }));
    },
    async dropped(namespaceId) {
      const found = await query<{ total: number | null }>(
        first.read,
        `select sum(c.total) as total from query_log_counts as c join query_log_series as s on s.id = c.series_id
        where s.namespace_id = :namespaceId and s.status = 'dropped' and c.span = 3600000`,
        { namespaceId },
      );
      return found[0]?.total ?? 0;
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await database.drop();
    },
  };
}

for (const { name, create, skip } of ENGINES) {
  queryLogSuite(name, async () => storeLog(await create()), skip === false ? null : skip);
}
