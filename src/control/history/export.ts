/** A namespace as it was at an earlier time. */
import { invalid, notFound } from '../../base/errors.ts';
import { formatTime, formatTimeOrNull, NOT_A_TIME, parseTime } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import { badParameter } from '../../protocol/input/query-parameters.ts';
import { base64 } from '../../store/log/change-log.ts';
import { findNamespacesByName, type NamespaceRow } from '../../store/namespaces.ts';
import { findHistory, type KeptVersion, versionsAt, versionsOfGone } from '../../store/versions.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { type ExportedRecord, exportedRecord, streamRecords } from '../records/listing.ts';
import { encodingOf } from '../records/shapes.ts';
import { type HasHistoryKeys, openVersions } from './keep.ts';
import { historyOf } from './rules.ts';

/** Lines of one batch: with full records it is as long as a batch of another listing. */
const BATCH = 16;

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
 * Every record as it was at a time, but those that have expired since: first of the keys that have a record now, as a listing has them, then of
 * the others by key. A record that is deleted meanwhile may come twice, with equal lines.
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
  for await (const batch of streamRecords(deps, actor, { namespace: namespace.name })) {
    const isNewer = ({ updated_at }: { readonly updated_at: string }): boolean => Date.parse(updated_at) > at;
    const older = await versionsAt(
      store.read,
      history,
      batch.filter(isNewer).map(({ key }) => key),
      at,
    );
    // Of two that were in force, by a clock that was set back, the later.
    const versions = new Map(older.map((row) => [row.key, row]));
    yield* inBatches(
      batch.flatMap((record) => {
        const version = versions.get(record.key);
        return isNewer(record) ? (version === undefined ? [] : lineOf(version)) : [exportedRecord(record)];
      }),
    );
  }
  for await (const rows of versionsOfGone(store.read, history, at, clock)) {
    yield* inBatches([...new Map(rows.map((row) => [row.key, row])).values()].flatMap(lineOf));
  }
  const after = await findHistory(store.read, history);
  if (after === null || after.ended > 0 || after.whole_since > at) {
    throw new Error('the history lost versions during its export');
  }
}

function* inBatches(lines: readonly ExportedRecord[]): Generator<readonly ExportedRecord[]> {
  for (let start = 0; start < lines.length; start += BATCH) yield lines.slice(start, start + BATCH);
}
