/**
 * Changes of datasets in the log. Rows of items name a part of `dataset_parts` in place of the items, so that the log does not
 * hold a second copy for as long as it is kept.
 */
import type { Change, ChangeBody } from '../protocol/change.ts';
import { decodeChange, type EncodedChange } from '../protocol/changes/change-codec.ts';
import { itemList } from '../protocol/changes/dataset-changes.ts';
import type { DatasetItem } from '../protocol/datasets/item.ts';
import { CHECKPOINT_ROOM, type ProofAnswer, proofRoom } from '../protocol/datasets/log-txt.ts';
import type { SignedManifest } from '../protocol/datasets/manifest.ts';
import { PUBLIC_NAMESPACE } from '../protocol/names/labels.ts';
import {
  abandonedVersions,
  inflatePart,
  type KeyRow,
  listDatasetKeys,
  listVersions,
  markRetired,
  partsAfter,
  retiredAmong,
  type VersionRow,
} from './datasets.ts';
import { statement } from './engine/statement.ts';
import { appendChanges, appendEncoded, type NewBody } from './log/change-log.ts';
import type { Db, Tx } from './store.ts';
import { lastPublishedCheckpoint, proofOfVersion } from './transparency.ts';

const ITEMS = 'dataset.items';
const PUBLISHED = 'dataset.published';
/** Changes of items that one call reads: a part has at most 64 KiB of JSON, and a page of the log has 1,000 changes. */
const PARTS_A_CALL = 64;

/** Appends a change for each of these parts of items, stored in the same unit of work. Call it last in the unit. */
export function appendItemChanges(
  tx: Tx,
  versionId: string,
  parts: readonly number[],
  at: number,
): Promise<number> {
  return appendEncoded(tx, parts.length, (first) =>
    parts.map((part, index) => ({
      ...emptyRow(versionId),
      seq: first + index,
      at,
      body: JSON.stringify({ v: 1, versionId, part }),
    })),
  );
}

/** One item in the list that a part holds, as JSON. */
export function itemText(item: DatasetItem): string {
  return JSON.stringify(itemList(item));
}

/** Whether the change depends on what the tables have now (`asOfNow`). */
export function dependsOnTables({ type }: EncodedChange): boolean {
  return type === ITEMS || type === PUBLISHED;
}

/**
 * The rows as changes: items with what their part holds, and what a version had that is retired by now as its withdrawal. It may leave out
 * rows at the end, never all; then the last change is one of items, by which readers know.
 */
export async function asOfNow(read: Db, rows: readonly EncodedChange[]): Promise<readonly Change[]> {
  const changes: Change[] = [];
  let parts = 0;
  for (const row of rows) {
    const change = row.type === ITEMS ? await withItemsOf(read, row) : decodeChange(row);
    changes.push(change);
    if (change.type === ITEMS && ++parts === PARTS_A_CALL) break;
  }
  return withdrawRetired(read, rows, changes);
}

/** After the items are read: whichever were missing, their version was retired before. */
async function withdrawRetired(
  read: Db,
  rows: readonly EncodedChange[],
  changes: readonly Change[],
): Promise<readonly Change[]> {
  const ids = changes.flatMap((change) => (change.type === PUBLISHED ? [change.versionId] : []));
  if (ids.length === 0) return changes;
  const retired = await retiredAmong(read, ids);
  return changes.map((change, at) =>
    change.type === PUBLISHED && retired.has(change.versionId)
      ? withdrawnEarly(rows[at]!, change.versionId)
      : change,
  );
}

const PART = statement<{ versionId: string; part: number }, { data: Uint8Array }>(
  "select data from dataset_parts where version_id = :versionId and kind = 'items' and part = :part",
);

async function withItemsOf(read: Db, row: EncodedChange): Promise<Change> {
  const { versionId, part } = JSON.parse(row.body) as { versionId: string; part: number };
  const data = (await PART.first(read, { versionId, part }))?.data;
  return data === undefined ? withdrawnEarly(row, versionId) : itemsChange(row, versionId, data);
}

/** For a version that was withdrawn later in the log: the view withdraws it at once, and passes over what else comes of it. */
function withdrawnEarly(row: EncodedChange, versionId: string): Change {
  return decodeChange({ ...row, type: 'dataset.withdrawn', body: JSON.stringify({ v: 1, versionId }) });
}

/** @param data a part of items, deflated. @throws ChangeFormatError */
export function itemsChange(row: EncodedChange, versionId: string, data: Uint8Array): Change {
  const items = inflatePart(data).toString('utf8');
  return decodeChange({ ...row, body: `{"v":1,"versionId":${JSON.stringify(versionId)},"items":${items}}` });
}

export function emptyRow(versionId: string): EncodedChange {
  return {
    seq: 0,
    at: 0,
    owner: null,
    cause: 'direct',
    type: ITEMS,
    namespace: PUBLIC_NAMESPACE,
    key: null,
    body: JSON.stringify({ v: 1, versionId }),
    data: null,
  };
}

/** A part has at most 64 KiB of JSON. */
const PARTS_A_PAGE = 16;

/**
 * Keys, versions with their items and proofs, and the newest checkpoint of the transparency log, as upserts, and withdrawals of versions that were retired
 * meanwhile. A version that is being imported is among them: its items so far are before the head of the log, so the log does not give them again.
 * @param importing ids of versions that were being imported at the head
 */
export async function* datasetPages(
  read: Db,
  importing: readonly string[],
): AsyncIterable<readonly ChangeBody[]> {
  const keys = await listDatasetKeys(read);
  if (keys.length > 0) yield keys.map(keyChange);
  const versions = await listVersions(read, ['importing', 'served']);
  const unpublished = new Set([...importing, ...versions.map(({ id }) => id)]);
  for (const version of versions) {
    yield* itemPages(read, version.id);
    if (version.state !== 'served' || (await retiredAmong(read, [version.id])).size > 0) continue;
    unpublished.delete(version.id);
    yield [publishedChange(version), ...(await proofOf(read, version))];
  }
  // They may have lost parts before those were read. The log after the head may publish them, as a stream gives it.
  for (const id of await retiredAmong(read, [...unpublished])) yield [withdrawnChange(id)];
  const checkpoint = await lastPublishedCheckpoint(read);
  if (checkpoint !== null) yield logCheckpointChanges(checkpoint.note);
}

async function proofOf(read: Db, { id, slug, version }: VersionRow): Promise<readonly NewBody[]> {
  const proof = await proofOfVersion(read, `${slug}@${version}`, id);
  return proof === null ? [] : logProofChanges({ slug, version, proof }, id);
}

/** The change that gives nodes a proof; none for a proof that no DNS answer has room for. */
export function logProofChanges(of: ProofAnswer, versionId: string): readonly NewBody[] {
  if (Buffer.byteLength(of.proof) > proofRoom(of)) return [];
  return [{ type: 'log.proof', namespace: PUBLIC_NAMESPACE, versionId, proof: of.proof }];
}

/** As `logProofChanges`, for a signed note. */
export function logCheckpointChanges(checkpoint: string): readonly NewBody[] {
  if (Buffer.byteLength(checkpoint) > CHECKPOINT_ROOM) return [];
  return [{ type: 'log.checkpoint', namespace: PUBLIC_NAMESPACE, checkpoint }];
}

export function keyChange(key: KeyRow): NewBody {
  return {
    type: 'dataset.key',
    namespace: PUBLIC_NAMESPACE,
    kid: key.kid,
    publicKey: key.public_key,
    since: key.since,
    end: key.until,
  };
}

export function publishedChange({ id, manifest }: Pick<VersionRow, 'id' | 'manifest'>): NewBody {
  return {
    type: 'dataset.published',
    namespace: PUBLIC_NAMESPACE,
    versionId: id,
    manifest: JSON.parse(manifest) as SignedManifest,
  };
}

export function withdrawnChange(versionId: string): NewBody {
  return { type: 'dataset.withdrawn', namespace: PUBLIC_NAMESPACE, versionId };
}

async function* itemPages(read: Db, versionId: string): AsyncIterable<readonly ChangeBody[]> {
  for (let after = -1; ; ) {
    const parts = await partsAfter(read, versionId, 'items', after, PARTS_A_PAGE);
    const last = parts.at(-1);
    if (last === undefined) return;
    yield parts.map(({ data }) => {
      const {
        seq: _seq,
        at: _at,
        owner: _owner,
        cause: _cause,
        ...body
      } = itemsChange(emptyRow(versionId), versionId, data);
      return body;
    });
    after = last.part;
  }
}

/**
 * Retires versions, served ones and ones that are being imported. Call it last in a unit.
 * @param onServed is called with those that were served, before the change log is written
 * @returns those that it retired
 */
export async function retireVersions(
  tx: Tx,
  versions: readonly VersionRow[],
  now: number,
  onServed?: (served: readonly VersionRow[]) => Promise<void>,
): Promise<VersionRow[]> {
  const retired: VersionRow[] = [];
  const served: VersionRow[] = [];
  for (const version of versions) {
    const was = await markRetired(tx, version.id, now);
    if (was === null) continue;
    retired.push(version);
    if (was.wasServed) served.push(version);
  }
  if (retired.length === 0) return retired;
  if (served.length > 0) await onServed?.(served);
  const changes = retired.map(({ id }) => ({
    owner: null,
    cause: 'direct' as const,
    ...withdrawnChange(id),
  }));
  await appendChanges(tx, changes, now);
  return retired;
}

/** Gives up imports that nobody has gone on with since before this time. */
export async function retireAbandoned(tx: Tx, before: number, now: number): Promise<void> {
  await retireVersions(tx, await abandonedVersions(tx, before), now);
}
