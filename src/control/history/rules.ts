/** What owners do with versions: read, restore, undo, erase. */
import { invalid, namespaceSuspended, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { parseRecordKey, RECORD_KEY_SCHEMA } from '../../protocol/names/record-key.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { findNamespace, holdOpen, lockNamespace, type NamespaceRow } from '../../store/namespaces.ts';
import {
  findRecord,
  type OwnRecordRow,
  type RecordsTable,
  readRecords,
  upsertRecords,
} from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import {
  eraseVersionsOf,
  findKeptVersion,
  type KeptVersion,
  listKeptVersions,
} from '../../store/versions.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasStore, HasUnit, HasZoneLength } from '../deps.ts';
import { authorizeNamespace, requireNotSuspended } from '../namespaces/rules.ts';
import { authorizeRecord, holdWritable, storeNew, type TagCondition } from '../records/rules.ts';
import { type BareRecord, bareRecord, type ShownRecord, shownTo, upsertedChange } from '../records/shapes.ts';
import { endedByWrite, type HasHistoryKeys, keepVersions, openVersions } from './keep.ts';
import {
  currentVersion,
  keptVersion,
  RESTORE,
  RESTORE_KEY,
  type VersionPage,
  type VersionResource,
  withData,
} from './shapes.ts';

const EXPIRED = 'version has expired';

/** @throws AppError 422 */
export function historyOf({ history_id }: Pick<NamespaceRow, 'history_id'>): number {
  if (history_id === null) throw invalid('this namespace keeps no history');
  return history_id;
}

/** Versions of a page. */
const PAGE_DEFAULT = 50;

export const VERSION_PARAMETERS = {
  limit: limitParameter('Versions', PAGE_DEFAULT, LIMITS.pageMax),
  cursor: { schema: CURSOR_SCHEMA, description: '`meta.next_cursor` of the page before' },
} as const;

export const KEY_PARAMETER = {
  key: { schema: RECORD_KEY_SCHEMA, description: 'The key, with or without a record', required: true },
} as const;

/** The versions of a record, newest first, beginning with its present value. @throws AppError 404; 403; 422; 400 */
export async function listRecordVersions(
  deps: HasStore & HasClock,
  actor: Actor,
  id: string,
  query: QueryParameters,
): Promise<VersionPage> {
  const record = await authorizeRecord(deps, actor, id);
  const parameters = readParameters(query, Object.keys(VERSION_PARAMETERS));
  const namespace = await namespaceOf(deps, actor, record);
  return pageOf(deps, historyOf(namespace), record.key, record, parameters);
}

/** As `listRecordVersions`, of a key that need not have a record. A key that never had one has no versions. */
export async function listKeyVersions(
  deps: HasStore & HasClock,
  actor: Actor,
  id: string,
  query: QueryParameters,
): Promise<VersionPage> {
  const namespace = await authorizeNamespace(deps, actor, id);
  const { key, ...page } = readParameters(query, [
    ...Object.keys(KEY_PARAMETER),
    ...Object.keys(VERSION_PARAMETERS),
  ]);
  const name = keyParameter(key);
  const history = historyOf(namespace);
  const record = (await readRecords(deps.store.read, [name])).get(name);
  const isLive = record?.namespace_id === id && !hasExpired(record, deps.clock());
  return pageOf(deps, history, name, isLive ? record : null, page);
}

async function pageOf(
  { store, clock }: HasStore & HasClock,
  history: number,
  key: string,
  record: RecordsTable | null,
  { limit: limitText, cursor }: Readonly<Record<string, string>>,
): Promise<VersionPage> {
  const limit = readLimit(limitText, PAGE_DEFAULT, LIMITS.pageMax);
  const listing = { history, key };
  const before = cursor === undefined ? null : Number(decodeListingCursor(cursor, listing)?.v);
  if (before !== null && !Number.isSafeInteger(before)) {
    throw badParameter('cursor', 'is not a cursor of this listing');
  }
  const isFirst = before === null;
  const present = isFirst && record !== null ? [currentVersion(record)] : [];
  // A write between the two reads may have kept the value that was read as the present one.
  const below = isFirst ? (record?.revision ?? Number.MAX_SAFE_INTEGER) : before;
  const rows = await listKeptVersions(store.read, history, key, below, limit + 1 - present.length);
  const all = [...present, ...rows.map((row) => keptVersion(row, clock()))];
  const versions = all.slice(0, limit);
  const last = all.length > limit ? versions.at(-1) : undefined;
  const next = last === undefined ? null : encodeListingCursor({ v: last.version }, listing);
  return { versions, meta: { limit, next_cursor: next, has_more: next !== null } };
}

/** One version with its data, and a row of the audit log. @throws AppError 401; 404; 403; 422 for an expired one, or without history */
export async function getVersion(
  deps: HasStore & HasUnit & HasClock & HasHistoryKeys,
  actor: Actor,
  id: string,
  version: number,
): Promise<VersionResource> {
  const record = await authorizeRecord(deps, actor, id);
  const found = await readVersion(deps, actor, record, version);
  const object = audited.record(record, record.namespace);
  await deps.unit(actor, (tx) => audit(tx, actor, deps.clock(), 'versions.read', object));
  return found;
}

async function readVersion(
  deps: HasStore & HasClock & HasHistoryKeys,
  actor: Actor,
  record: OwnRecordRow,
  version: number,
): Promise<VersionResource> {
  const namespace = await namespaceOf(deps, actor, record);
  const history = historyOf(namespace);
  if (version === record.revision) return withData(currentVersion(record), record.data);
  const row = await findKeptVersion(deps.store.read, history, record.key, version);
  if (row === null) throw notFound('Version');
  const open = await openVersions(deps.store.read, deps, namespace);
  const data = open && !hasExpired(row, deps.clock()) ? open(row) : null;
  if (data === null) throw invalid(EXPIRED);
  return withData(keptVersion(row, deps.clock()), data);
}

export type RestoreDeps = HasStore & HasUnit & HasClock & HasHistoryKeys;

/**
 * Writes the value of a version again: a new write, with all that follows one. The result has no `data`, because an idempotency key may keep it.
 * @throws AppError 404; 403; 412; 422 for an expired version, or without history
 */
export async function restoreRecord(
  deps: RestoreDeps,
  actor: Actor,
  id: string,
  body: JsonObject,
  condition?: TagCondition,
): Promise<BareRecord> {
  const { namespace } = await authorizeRecord(deps, actor, id);
  const { version } = RESTORE.parse(body, undefined);
  const now = deps.clock();
  return deps.unit(actor, async (tx) => {
    const home = await holdOpen(tx, namespace, actor.customerId);
    if (home === null) throw notFound('Record');
    const before = await holdWritable(tx, actor, id, now, condition);
    const history = historyOf(home);
    const value =
      version === before.revision
        ? before
        : await versionValue(tx, deps, home, history, before.key, version, now);
    const row: RecordsTable = {
      ...before,
      data: value.data,
      content_type: value.content_type,
      encoding: value.encoding,
      ttl_seconds: value.ttl_seconds,
      expires_at: value.expires_at,
      updated_at: Math.max(now, before.updated_at + 1),
      revision: before.revision + 1,
    };
    await upsertRecords(tx, [row]);
    const seq = await appendChanges(tx, [upsertedChange(row, namespace, actor.customerId)], now);
    await keepVersions(tx, deps, home, seq, { ended: [endedByWrite(before, row)], made: [] });
    const facts = { before: before.updated_at, after: row.updated_at, seq };
    await audit(tx, actor, now, 'record.restored', audited.record(row, namespace), facts);
    return bareRecord(row, namespace);
  });
}

/** The answer to a restore: with data for who may read, unless the record has been written again since. */
export async function shownAfter(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  record: BareRecord,
): Promise<ShownRecord> {
  const row = await findRecord(store.read, record.id, actor.customerId, clock());
  if (row === null || formatTime(row.updated_at) !== record.updated_at) return record;
  return shownTo(actor, row, row.namespace);
}

/** Makes a deleted record again. @throws AppError 404; 403; 422 also for a key that is taken, or a full account */
export async function restoreDeleted(
  deps: RestoreDeps & HasIds & HasZoneLength,
  actor: Actor,
  id: string,
  body: JsonObject,
): Promise<BareRecord> {
  const { name } = await authorizeNamespace(deps, actor, id);
  const { key: text, version } = RESTORE_KEY.parse(body, undefined);
  const key = parseRecordKey(text, deps.zoneLength);
  if (typeof key === 'string') throw invalid(key);
  if (key.namespace !== name) throw invalid('key is of another namespace');
  const now = deps.clock();
  return deps.unit(actor, async (tx) => {
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    requireNotSuspended(namespace);
    const value = await versionValue(tx, deps, namespace, historyOf(namespace), key.key, version, now);
    const { row, seq } = await storeNew(tx, deps, actor, { ...key, ...value }, now);
    const facts = { after: row.updated_at, seq };
    await audit(tx, actor, now, 'record.restored', audited.record(row, name), facts);
    return bareRecord(row, name);
  });
}

type Value = Pick<RecordsTable, 'content_type' | 'encoding' | 'ttl_seconds' | 'expires_at'> & {
  readonly data: Buffer;
};

/** @throws AppError 404, 422 */
async function versionValue(
  tx: Tx,
  deps: HasHistoryKeys,
  namespace: Pick<NamespaceRow, 'id' | 'history_id'>,
  history: number,
  key: string,
  version: number,
  now: number,
): Promise<Value> {
  const row = await findKeptVersion(tx, history, key, version);
  if (row === null) throw notFound('Version');
  const open = await openVersions(tx, deps, namespace);
  return valueIn(row, open, now);
}

/** @throws AppError 422 for a version past its expiry */
export function valueIn(
  row: KeptVersion,
  open: ((row: KeptVersion) => Buffer | null) | null,
  now: number,
): Value {
  const data = open === null || hasExpired(row, now) ? null : open(row);
  if (data === null) throw invalid(EXPIRED);
  const { content_type, encoding, ttl_seconds, expires_at } = row;
  return { data, content_type, encoding, ttl_seconds, expires_at };
}

/** Erases the versions of a record; its present value stays. @throws AppError 404; 403; 422 without history */
export async function eraseRecordVersions(
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  id: string,
): Promise<void> {
  const record = await authorizeRecord(deps, actor, id);
  if (record.suspended === 1) throw namespaceSuspended();
  await eraseIn(deps, actor, record.namespace_id, record.key);
}

/** As `eraseRecordVersions`, of a key that need not have a record. */
export async function eraseKeyVersions(
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  id: string,
  query: QueryParameters,
): Promise<void> {
  await authorizeNamespace(deps, actor, id);
  const { key } = readParameters(query, Object.keys(KEY_PARAMETER));
  await eraseIn(deps, actor, id, keyParameter(key));
}

async function eraseIn(
  { unit, clock }: HasUnit & HasClock,
  actor: Actor,
  id: string,
  key: string,
): Promise<void> {
  await unit(actor, async (tx) => {
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    requireNotSuspended(namespace);
    await eraseVersionsOf(tx, historyOf(namespace), key);
    await audit(tx, actor, clock(), 'versions.erased', audited.key(key, namespace.name));
  });
}

function keyParameter(text: string | undefined): string {
  if (text === undefined) throw badParameter('key', 'is required');
  // Under the shortest zone: a key that was stored fits it.
  const key = parseRecordKey(text, 1);
  if (typeof key === 'string') throw badParameter('key', key.replace(/^key /, ''));
  return key.key;
}

export function hasExpired({ expires_at }: { readonly expires_at: number | null }, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

async function namespaceOf(
  { store }: HasStore,
  { customerId }: Actor,
  { namespace_id }: OwnRecordRow,
): Promise<NamespaceRow> {
  const row = await findNamespace(store.read, namespace_id, customerId);
  if (row === null) throw notFound('Record');
  return row;
}
