import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../../../src/base/limits.ts';
import {
  LOGGED_TRANSPORTS,
  type LoggedLabel,
  loggedLabel,
  type QueryLogBatch,
  QueryLogFormatError,
  type QueryLogRow,
  type QueryLogSink,
} from '../../../../src/feed/ports/query-log.ts';
import { QUERY_STATUSES } from '../../../../src/protocol/query/outcome.ts';

export interface QueryLogWorld {
  /** Ids of two namespaces that have an owner. */
  readonly namespaceIds: readonly [string, string];
  /** Milliseconds since the epoch. Rows of the last 24 hours are kept. */
  readonly now: number;
  /** Opens the same log as another process would. */
  open(): Promise<QueryLogSink>;
  /** All rows with their node, in any order. */
  rows(): Promise<readonly (QueryLogRow & { readonly node: string })[]>;
  /** Rows of a namespace that nodes said they dropped. */
  dropped(namespaceId: string): Promise<number>;
  close(): Promise<void>;
}

function label(text: string): LoggedLabel {
  const made = loggedLabel(text);
  assert.ok(made !== null);
  return made;
}

export function queryLogRow(namespaceId: string, at: number, parts: Partial<QueryLogRow> = {}): QueryLogRow {
  return {
    at,
    namespaceId,
    resource: label('temp'),
    version: label('v1'),
    operation: 'get',
    qtype: 16,
    status: 'hit',
    rcode: 0,
    transport: 'udp',
    durationMs: 0,
    ...parts,
  };
}

function batchOf(
  batch: string,
  rows: readonly QueryLogRow[],
  node = 'node1',
  dropped: QueryLogBatch['dropped'] = [],
): QueryLogBatch {
  return { node, batch, rows, dropped };
}

/** What every QueryLogSink must do. */
export function queryLogSuite(
  name: string,
  create: () => Promise<QueryLogWorld>,
  skip: string | null = null,
): void {
  describe(`query log sink: ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (world: QueryLogWorld) => Promise<void>): void => {
      it(title, async () => {
        const world = await create();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };
    const expectRows = async (
      world: QueryLogWorld,
      ...expected: readonly (QueryLogRow & { readonly node: string })[]
    ): Promise<void> => {
      const text = (rows: readonly QueryLogRow[]): string[] =>
        rows.map((row) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))).sort();
      assert.deepEqual(text(await world.rows()), text(expected));
    };
    const from = (node: string, rows: readonly QueryLogRow[]) => rows.map((row) => ({ ...row, node }));

    scenario('every status and transport comes back whole, equal rows too', async (world) => {
      const { namespaceIds, now } = world;
      const [a, b] = namespaceIds;
      const sink = await world.open();
      const rows = QUERY_STATUSES.flatMap((status, at) =>
        LOGGED_TRANSPORTS.map((transport) => {
          const isAuthorised = status !== 'refused' && status !== 'error';
          return queryLogRow(at % 2 === 0 ? a : b, now - at, {
            status,
            transport,
            rcode: at,
            durationMs: at * 100,
            qtype: 65_535 - at,
            operation: status === 'error' ? 'manifest' : 'get',
            ...(isAuthorised ? {} : { resource: null, version: null }),
          });
        }),
      );
      await sink.add(batchOf('1', rows));
      await sink.add(batchOf('2', [rows[0]!, rows[0]!]));
      await sink.add(batchOf('1', [rows[1]!], 'node2'));
      await expectRows(world, ...from('node1', [...rows, rows[0]!, rows[0]!]), ...from('node2', [rows[1]!]));
    });

    scenario('a batch that comes again counts once, also at once and to another process', async (world) => {
      const [one, other] = [await world.open(), await world.open()];
      const rows = [
        queryLogRow(world.namespaceIds[0], world.now),
        queryLogRow(world.namespaceIds[1], world.now),
      ];
      const batch = { ...batchOf('1', rows), dropped: [{ namespaceId: world.namespaceIds[0], rows: 7 }] };
      await Promise.all([one, other, one, other].map((sink) => sink.add(batch)));
      await one.add(batch);
      await expectRows(world, ...from('node1', rows));
    });

    scenario('dropped rows count by namespace, once for each batch, without rows too', async (world) => {
      const [a, b] = world.namespaceIds;
      const sink = await world.open();
      const batch = (id: string, rows: number): QueryLogBatch => ({
        ...batchOf(id, []),
        dropped: [
          { namespaceId: a, rows },
          { namespaceId: 'unknown', rows: 1 },
        ],
      });
      await sink.add(batch('1', 1000));
      await sink.add(batch('1', 1000));
      await sink.add({ ...batch('2', 5), rows: [queryLogRow(b, world.now)] });
      await expectRows(world, ...from('node1', [queryLogRow(b, world.now)]));
      assert.deepEqual([await world.dropped(a), await world.dropped(b)], [1005, 0]);
    });

    scenario('the largest batch is added, and one row more adds nothing', async (world) => {
      const sink = await world.open();
      const row = queryLogRow(world.namespaceIds[0], world.now);
      const rows = new Array<QueryLogRow>(LIMITS.queryLogBatchRows).fill(row);
      await assert.rejects(sink.add(batchOf('1', [...rows, row])), QueryLogFormatError);
      await expectRows(world);
      // The refused batch did not use up its id.
      await sink.add(batchOf('1', rows));
      assert.equal((await world.rows()).length, rows.length);
    });

    scenario('out of bounds, the field is named and nothing is added', async (world) => {
      const sink = await world.open();
      const [id] = world.namespaceIds;
      const good = queryLogRow(id, world.now);
      const rowWith = (parts: object): QueryLogBatch =>
        batchOf('1', [good, { ...good, ...parts } as QueryLogRow]);
      const bad: readonly [string, QueryLogBatch][] = [
        ['node', batchOf('1', [good], '')],
        ['batch', batchOf('x'.repeat(65), [good])],
        ['dropped', { ...batchOf('1', [good]), dropped: [{ namespaceId: id, rows: 0 }] }],
        ['dropped', { ...batchOf('1', [good]), dropped: [{ namespaceId: id, rows: 1.5 }] }],
        ['dropped', { ...batchOf('1', [good]), dropped: new Array(2).fill({ namespaceId: id, rows: 1 }) }],
        [
          'dropped',
          batchOf(
            '1',
            [good],
            'node1',
            [...new Array(LIMITS.queryLogBatchRows + 1)].map((_, i) => ({ namespaceId: `n${i}`, rows: 1 })),
          ),
        ],
        ['namespaceId', { ...batchOf('1', [good]), dropped: [{ namespaceId: 'a name', rows: 1 }] }],
        ['at', rowWith({ at: 1.5 })],
        ['namespaceId', rowWith({ namespaceId: 'a name' })],
        ['resource', rowWith({ resource: 'two.labels' })],
        ['resource', rowWith({ resource: `auth-svcq${'a'.repeat(52)}` })],
        ['resource', rowWith({ resource: 'x'.repeat(64) })],
        ['resource', rowWith({ status: 'refused' })],
        ['version', rowWith({ version: null })],
        ['version', rowWith({ resource: null })],
        ['operation', rowWith({ operation: 'put' })],
        ['qtype', rowWith({ qtype: 65_536 })],
        ['status', rowWith({ status: 'ok' })],
        ['rcode', rowWith({ rcode: 4096 })],
        ['transport', rowWith({ transport: 'doh' })],
        ['durationMs', rowWith({ durationMs: LIMITS.queryLogDurationMs + 1 })],
        ['durationMs', rowWith({ durationMs: 0.5 })],
      ];
      for (const [field, batch] of bad) {
        await assert.rejects(
          sink.add(batch),
          (error) => error instanceof QueryLogFormatError && error.field === field,
          field,
        );
      }
      await expectRows(world);
      const largest = queryLogRow(id, world.now, {
        qtype: 65_535,
        rcode: 4095,
        durationMs: LIMITS.queryLogDurationMs,
        resource: label('x'.repeat(63)),
      });
      await sink.add(batchOf('1', [largest]));
      await expectRows(world, ...from('node1', [largest]));
    });
  });
}
