import { loggedLabel, type QueryLogRow } from '../../../../src/feed/ports/query-log.ts';
import { openStore } from '../../../../src/store/open.ts';
import { queryLogSink } from '../../../../src/store/query-log/add-rows.ts';
import { usageSink } from '../../../../src/store/usage.ts';
import { queryLogRow } from '../../feed/ports/query-log-suite.ts';
import { findRows } from '../../store/rows.ts';

const HOUR = 3_600_000;
const RESOURCES = ['flags', 'greeting', 'temp', 'status', 'prices'] as const;
const TRANSPORTS = ['udp', 'udp', 'udp', 'tcp', 'dot'] as const;
const NODES = ['fra1', 'ams1'] as const;

/**
 * What nodes would have sent in the hours before: rows in each, more at noon than at midnight, and private reads. The server may run.
 * @param hours back from now
 */
export async function seedQueryLog(dataDir: string, hours: number): Promise<void> {
  const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
  try {
    const namespaces = await findRows(store.read, 'namespaces', { columns: ['id'], order: 'name' });
    const now = Date.now();
    for (let ago = hours; ago >= 0; ago--) {
      // Ends with the present: the last hour is not over.
      const at = now - ago * HOUR;
      const count = 40 + Math.round(30 * Math.sin((at / HOUR / 24) * 2 * Math.PI));
      const rows = namespaces.flatMap(({ id }, place) =>
        Array.from({ length: Math.ceil(count / (place + 1)) }, (_, i) => rowOf(id, at - i * 7_919, i)),
      );
      const node = NODES[ago % NODES.length]!;
      const batch = `seed-${ago}`;
      await queryLogSink(store, () => at).add({ node, batch, rows, dropped: [] });
      const counts = namespaces.map(({ id }, place) => ({
        namespaceId: id,
        hour: at - (at % HOUR),
        answers: Math.ceil(count / (place + 1)) * 20,
      }));
      await usageSink(store, () => at).add({ node, batch, counts });
    }
  } finally {
    await store.close();
  }
}

function rowOf(namespaceId: string, at: number, i: number): QueryLogRow {
  const row = { ...queryLogRow(namespaceId, at), transport: TRANSPORTS[i % TRANSPORTS.length]! };
  if (i % 11 === 0) return { ...row, status: 'refused', rcode: 5, resource: null, version: null };
  const resource = loggedLabel(RESOURCES[Math.floor(Math.sqrt(i)) % RESOURCES.length]!);
  const status = i % 7 === 0 ? 'miss' : i % 29 === 0 ? 'expired' : 'hit';
  return { ...row, status, resource, version: loggedLabel('v1'), durationMs: i % 13 === 0 ? 2 : 0 };
}
