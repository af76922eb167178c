import { AppError, invalid, malformed, namespaceSuspended, notFound } from '../../base/errors.ts';
import { TIERS } from '../../base/limits.ts';
import { type Actor, requireReach } from '../../http/actor.ts';
import { Faults, type JsonObject } from '../../protocol/input/fields.ts';
import { addToRecordsCount, lockCustomer } from '../../store/accounts.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import {
  addToNamespaceCount,
  findNamespacesByName,
  holdOpen,
  type NamespaceRow,
} from '../../store/namespaces.ts';
import {
  deleteRecords,
  findRecord,
  holdKnownRecords,
  holdRecord,
  insertRecord,
  type KnownRecord,
  type OwnRecordRow,
  type RecordsTable,
  updateRecord,
  upsertRecords,
} from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { HasClock, HasIds, HasStore, HasUnit, HasZoneLength } from '../deps.ts';
import {
  type BareRecord,
  type Bulk,
  type BulkResult,
  bareRecord,
  deletedChange,
  type NewRecord,
  parseBulk,
  parseNewRecord,
  parseRecordPatch,
  recordResource,
  recordTag,
  type ShownRecord,
  shownTo,
  upsertedChange,
} from './shapes.ts';

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
  deps: HasUnit & HasClock & HasIds & HasZoneLength,
  actor: Actor,
  body: JsonObject,
  { onlyIfNew = false }: CreateOptions = {},
): Promise<BareRecord> {
  const now = deps.clock();
  const record = parseNewRecord(body, { now, zoneLength: deps.zoneLength });
  return deps.unit(async (tx) => {
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
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  id: string,
  body: JsonObject,
  condition?: TagCondition,
): Promise<ShownRecord> {
  const { namespace } = await authorizeRecord(deps, actor, id);
  const now = deps.clock();
  const patch = parseRecordPatch(body, now);
  return deps.unit(async (tx) => {
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
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  id: string,
  condition?: TagCondition,
): Promise<void> {
  const { key, namespace } = await authorizeRecord(deps, actor, id);
  const owner = actor.customerId;
  const now = deps.clock();
  await deps.unit(async (tx) => {
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

function newRow(record: NewRecord, id: string, namespaceId: string, now: number): RecordsTable {
  const { namespace: _, ...columns } = record;
  return { id, namespace_id: namespaceId, ...columns, created_at: now, updated_at: now };
}

function recordCap(actor: Actor): number {
  return TIERS[actor.tier].records;
}

function recordQuotaExceeded(): AppError {
  return new AppError('quota_exceeded', 'Record limit of the account reached');
}

/**
 * Writes a batch completely or not at all: records are stored or replaced by key, keys under `delete` are deleted.
 * @throws AppError 422 for faults, unknown namespaces or a full account; 403 outside the allowlist or while suspended
 */
export async function writeBulk(
  deps: HasUnit & HasClock & HasIds & HasZoneLength,
  actor: Actor,
  body: JsonObject,
): Promise<BulkResult> {
  const now = deps.clock();
  const bulk = parseBulk(body, { now, zoneLength: deps.zoneLength });
  return deps.unit(async (tx) => {
    await lockCustomer(tx, actor.customerId);
    const namespaces = await resolveNamespaces(tx, actor, bulk);
    const keys = [...bulk.records, ...bulk.delete].map((item) => item.key);
    const known = await holdKnownRecords(tx, keys);
    const plan = planBulk(bulk, namespaces, known, deps.newId, now);

    const dropped = [...plan.expired, ...plan.deleted];
    const gone = new Set((await deleteRecords(tx, dropped.map(idOf))).map(idOf));
    await count(tx, actor, plan, gone);
    if (plan.rows.length > 0) await upsertRecords(tx, plan.rows);
    await appendChanges(tx, changesOf(plan, gone, actor.customerId), now);
    return {
      records: plan.rows.map(({ id, key }) => ({ id, key })),
      deleted: bulk.delete.map(({ key }) => plan.deleted.find((item) => item.key === key)?.id ?? null),
    };
  });
}

async function resolveNamespaces(
  tx: Tx,
  actor: Actor,
  bulk: Bulk,
): Promise<ReadonlyMap<string, NamespaceRow>> {
  const names = new Set([...bulk.records, ...bulk.delete].map((item) => item.namespace));
  const namespaces = await findNamespacesByName(tx, [...names], actor.customerId);
  const faults = new Faults();
  for (const [i, { namespace }] of bulk.records.entries()) {
    if (!namespaces.has(namespace)) faults.add(`records[${i}].key has a namespace that does not exist`);
  }
  if (faults.any) throw invalid(...faults.messages);
  for (const [name, { suspended }] of namespaces) {
    requireReach(actor, name);
    if (suspended === 1) throw namespaceSuspended();
  }
  return namespaces;
}

/** A deleted record and the name of its namespace. */
type Leaving = Pick<KnownRecord, 'id' | 'key'> & { readonly namespace: string };

interface Plan {
  /** In the order of the request. */
  readonly rows: readonly RecordsTable[];
  /** Namespace name of each row that replaces nothing. */
  readonly added: readonly string[];
  readonly deleted: readonly Leaving[];
  /** Expired and not yet deleted: their keys are free. */
  readonly expired: readonly Leaving[];
}

/** Decides for each key, without the database. */
function planBulk(
  bulk: Bulk,
  namespaces: ReadonlyMap<string, NamespaceRow>,
  known: ReadonlyMap<string, KnownRecord>,
  newId: () => string,
  now: number,
): Plan {
  const rows: RecordsTable[] = [];
  const added: string[] = [];
  const deleted: Leaving[] = [];
  const expired: Leaving[] = [];
  for (const item of bulk.records) {
    const old = known.get(item.key);
    const isExpired = old?.expires_at != null && old.expires_at <= now;
    if (isExpired) expired.push({ id: old.id, key: old.key, namespace: item.namespace });
    const replaced = isExpired ? undefined : old;
    if (replaced === undefined) added.push(item.namespace);
    const row = newRow(item, replaced?.id ?? newId(), namespaces.get(item.namespace)!.id, now);
    rows.push(
      replaced === undefined
        ? row
        : { ...row, created_at: replaced.created_at, updated_at: Math.max(now, replaced.updated_at + 1) },
    );
  }
  for (const { key, namespace } of bulk.delete) {
    const old = known.get(key);
    // A key in another customer's namespace counts as missing.
    if (old === undefined || !namespaces.has(namespace)) continue;
    const isExpired = old.expires_at !== null && old.expires_at <= now;
    (isExpired ? expired : deleted).push({ id: old.id, key, namespace });
  }
  return { rows, added, deleted, expired };
}

/** Updates the counts of customer and namespaces. @throws AppError 422 when the account is full */
async function count(tx: Tx, actor: Actor, plan: Plan, gone: ReadonlySet<string>): Promise<void> {
  const deltas = new Map<string, number>();
  const add = (name: string, by: number) => deltas.set(name, (deltas.get(name) ?? 0) + by);
  for (const name of plan.added) add(name, 1);
  for (const { id, namespace } of [...plan.expired, ...plan.deleted]) if (gone.has(id)) add(namespace, -1);
  const total = [...deltas.values()].reduce((sum, delta) => sum + delta, 0);
  if (total !== 0 && !(await addToRecordsCount(tx, actor.customerId, total, recordCap(actor)))) {
    throw recordQuotaExceeded();
  }
  for (const [name, delta] of [...deltas].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (delta !== 0) await addToNamespaceCount(tx, name, actor.customerId, delta);
  }
}

function changesOf(plan: Plan, gone: ReadonlySet<string>, owner: string): NewChange[] {
  const left = (items: readonly Leaving[], cause: NewChange['cause']) =>
    items
      .filter((item) => gone.has(item.id))
      .map(({ key, namespace }) => deletedChange(key, namespace, owner, cause));
  return [
    ...left(plan.expired, 'expiry'),
    ...plan.rows.map((row) => upsertedChange(row, namespaceOf(row.key), owner)),
    ...left(plan.deleted, 'direct'),
  ];
}

/** The last label but one. */
function namespaceOf(key: string): string {
  return key.split('.').at(-2)!;
}

const idOf = ({ id }: { readonly id: string }): string => id;
