import { AppError, invalid, malformed, namespaceSuspended, notFound } from '../../base/errors.ts';
import { TIERS } from '../../base/tiers.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import {
  deleteRecords,
  findRecord,
  holdKnownRecords,
  holdRecord,
  insertRecord,
  type OwnRecordRow,
  updateRecord,
} from '../../store/records/records.ts';
import type { RecordsTable } from '../../store/schema.ts';
import type { Tx } from '../../store/store.ts';
import { addToRecordsCount } from '../../store/tables/customers.ts';
import { addToNamespaceCount, holdOpen } from '../../store/tables/namespaces.ts';
import { type Actor, requireReach } from '../accounts/actor.ts';
import type { HasClock, HasIds, HasStore, HasZoneLength } from '../accounts/deps.ts';
import { type NewRecord, parseNewRecord, parseRecordPatch } from './input.ts';
import {
  type BareRecord,
  bareRecord,
  deletedChange,
  type RecordResource,
  recordResource,
  recordTag,
  type ShownRecord,
  shownTo,
  upsertedChange,
} from './record.ts';

const KEY_TAKEN = 'Key has already been taken';

// Units lock rows in one order, customer first, so that they cannot deadlock.

/** `If-Match`, on the entity tag of the stored record. */
type TagCondition = (tag: string) => boolean;

interface CreateOptions {
  /** `If-None-Match: *`: a taken key is a failed precondition (412). */
  readonly onlyIfNew?: boolean;
}

/**
 * Stores a record. The result has no `data`, because an idempotency key may keep it longer than the record.
 * @throws AppError 422 for faults, an unknown namespace, a taken key or a full account; 403 outside the allowlist or
 *   while suspended; 412 for a taken key with `onlyIfNew`
 */
export async function createRecord(
  deps: HasStore & HasClock & HasIds & HasZoneLength,
  actor: Actor,
  body: JsonObject,
  { onlyIfNew = false }: CreateOptions = {},
): Promise<BareRecord> {
  const now = deps.clock();
  const record = parseNewRecord(body, { now, zoneLength: deps.zoneLength });
  return deps.store.write(async (tx) => {
    const owner = actor.customerId;
    if (!(await addToRecordsCount(tx, owner, 1, recordCap(actor)))) throw recordQuotaExceeded();
    const namespace = await addToNamespaceCount(tx, record.namespace, owner, 1);
    if (namespace === null) throw invalid('key has a namespace that does not exist');
    requireReach(actor, record.namespace);
    if (namespace.suspended === 1) throw namespaceSuspended();
    const row = newRow(record, deps.newId(), namespace.id, now);
    const changes: NewChange[] = [];
    if (!(await insertRecord(tx, row))) {
      const replaced = await replaceExpired(tx, actor, row, record.namespace, now);
      if (replaced === null) throw onlyIfNew ? malformed(412, KEY_TAKEN) : invalid(KEY_TAKEN);
      changes.push(...replaced);
    }
    changes.push(upsertedChange(row, record.namespace, owner));
    await appendChanges(tx, changes, now);
    return bareRecord(row, record.namespace);
  });
}

/** Replaces an expired record, because its key is free. @returns null when the key is taken */
async function replaceExpired(
  tx: Tx,
  { customerId }: Actor,
  row: RecordsTable,
  namespace: string,
  now: number,
): Promise<readonly NewChange[] | null> {
  const known = (await holdKnownRecords(tx, [row.key])).get(row.key);
  const expired = known?.expires_at != null && known.expires_at <= now;
  const gone = expired ? await deleteRecords(tx, [known.id]) : [];
  if (gone.length > 0) {
    await addToRecordsCount(tx, customerId, -1, 0);
    await addToNamespaceCount(tx, namespace, customerId, -1);
  }
  if (!(await insertRecord(tx, row))) return null;
  return gone.map(({ key }) => deletedChange(key, namespace, customerId, 'expiry'));
}

/** @throws AppError 404, or 403 for a namespace outside the key's allowlist */
export async function getRecord(
  deps: HasStore & HasClock,
  actor: Actor,
  id: string,
): Promise<RecordResource> {
  const row = await authorizeRecord(deps, actor, id);
  return recordResource(row, row.namespace);
}

/**
 * Changes the given fields and increases `updated_at`.
 * @param condition checked under the lock of the record
 * @throws AppError 404; 403 outside the allowlist or while suspended; 422; 412
 */
export async function patchRecord(
  deps: HasStore & HasClock,
  actor: Actor,
  id: string,
  body: JsonObject,
  condition?: TagCondition,
): Promise<ShownRecord> {
  const { namespace } = await authorizeRecord(deps, actor, id);
  const now = deps.clock();
  const patch = parseRecordPatch(body, now);
  return deps.store.write(async (tx) => {
    // A namespace that is being deleted takes no payload.
    if (!(await holdOpen(tx, namespace, actor.customerId))) throw notFound('Record');
    await holdWritable(tx, actor, id, now, condition);
    const row = await updateRecord(tx, id, patch, now);
    if (row === null) throw notFound('Record');
    await appendChanges(tx, [upsertedChange(row, namespace, actor.customerId)], now);
    return shownTo(actor, row, namespace);
  });
}

/** Deletes a record. The change log keeps its payload until the fan-out has read it. Throws as `patchRecord`, without 422 */
export async function deleteRecord(
  deps: HasStore & HasClock,
  actor: Actor,
  id: string,
  condition?: TagCondition,
): Promise<void> {
  const { key, namespace } = await authorizeRecord(deps, actor, id);
  const owner = actor.customerId;
  const now = deps.clock();
  await deps.store.write(async (tx) => {
    await addToRecordsCount(tx, owner, -1, 0);
    if ((await addToNamespaceCount(tx, namespace, owner, -1)) === null) throw notFound('Record');
    await holdWritable(tx, actor, id, now, condition);
    if ((await deleteRecords(tx, [id])).length === 0) throw notFound('Record');
    await appendChanges(tx, [deletedChange(key, namespace, owner, 'direct')], now);
  });
}

/** Locks a record until the unit ends: nothing changes between condition and write. */
async function holdWritable(
  tx: Tx,
  { customerId }: Actor,
  id: string,
  now: number,
  condition: TagCondition | undefined,
): Promise<void> {
  const row = await holdRecord(tx, id, customerId, now);
  if (row === null) throw notFound('Record');
  if (row.suspended === 1) throw namespaceSuspended();
  if (condition !== undefined && !condition(recordTag(row.updated_at))) {
    throw malformed(412, 'If-Match does not match the record');
  }
}

async function authorizeRecord(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  id: string,
): Promise<OwnRecordRow> {
  const row = await findRecord(store.read, id, actor.customerId, clock());
  if (row === null) throw notFound('Record');
  requireReach(actor, row.namespace);
  return row;
}

export function newRow(record: NewRecord, id: string, namespaceId: string, now: number): RecordsTable {
  return {
    id,
    namespace_id: namespaceId,
    key: record.key,
    resource: record.resource,
    version: record.version,
    data: record.data,
    content_type: record.contentType,
    ttl_seconds: record.ttlSeconds,
    expires_at: record.expiresAt,
    created_at: now,
    updated_at: now,
  };
}

export function recordCap(actor: Actor): number {
  return TIERS[actor.tier].records;
}

export function recordQuotaExceeded(): AppError {
  return new AppError('quota_exceeded', 'Record limit of the account reached');
}
