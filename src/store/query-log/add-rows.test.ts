import { ENGINES } from '../../../test/support/control/webhooks/dispatch-world.ts';
import { type QueryLogWorld, queryLogSuite } from '../../../test/support/feed/ports/query-log-suite.ts';
import { settle, type TestDatabase } from '../../../test/support/store/fixtures.ts';
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
      const row = await first.read
        .selectFrom('query_log_counts as c')
        .innerJoin('query_log_series as s', 's.id', 'c.series_id')
        .select((eb) => eb.fn.sum<number | null>('c.total').as('total'))
        .where('s.namespace_id', '=', namespaceId)
        .where('s.status', '=', 'dropped')
        .where('c.span', '=', 3_600_000)
        .executeTakeFirstOrThrow();
      return row.total ?? 0;
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
