/** A namespace as it was at an earlier time. */
import { invalid, notFound } from '../../base/errors.ts';
import { formatTime, formatTimeOrNull, NOT_A_TIME, parseTime } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import { badParameter } from '../../protocol/input/query-parameters.ts';
import { base64 } from '../../store/log/change-log.ts';
import { findNamespacesByName, type NamespaceRow } from '../../store/namespaces.ts';
import type { RecordPosition } from '../../store/record-listing.ts';
import { findHistory, goneRecords, type KeptVersion, versionsAt } from '../../store/versions.ts';
import { writeAs } from '../accounts/membership.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { type ExportedRecord, exportedRecord, streamRecords } from '../records/listing.ts';
import { encodingOf, type RecordResource } from '../records/shapes.ts';
import { type HasHistoryKeys, openVersions } from './keep.ts';
import { historyOf } from './rules.ts';

/** Lines of one batch: with full records it is as long as a batch of another listing. */
const BATCH = 16;

/**
 * Writes that the records of the actor's namespace are about to be sent. An export is a read: its row has a unit of its own, before it begins.
 * @throws AppError 401 when the credential has ended, or the account is being deleted: its row would be left
 */
export async function auditExport(
  deps: HasStore & HasClock,
  actor: Actor,
  namespace: Pick<NamespaceRow, 'id' | 'name'>,
): Promise<void> {
  const object = audited.namespace(namespace);
  await writeAs(deps, actor, (tx) => audit(tx, actor, deps.clock(), 'namespace.exported', object));
}

/** For a namespace by its name. @throws AppError 400, 404, 422 */
export async function exportThen(
  deps: HasStore & HasClock & HasHistoryKeys,
  owner: Actor,
  name: string,
  time: string,
): Promise<AsyncGenerator<readonly ExportedRecord[]>> {
  const at = parseAt(time, deps.clock());
  const namespace = (await findNamespacesByName(deps.store.read, [name], owner.customerId)).get(name);
  if (namespace === undefined) throw notFound('Namespace');
  await requireWhole(deps, namespace, at);
  return exportAt(deps, owner, namespace, at);
}

/** @throws AppError 400 for a text that is no time up to now */
export function parseAt(text: string, now: number): number {
  const at = parseTime(text);
  if (at === null) throw badParameter('at', NOT_A_TIME);
  if (at > now) throw badParameter('at', 'is in the future');
  return at;
}

/** @throws AppError 422 where the history does not know all of that time */
export async function requireWhole({ store }: HasStore, namespace: NamespaceRow, at: number): Promise<void> {
  const history = await findHistory(store.read, historyOf(namespace));
  const since = Math.max(history?.whole_since ?? Number.MAX_SAFE_INTEGER, namespace.history_since ?? 0);
  if (history === null || at < since) throw invalid(`at is before the history begins (${formatTime(since)})`);
}

/**
 * Every record as it was at a time, in the order that an export had then, but those that have expired since.
 * @throws Error in the end when the history lost something of that time meanwhile: the answer is cut off
 */
export async function* exportAt(
  deps: HasStore & HasClock & HasHistoryKeys,
  actor: Actor,
  namespace: NamespaceRow,
  at: number,
): AsyncGenerator<readonly ExportedRecord[]> {
  const { store, clock } = deps;
  const history = historyOf(namespace);
  const open = await openVersions(store.read, deps, namespace);
  if (open === null) throw invalid('this namespace keeps no history');
  const lineOf = (row: KeptVersion): ExportedRecord[] => {
    const data = row.expires_at !== null && row.expires_at <= clock() ? null : open(row);
    if (data === null) return [];
    const { key, content_type, ttl_seconds } = row;
    return [
      {
        key,
        data: base64(data) ?? '',
        content_type,
        ...encodingOf(row),
        ttl_seconds,
        expires_at: formatTimeOrNull(row.expires_at),
      },
    ];
  };
  const linesThen = async (keys: readonly string[]): Promise<(key: string) => readonly ExportedRecord[]> => {
    // Of two that were in force, by a clock that was set back, the later.
    const rows = new Map((await versionsAt(store.read, history, keys, at)).map((row) => [row.key, row]));
    return (key) => (rows.has(key) ? lineOf(rows.get(key)!) : []);
  };
  // No record has an empty id: everything up to that time.
  const end: RecordPosition = { createdAt: at + 1, id: '' };
  let after: RecordPosition | null = null;
  // What is there is read before what is gone: a record that is deleted meanwhile is in both, and not in none.
  for await (const batch of withEmptyEnd(streamRecords(deps, actor, { namespace: namespace.name }))) {
    const last = batch.at(-1);
    const until = last === undefined || positionIn(last).createdAt > at ? end : positionIn(last);
    const there = batch.filter((record) => positionIn(record).createdAt <= at);
    const isNewer = ({ updated_at }: RecordResource): boolean => Date.parse(updated_at) > at;
    const thenOf = await linesThen(there.filter(isNewer).map(({ key }) => key));
    const lines = (record: RecordResource): readonly ExportedRecord[] =>
      isNewer(record) ? thenOf(record.key) : [exportedRecord(record)];
    let shown = 0;
    for await (const gone of goneRecords(store.read, history, at, { after, until }, clock)) {
      const goneThenOf = await linesThen(gone.map(({ key }) => key));
      const found: ExportedRecord[] = [];
      for (const { key, created_at, record_id } of gone) {
        const place = { createdAt: created_at, id: record_id };
        while (shown < there.length && isBefore(positionIn(there[shown]!), place))
          found.push(...lines(there[shown++]!));
        if (there[shown]?.id !== record_id) found.push(...goneThenOf(key));
      }
      yield* inBatches(found);
    }
    yield* inBatches(there.slice(shown).flatMap(lines));
    if (until === end) break;
    after = until;
  }
  const rest = await findHistory(store.read, history);
  if (rest === null || rest.ended > 0 || rest.whole_since > at) {
    throw new Error('the history lost versions during its export');
  }
}

/** An empty batch says that nothing follows. */
async function* withEmptyEnd<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield* batches;
  yield [];
}

function positionIn({ created_at, id }: RecordResource): RecordPosition {
  return { createdAt: Date.parse(created_at), id };
}

function isBefore(a: RecordPosition, b: RecordPosition): boolean {
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt;
}

function* inBatches(lines: readonly ExportedRecord[]): Generator<readonly ExportedRecord[]> {
  for (let start = 0; start < lines.length; start += BATCH) yield lines.slice(start, start + BATCH);
}
