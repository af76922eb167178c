import { AppError, invalid, malformed, namespaceSuspended, notFound } from '../../base/errors.ts';
import { TIERS } from '../../base/limits.ts';
import { type Actor, requireReach } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { addToRecordsCount } from '../../store/accounts.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import { addToNamespaceCount, holdHome } from '../../store/namespaces.ts';
import {
  deleteRecords,
  findRecord,
  holdKnownRecords,
  holdRecord,
  insertRecord,
  type OwnRecordRow,
  type RecordPatch,
  type RecordsTable,
  updateRecord,
} from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { eraseVersionsOf } from '../../store/versions.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasStore, HasUnit, HasZoneLength } from '../deps.ts';
import {
  endedByDeletion,
  endedByWrite,
  type HasHistoryKeys,
  keepVersions,
  nextRevisions,
} from '../history/keep.ts';
import {
  type BareRecord,
  bareRecord,
  deletedChange,
  type NewRecord,
  parseNewRecord,
  parseRecordPatch,
  recordResource,
  recordTag,
  requirePlain,
  type ShownRecord,
  shownTo,
  upsertedChange,
} from './shapes.ts';

const KEY_TAKEN = 'Key has already been taken';

// Units lock rows in one order, customer first, so that they cannot deadlock.

/** `If-Match`, on the entity tag of the stored record. */
export type TagCondition = (tag: string) => boolean;

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
  deps: HasUnit & HasClock & HasIds & HasZoneLength & HasHistoryKeys,
  actor: Actor,
  body: JsonObject,
  options: CreateOptions = {},
): Promise<BareRecord> {
  const now = deps.clock();
  const record = parseNewRecord(body, { now, zoneLength: deps.zoneLength });
  return deps.unit(actor, async (tx) => {
    const { row, seq } = await storeNew(tx, deps, actor, record, now, options);
    const object = audited.record(row, record.namespace);
    await audit(tx, actor, now, 'record.created', object, { after: row.updated_at, seq });
    return bareRecord(row, record.namespace);
  });
}

/** As `createRecord`, in a unit of the caller's. @returns also the last change of the unit */
export async function storeNew(
  tx: Tx,
  deps: HasIds & HasHistoryKeys,
  actor: Actor,
  record: NewRecord,
  now: number,
  { onlyIfNew = false }: CreateOptions = {},
): Promise<{ readonly row: RecordsTable; readonly seq: number }> {
  const owner = actor.customerId;
  await countRecords(tx, actor, 1);
  const namespace = await addToNamespaceCount(tx, record.namespace, owner, 1);
  if (namespace === null) throw invalid('key has a namespace that does not exist');
  requireReach(actor, record.namespace);
  if (namespace.suspended === 1) throw namespaceSuspended();
  const revisionOf = await nextRevisions(tx, namespace, [record.key]);
  const row = newRow(record, deps.newId(), namespace.id, now, revisionOf(record.key));
  const changes: NewChange[] = [];
  if (!(await insertRecord(tx, row))) {
    const replaced = await replaceExpired(tx, actor, row, record.namespace, now);
    if (replaced === null) throw onlyIfNew ? malformed(412, KEY_TAKEN) : invalid(KEY_TAKEN);
    changes.push(...replaced);
  }
  changes.push(upsertedChange(row, record.namespace, owner));
  const seq = await appendChanges(tx, changes, now);
  await keepVersions(tx, deps, namespace, seq, { ended: [], made: [row] });
  return { row, seq };
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
export async function getRecord(deps: HasStore & HasClock, actor: Actor, id: string) {
  const row = await authorizeRecord(deps, actor, id);
  return recordResource(row, row.namespace);
}

/**
 * Changes the given fields and increases `updated_at`.
 * @param condition checked under the lock of the record
 * @throws AppError 404; 403 outside the allowlist or while suspended; 422; 412
 */
export async function patchRecord(
  deps: HasStore & HasUnit & HasClock & HasHistoryKeys,
  actor: Actor,
  id: string,
  body: JsonObject,
  condition?: TagCondition,
): Promise<ShownRecord> {
  const now = deps.clock();
  let patch: RecordPatch;
  try {
    patch = parseRecordPatch(body, now);
  } catch (fault) {
    // Whether there is such a record is told before what is wrong with its patch.
    await authorizeRecord(deps, actor, id);
    throw fault;
  }
  return deps.unit(actor, async (tx) => {
    // A namespace that is being deleted takes no payload.
    const home = await holdHome(tx, id, actor.customerId, now);
    if (home === null) throw notFound('Record');
    const { name: namespace } = home;
    requireReach(actor, namespace);
    const before = await holdWritable(tx, actor, id, now, condition);
    requirePlain({ ...before, ...patch });
    const row = await updateRecord(tx, id, patch, now);
    if (row === null) throw notFound('Record');
    const seq = await appendChanges(tx, [upsertedChange(row, namespace, actor.customerId)], now);
    await keepVersions(tx, deps, home, seq, { ended: [endedByWrite(before, row)], made: [] });
    const facts = { before: before.updated_at, after: row.updated_at, seq };
    await audit(tx, actor, now, 'record.changed', audited.record(row, namespace), facts);
    return shownTo(actor, row, namespace);
  });
}

interface DeleteOptions {
  readonly condition?: TagCondition | undefined;
  /** With all its versions, and none is made of it. */
  readonly erase?: boolean;
}

/** Deletes a record. The change log keeps its payload until the fan-out has read it. Throws as `patchRecord`, without 422 */
export async function deleteRecord(
  deps: HasStore & HasUnit & HasClock & HasHistoryKeys,
  actor: Actor,
  id: string,
  { condition, erase = false }: DeleteOptions = {},
): Promise<void> {
  const { key, namespace } = await authorizeRecord(deps, actor, id);
  const owner = actor.customerId;
  const now = deps.clock();
  await deps.unit(actor, async (tx) => {
    await addToRecordsCount(tx, owner, -1, 0);
    const home = await addToNamespaceCount(tx, namespace, owner, -1);
    if (home === null) throw notFound('Record');
    const before = await holdWritable(tx, actor, id, now, condition);
    if ((await deleteRecords(tx, [id])).length === 0) throw notFound('Record');
    const seq = await appendChanges(tx, [deletedChange(key, namespace, owner, 'direct')], now);
    const ended = endedByDeletion(before, now);
    if (!erase) await keepVersions(tx, deps, home, seq, { ended: [ended], made: [] });
    else if (home.history_id !== null) await eraseVersionsOf(tx, home.history_id, key, ended.until);
    const facts = { before: before.updated_at, seq };
    await audit(tx, actor, now, 'record.deleted', audited.record(before, namespace), facts);
  });
}

/** Locks a record until the unit ends: nothing changes between condition and write. @throws AppError 404, 403, 412 */
export async function holdWritable(
  tx: Tx,
  { customerId }: Actor,
  id: string,
  now: number,
  condition: TagCondition | undefined,
): Promise<OwnRecordRow> {
  const row = await holdRecord(tx, id, customerId, now);
  if (row === null) throw notFound('Record');
  if (row.suspended === 1) throw namespaceSuspended();
  if (condition !== undefined && !condition(recordTag(row.updated_at))) {
    throw malformed(412, 'If-Match does not match the record');
  }
  return row;
}

/** @throws AppError 404, or 403 for a namespace outside the key's allowlist */
export async function authorizeRecord(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  id: string,
): Promise<OwnRecordRow> {
  const row = await findRecord(store.read, id, actor.customerId, clock());
  if (row === null) throw notFound('Record');
  requireReach(actor, row.namespace);
  return row;
}

export function newRow(
  record: NewRecord,
  id: string,
  namespaceId: string,
  now: number,
  revision: number,
): RecordsTable {
  const { namespace: _, ...columns } = record;
  return { id, namespace_id: namespaceId, ...columns, created_at: now, updated_at: now, revision };
}

/** Counts what a unit adds or deletes. @throws AppError 422 when the account is full */
export async function countRecords(tx: Tx, actor: Actor, delta: number): Promise<void> {
  const { customerId, tier } = actor;
  if (await addToRecordsCount(tx, customerId, delta, TIERS[tier].records)) return;
  throw new AppError('quota_exceeded', 'Record limit of the account reached');
}
