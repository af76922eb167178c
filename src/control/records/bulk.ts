/** Up to 500 upserts and deletions by key, all or nothing. */
import { invalid, malformed, namespaceSuspended } from '../../base/errors.ts';
import { type Actor, requireReach } from '../../http/actor.ts';
import { Faults, type JsonObject } from '../../protocol/input/fields.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import { addToNamespaceCount, holdNamespacesByName, type NamespaceRow } from '../../store/namespaces.ts';
import {
  deleteRecords,
  holdKnownRecords,
  type KnownRecord,
  type RecordsTable,
  readRecords,
  upsertRecords,
} from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasUnit, HasZoneLength } from '../deps.ts';
import {
  endedByDeletion,
  endedByWrite,
  type HasHistoryKeys,
  keepVersions,
  nextRevisions,
} from '../history/keep.ts';
import { type Bulk, type BulkResult, parseBulk } from './bulk-shapes.ts';
import { countRecords, newRow } from './rules.ts';
import { deletedChange, upsertedChange } from './shapes.ts';

/**
 * Writes a batch completely or not at all: records are stored or replaced by key, keys under `delete` are deleted.
 * @throws AppError 422 for faults, unknown namespaces or a full account; 403 outside the allowlist or
 *   while suspended; 412 for a condition
 */
export async function writeBulk(
  deps: HasUnit & HasClock & HasIds & HasZoneLength & HasHistoryKeys,
  actor: Actor,
  body: JsonObject,
): Promise<BulkResult> {
  const now = deps.clock();
  const bulk = parseBulk(body, { now, zoneLength: deps.zoneLength });
  return deps.unit(actor, async (tx) => {
    const namespaces = await resolveNamespaces(tx, actor, bulk);
    const keys = [...bulk.records, ...bulk.delete].map((item) => item.key);
    const known = await holdKnownRecords(tx, keys);
    requireUnchanged(bulk, namespaces, known, now);
    const plan = planBulk(bulk, namespaces, known, deps.newId, now);
    const written = await carryOut(tx, deps, actor, plan, namespaces, now);
    await auditBulk(tx, actor, 'record.bulk', { plan, known, ...written }, now);
    return {
      records: plan.rows.map(({ id, key }) => ({ id, key })),
      deleted: bulk.delete.map(({ key }) => plan.deleted.find((item) => item.key === key)?.id ?? null),
    };
  });
}

/** @throws AppError 412 naming the first item whose condition does not hold */
function requireUnchanged(
  bulk: Bulk,
  namespaces: ReadonlyMap<string, NamespaceRow>,
  known: ReadonlyMap<string, KnownRecord>,
  now: number,
): void {
  for (const list of ['records', 'delete'] as const) {
    for (const [i, { key, namespace, ifUpdatedAt }] of bulk[list].entries()) {
      if (ifUpdatedAt === undefined) continue;
      // A key in another customer's namespace counts as missing, and so does one that has expired.
      const old = namespaces.has(namespace) ? known.get(key) : undefined;
      const isExpired = old?.expires_at != null && old.expires_at <= now;
      const updatedAt = old === undefined || isExpired ? null : old.updated_at;
      if (updatedAt !== ifUpdatedAt) throw malformed(412, `${list}[${i}] has changed`);
    }
  }
}

/** What `carryOut` did. */
interface Written {
  /** Records stored and deleted; those that had expired do not count. */
  readonly count: number;
  /** Of the last change. */
  readonly seq: number;
}

interface BulkFacts extends Written {
  readonly plan: WritePlan;
  readonly known: ReadonlyMap<string, KnownRecord>;
}

/** One row for all records of a unit. That of a single one names it. */
export async function auditBulk(
  tx: Tx,
  actor: Actor,
  action: 'record.bulk' | 'record.undone',
  { plan, known, count: items, seq }: BulkFacts,
  now: number,
): Promise<void> {
  if (items === 0) return;
  const all = [...plan.rows, ...plan.deleted];
  const [first, second] = new Set(all.map(({ key }) => namespaceOf(key)));
  const namespace = second === undefined ? (first ?? null) : null;
  const [record] = all.length === 1 ? all : [];
  const before = record && known.get(record.key);
  const object = audited.records(items, namespace, record);
  await audit(tx, actor, now, action, object, {
    // A record that had expired has another id.
    ...(before !== undefined && before.id === record?.id && { before: before.updated_at }),
    ...(record !== undefined && plan.rows[0] !== undefined && { after: plan.rows[0].updated_at }),
    seq,
  });
}

/** Does what a plan says, in a unit that holds the customer. @throws AppError 422 for a full account */
export async function carryOut(
  tx: Tx,
  deps: HasHistoryKeys,
  actor: Actor,
  plan: WritePlan,
  namespaces: ReadonlyMap<string, NamespaceRow>,
  now: number,
): Promise<Written> {
  const keeping = [...namespaces].filter(([, { history_id }]) => history_id !== null);
  const before = await readRecords(
    tx,
    keeping.flatMap(([name]) =>
      [...plan.rows, ...plan.deleted].flatMap(({ key }) => (namespaceOf(key) === name ? [key] : [])),
    ),
  );
  const isMade = ({ key, id }: RecordsTable): boolean => before.get(key)?.id !== id;
  const parts = keeping.map(([name, namespace]) => ({
    namespace,
    rows: plan.rows.filter(({ key }) => namespaceOf(key) === name),
    deleted: plan.deleted.filter((item) => item.namespace === name),
  }));
  for (const { namespace, rows } of parts) {
    const made = rows.filter(isMade);
    const revisionOf = await nextRevisions(
      tx,
      namespace,
      made.map(({ key }) => key),
    );
    for (const row of made) row.revision = revisionOf(row.key);
  }

  const dropped = [...plan.expired, ...plan.deleted];
  const gone = new Set((await deleteRecords(tx, dropped.map(idOf))).map(idOf));
  await count(tx, actor, plan, gone);
  if (plan.rows.length > 0) await upsertRecords(tx, plan.rows);
  const seq = await appendChanges(tx, changesOf(plan, gone, actor.customerId), now);

  for (const { namespace, rows, deleted } of parts) {
    const replaced = rows.filter((row) => !isMade(row));
    const leaving = deleted.filter(({ id }) => gone.has(id));
    await keepVersions(tx, deps, namespace, seq, {
      ended: [
        ...replaced.map((row) => endedByWrite(before.get(row.key)!, row)),
        ...leaving.map(({ key }) => endedByDeletion(before.get(key)!, now)),
      ],
      made: rows.filter(isMade),
    });
  }
  return { count: plan.rows.length + plan.deleted.filter(({ id }) => gone.has(id)).length, seq };
}

async function resolveNamespaces(
  tx: Tx,
  actor: Actor,
  bulk: Bulk,
): Promise<ReadonlyMap<string, NamespaceRow>> {
  const names = new Set([...bulk.records, ...bulk.delete].map((item) => item.namespace));
  const namespaces = await holdNamespacesByName(tx, [...names], actor.customerId);
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

/** What a unit writes and deletes. */
export interface WritePlan {
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
): WritePlan {
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
    const row = newRow(item, replaced?.id ?? newId(), namespaces.get(item.namespace)!.id, now, 1);
    rows.push(
      replaced === undefined
        ? row
        : {
            ...row,
            created_at: replaced.created_at,
            updated_at: Math.max(now, replaced.updated_at + 1),
            revision: replaced.revision + 1,
          },
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
async function count(tx: Tx, actor: Actor, plan: WritePlan, gone: ReadonlySet<string>): Promise<void> {
  const deltas = new Map<string, number>();
  const add = (name: string, by: number) => deltas.set(name, (deltas.get(name) ?? 0) + by);
  for (const name of plan.added) add(name, 1);
  for (const { id, namespace } of [...plan.expired, ...plan.deleted]) if (gone.has(id)) add(namespace, -1);
  const total = [...deltas.values()].reduce((sum, delta) => sum + delta, 0);
  if (total !== 0) await countRecords(tx, actor, total);
  for (const [name, delta] of [...deltas].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (delta !== 0) await addToNamespaceCount(tx, name, actor.customerId, delta);
  }
}

function changesOf(plan: WritePlan, gone: ReadonlySet<string>, owner: string): NewChange[] {
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
