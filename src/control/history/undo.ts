/** The undo of a write: what it replaced, deleted and made is as before, or nothing changes. */
import { invalid, malformed, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { lockNamespace } from '../../store/namespaces.ts';
import { holdKnownRecords, type KnownRecord, type RecordsTable } from '../../store/records.ts';
import { readFact } from '../../store/service-facts.ts';
import { type KeptVersion, lastOfKeys, rankOf, versionsOfWrite } from '../../store/versions.ts';
import type { HasIds } from '../deps.ts';
import { authorizeNamespace, requireNotSuspended } from '../namespaces/rules.ts';
import { auditBulk, carryOut, type WritePlan } from '../records/bulk.ts';
import { epochTag, type Positions } from '../unit.ts';
import { openVersions } from './keep.ts';
import { hasExpired, historyOf, type RestoreDeps, valueIn } from './rules.ts';
import { UNDO, type UndoResource } from './shapes.ts';

/**
 * Brings every record of a write in one namespace back to what it was before: a new write, all of it or nothing.
 * @throws AppError 404 for a write of which the history lacks anything; 403, also for a suspended namespace; 412 with the keys that changed since; 422
 */
export async function undoWrite(
  deps: RestoreDeps & HasIds & { readonly positions: Positions },
  actor: Actor,
  id: string,
  body: JsonObject,
): Promise<UndoResource> {
  const { name } = await authorizeNamespace(deps, actor, id);
  const { write } = UNDO.parse(body, undefined);
  const position = deps.positions.read(actor.customerId, write);
  if (position === null) throw invalid('write is not a value of X-Service-Seq of this account');
  const now = deps.clock();
  return deps.unit(actor, async (tx) => {
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    const history = historyOf(namespace);
    // In another store, such as a restored backup, the same number is another write.
    const isOurs = position.epoch === epochTag((await readFact(tx, 'epoch')) ?? '');
    const rows = isOurs ? await versionsOfWrite(tx, history, position.seq, LIMITS.bulkItems + 1) : [];
    if (rows.length === 0 || rows.length !== rows[0]!.write_rows) throw notFound('Version');
    // After the 404: a suspended namespace that the write did not touch must not stop an undo that asks all namespaces.
    requireNotSuspended(namespace);
    const keys = rows.map(({ key }) => key);
    const known = await holdKnownRecords(tx, keys);
    const last = await lastOfKeys(tx, history, keys);
    const changed = rows.filter((row) =>
      isChanged(row, liveOf(known, row, now), last.get(row.key)?.rank ?? 0),
    );
    if (changed.length > 0) {
      throw malformed(412, `changed after the write: ${changed.map(({ key }) => key).join(', ')}`);
    }
    const open = await openVersions(tx, deps, namespace);
    const plan = planUndo(rows, known, name, now, (row, live) => {
      const { content_type, encoding, ttl_seconds, expires_at, data } = valueIn(row, open, now);
      const labels = row.key.split('.');
      return {
        id: live?.id ?? deps.newId(),
        namespace_id: id,
        key: row.key,
        resource: labels.at(-3)!,
        version: labels.at(-1)!,
        data,
        content_type,
        encoding,
        ttl_seconds,
        expires_at,
        created_at: live?.created_at ?? now,
        updated_at: live === undefined ? now : Math.max(now, live.updated_at + 1),
        revision: (live?.revision ?? 0) + 1,
      };
    });
    if (plan.rows.length + plan.deleted.length > 0) {
      const written = await carryOut(tx, deps, actor, plan, new Map([[name, namespace]]), now);
      await auditBulk(tx, actor, 'record.undone', { plan, known, ...written }, now);
    }
    return {
      restored: plan.rows.map(({ id: recordId, key }) => ({ id: recordId, key })),
      deleted: plan.deleted.map(({ id: recordId, key }) => ({ id: recordId, key })),
    };
  });
}

function liveOf(known: ReadonlyMap<string, KnownRecord>, { key }: KeptVersion, now: number) {
  const record = known.get(key);
  return record === undefined || hasExpired(record, now) ? undefined : record;
}

/** An expiry is no write: what it took can still be undone. @param lastRank of the last row of the key */
function isChanged(row: KeptVersion, live: KnownRecord | undefined, lastRank: number): boolean {
  if (live === undefined) return lastRank > rankOf(row);
  return row.cause === 'delete' || live.revision !== row.version + 1;
}

function planUndo(
  rows: readonly KeptVersion[],
  known: ReadonlyMap<string, KnownRecord>,
  namespace: string,
  now: number,
  rowOfVersion: (row: KeptVersion, live: KnownRecord | undefined) => RecordsTable,
): WritePlan {
  const plan = {
    rows: [] as RecordsTable[],
    added: [] as string[],
    deleted: [] as Leaving[],
    expired: [] as Leaving[],
  };
  for (const row of rows) {
    const live = liveOf(known, row, now);
    const old = known.get(row.key);
    if (old !== undefined && live === undefined) plan.expired.push({ id: old.id, key: row.key, namespace });
    if (row.cause === 'create') {
      if (live !== undefined) plan.deleted.push({ id: live.id, key: row.key, namespace });
      continue;
    }
    if (live === undefined) plan.added.push(namespace);
    plan.rows.push(rowOfVersion(row, live));
  }
  return plan;
}

type Leaving = WritePlan['deleted'][number];
