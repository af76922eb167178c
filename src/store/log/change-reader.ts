import type { Clock } from '../../base/time.ts';
import type { ChangeSource, LogBounds, Snapshot } from '../../feed/ports/change-source.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { decodeChange } from '../../protocol/changes/change-codec.ts';
import { asOfNow, datasetPages, dependsOnTables } from '../dataset-changes.ts';
import { listVersions } from '../datasets.ts';
import type { StoreSignals } from '../engine/signals.ts';
import { statement } from '../engine/statement.ts';
import type { NamespaceRow } from '../namespaces.ts';
import { endedBy, type QueryTokenRow } from '../query-tokens.ts';
import type { RecordsTable } from '../records.ts';
import type { Db } from '../store.ts';
import { base64, type ChangeLogTable } from './change-log.ts';
import type { RecentChanges } from './recent-changes.ts';

/** Rows of a page of the snapshot. */
const PAGE = 500;

/**
 * The log and the tables as the follower sees them.
 * @param recent changes of this process that need not be read again
 */
export function changeSource(
  read: Db,
  signals: StoreSignals,
  clock: Clock,
  recent: Pick<RecentChanges, 'take'> | null = null,
): ChangeSource {
  let heardAt: number | null = null;
  /** Every answer of the database is current at the moment when it comes. */
  const heard = <T>(answer: T): T => {
    heardAt = clock();
    return answer;
  };
  return {
    async bounds() {
      const found = heard(await bounds(read));
      signals.found(found.head);
      return found;
    },
    async since(epoch, seq, limit) {
      const taken = recent?.take(epoch, seq, limit, signals.lastSeq) ?? null;
      if (taken === null) return heard(await since(read, { epoch, seq, limit }));
      heardAt = Math.max(heardAt ?? 0, taken.at);
      return taken.changes;
    },
    async openSnapshot(): Promise<Snapshot> {
      // First: what changes while the pages are read comes after this head in the log.
      const { epoch, head } = heard(await bounds(read));
      const importing = (await listVersions(read, ['importing'])).map(({ id }) => id);
      const pages = snapshotPages(read, clock, heard, importing);
      return { epoch, seq: head, pages, end: async () => heard(await bounds(read)) };
    },
    onChange: (listener) => signals.onChange(listener),
    heardAt: () => heardAt,
  };
}

const BOUNDS = statement<object, { head: number; oldest: number | null; epoch: string | null }>(
  `select seq as head, (select min(seq) from change_log) as oldest,
    (select value from service_facts where name = 'epoch') as epoch
  from feed_head where id = 1`,
);

/** Epoch and both ends in one statement, so that they are of one moment. */
async function bounds(read: Db): Promise<LogBounds> {
  const row = await BOUNDS.first(read, {});
  if (row === null) throw new Error('the database has lost its sequence number (table feed_head)');
  if (row.epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  return { epoch: row.epoch, oldest: row.oldest ?? row.head + 1, head: row.head };
}

interface Part {
  readonly epoch: string;
  readonly seq: number;
  readonly limit: number;
}

/** The epoch in the same statement: a log that was set back meanwhile gives its own changes the same numbers. */
const SINCE = statement<Part, ChangeLogTable>(
  `select * from change_log where seq > :seq and :epoch = (select value from service_facts where name = 'epoch')
  order by seq limit :limit`,
);

async function since(read: Db, part: Part): Promise<readonly Change[]> {
  const rows = await SINCE.all(read, part);
  return rows.some(dependsOnTables) ? asOfNow(read, rows) : rows.map(decodeChange);
}

/** @param heard is called with each page that the database gave @param importing ids of versions whose items may be before the head, and their publication after it */
async function* snapshotPages(
  read: Db,
  clock: Clock,
  heard: <T>(page: T) => T,
  importing: readonly string[],
): AsyncIterable<readonly ChangeBody[]> {
  yield* pages(async (after) => heard(await namespaces(read, after)));
  yield* pages(async (after) => heard(await tokens(read, after, clock())));
  yield* pages(async (after) => heard(await records(read, after)));
  for await (const page of datasetPages(read, importing)) yield heard(page);
}

interface Item {
  readonly id: string;
  readonly body: ChangeBody;
}

/** Walks a table in order of id. A row made meanwhile behind the walk is missed here and found in the log. */
async function* pages(page: (after: string) => Promise<Item[]>): AsyncIterable<readonly ChangeBody[]> {
  for (let after = ''; ; ) {
    const items = await page(after);
    const last = items.at(-1);
    if (last === undefined) return;
    yield items.map((item) => item.body);
    if (items.length < PAGE) return;
    after = last.id;
  }
}

const NAMESPACES = statement<{ after: string }, NamespaceRow>(
  `select * from namespaces where id > :after order by id limit ${PAGE}`,
);

async function namespaces(read: Db, after: string): Promise<Item[]> {
  const rows = await NAMESPACES.all(read, { after });
  return rows.map((row) => ({
    id: row.id,
    body: {
      type: 'namespace.upserted',
      namespace: row.name,
      id: row.id,
      publicRead: row.public_read === 1,
      suspended: row.suspended === 1 || row.closing === 1,
      maxTtl: row.max_ttl,
      recordsCount: row.records_count,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    },
  }));
}

const TOKENS = statement<
  { after: string; ended: number },
  Pick<QueryTokenRow, 'id' | 'digest' | 'expires_at'> & { name: string }
>(
  `select t.id, t.digest, t.expires_at, n.name from query_tokens as t join namespaces as n on n.id = t.namespace_id
  where t.id > :after and t.revoked_at is null and t.expires_at > :ended and n.closing = 0 order by t.id limit ${PAGE}`,
);

async function tokens(read: Db, after: string, now: number): Promise<Item[]> {
  const rows = await TOKENS.all(read, { after, ended: endedBy(now) });
  return rows.map((row) => ({
    id: row.id,
    body: { type: 'token.minted', namespace: row.name, digest: row.digest, expiresAt: row.expires_at },
  }));
}

const RECORDS = statement<{ after: string }, RecordsTable & { name: string }>(
  `select r.*, n.name from records as r join namespaces as n on n.id = r.namespace_id
  where r.id > :after order by r.id limit ${PAGE}`,
);

async function records(read: Db, after: string): Promise<Item[]> {
  const rows = await RECORDS.all(read, { after });
  return rows.map((row) => ({
    id: row.id,
    body: {
      type: 'record.upserted',
      key: row.key,
      namespace: row.name,
      resource: row.resource,
      version: row.version,
      data: base64(row.data),
      contentType: row.content_type,
      ttlSeconds: row.ttl_seconds,
      expiresAt: row.expires_at,
      ...(row.encoding !== null && { encoding: row.encoding }),
    },
  }));
}
