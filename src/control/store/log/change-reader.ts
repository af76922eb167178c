import { sql } from 'kysely';
import type { Change, ChangeBody } from '../../../core/change.ts';
import type { Clock } from '../../../core/clock.ts';
import type { ChangeSource, LogBounds } from '../../../feed/change-source.ts';
import type { StoreSignals } from '../engine/signals.ts';
import type { Reader } from '../store.ts';
import { base64, changeOf } from './change-log.ts';

/** Rows of a page of the snapshot. */
const PAGE = 500;

/** The log and the tables as the follower sees them. */
export function changeSource(read: Reader, signals: StoreSignals, clock: Clock): ChangeSource {
  return {
    bounds: () => bounds(read),
    since: (seq, limit) => since(read, seq, limit),
    snapshot: () => snapshot(read, clock),
    onChange: (listener) => signals.onChange(listener),
  };
}

/** Epoch and both ends in one statement, so that they are of one moment. */
async function bounds(read: Reader): Promise<LogBounds> {
  const row = await read
    .selectFrom('feed_head')
    .where('id', '=', 1)
    .select((eb) => [
      'seq as head',
      eb.selectFrom('change_log').select(sql<number | null>`min(seq)`.as('low')).as('oldest'),
      eb.selectFrom('service_facts').select('value').where('name', '=', 'epoch').as('epoch'),
    ])
    .executeTakeFirstOrThrow();
  if (row.epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  return { epoch: row.epoch, oldest: row.oldest ?? row.head + 1, head: row.head };
}

async function since(read: Reader, seq: number, limit: number): Promise<readonly Change[]> {
  const rows = await read
    .selectFrom('change_log')
    .selectAll()
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(changeOf);
}

async function* snapshot(read: Reader, clock: Clock): AsyncIterable<readonly ChangeBody[]> {
  yield* pages((after) => namespaces(read, after));
  yield* pages((after) => tokens(read, after, clock()));
  yield* pages((after) => records(read, after));
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

async function namespaces(read: Reader, after: string): Promise<Item[]> {
  const rows = await read
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '>', after)
    .orderBy('id')
    .limit(PAGE)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    body: {
      type: 'namespace.upserted',
      namespace: row.name,
      id: row.id,
      publicRead: row.public_read === 1,
      suspended: row.suspended === 1 || row.closing === 1,
      recordsCount: row.records_count,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    },
  }));
}

async function tokens(read: Reader, after: string, now: number): Promise<Item[]> {
  const rows = await read
    .selectFrom('query_tokens as t')
    .innerJoin('namespaces as n', 'n.id', 't.namespace_id')
    .select(['t.id', 't.digest', 't.expires_at', 'n.name'])
    .where('t.id', '>', after)
    .where('t.revoked_at', 'is', null)
    .where('t.expires_at', '>', now)
    .orderBy('t.id')
    .limit(PAGE)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    body: { type: 'token.minted', namespace: row.name, digest: row.digest, expiresAt: row.expires_at },
  }));
}

async function records(read: Reader, after: string): Promise<Item[]> {
  const rows = await read
    .selectFrom('records as r')
    .innerJoin('namespaces as n', 'n.id', 'r.namespace_id')
    .select(['r.id', 'r.key', 'n.name', 'r.resource', 'r.version', 'r.data'])
    .select(['r.content_type', 'r.ttl_seconds', 'r.expires_at'])
    .where('r.id', '>', after)
    .orderBy('r.id')
    .limit(PAGE)
    .execute();
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
    },
  }));
}
