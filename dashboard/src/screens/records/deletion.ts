/** Deletions of records that can be taken back: from the history of the namespace where there is one, else from what this page holds. */
import {
  type NamespaceResource,
  type NewBulkRecord,
  type RecordFilter,
  type RecordResource,
  type Uqrp,
  UqrpError,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { asOwn } from '../../data/own-writes.ts';
import { BULK_STEP } from './bulk-job.ts';
import { readSelected, storedFields } from './read-selected.ts';
import type { RecordRow } from './record-pages.ts';
import { keyParts } from './record-rules.ts';
import type { BulkWrite } from './use-bulk-job.ts';

type Api = Pick<Uqrp, 'records' | 'namespaces'>;

/** Brings a record back. */
export type UndoOne = () => Promise<RecordResource>;

export interface DeletionOptions {
  /** Of the record; undefined: not known. */
  readonly namespace: NamespaceResource | undefined;
  /** With its versions: then it cannot be undone. */
  readonly erase?: boolean;
}

/** Deletes one record, only as it was read a moment before. @returns takes it back; null: nothing does */
export async function deleteRecord(
  api: Api,
  id: string,
  { namespace, erase = false }: DeletionOptions,
): Promise<UndoOne | null> {
  if (erase) {
    await api.records.delete(id, { erase });
    return null;
  }
  const held = await api.records.get(id);
  let write: string | null = null;
  const options = {
    ifMatch: held.etag ?? undefined,
    onWritten: (seq: string) => {
      write = seq;
    },
  };
  await asOwn('record.deleted', [held.key], () => api.records.delete(id, options));
  if (namespace?.history === undefined || write === null) return () => writeBack(api, held);
  const seq: string = write;
  return async () => {
    await asOwn('record.upserted', [held.key], () => api.namespaces.undo(namespace.id, seq));
    const found = await api.records.find(held.key);
    if (found === null) throw new UqrpError(`${held.key} is not there`);
    return found;
  };
}

/** Not over a record that somebody has made since. */
async function writeBack(api: Api, record: RecordResource): Promise<RecordResource> {
  return await asOwn('record.upserted', [record.key], () =>
    api.records.create(record.key, storedFields(record), { ifAbsent: true }),
  );
}

/** What is needed to take back a deletion of many. */
export interface HeldDeletion {
  readonly histories: ReadonlyMap<string, NamespaceResource>;
  /** Of namespaces without history, as they were before. */
  readonly held: readonly RecordResource[];
}

/**
 * Reads what no history keeps. @returns null: it is more than one write brings back, so the deletion cannot be undone
 */
export async function holdRecords(
  api: Api,
  chosen: readonly Pick<RecordRow, 'id' | 'key' | 'namespace'>[],
  filter: RecordFilter,
  namespaces: readonly NamespaceResource[],
): Promise<HeldDeletion | null> {
  const histories = new Map(
    namespaces.filter(({ history }) => history !== undefined).map((one) => [one.name, one]),
  );
  const bare = chosen.filter(({ namespace }) => !histories.has(namespace));
  if (bare.length > BULK_STEP) return null;
  const held: RecordResource[] = [];
  for await (const record of readSelected(api, bare, filter)) held.push(record);
  return { histories, held };
}

/** Takes back writes, the last one first. Each is done as a whole or not at all. @param done keys that were deleted */
export async function undoDeletion(
  api: Api,
  { histories, held }: HeldDeletion,
  writes: readonly BulkWrite[],
  done: ReadonlySet<string>,
): Promise<void> {
  for (const { seq, keys } of writes.toReversed()) {
    const names = new Set(keys.map((key) => keyParts(key).namespace));
    for (const name of names) {
      const namespace = histories.get(name);
      if (namespace !== undefined)
        await asOwn('record.upserted', keys, () => api.namespaces.undo(namespace.id, seq));
    }
  }
  const put = held
    .filter(({ key }) => done.has(key))
    .map((record): NewBulkRecord => ({ key: record.key, ...storedFields(record), if_updated_at: null }));
  const keys = put.map(({ key }) => key);
  if (put.length > 0) await asOwn('record.upserted', keys, () => api.records.bulk({ put }));
}
