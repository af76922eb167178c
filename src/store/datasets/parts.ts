/** Parts of a version: items in the form of the change log, and the octets of the items file. Both are stored deflated. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import type { PartKind } from './tables.ts';

export interface Part {
  readonly kind: PartKind;
  readonly part: number;
  /** Deflated. */
  readonly data: Uint8Array;
}

/** The quickest level: a file of items shrinks to a tenth by it, and a higher one takes three times as long. */
const LEVEL = 1;

export function deflatePart(octets: Uint8Array): Buffer {
  return deflateRawSync(octets, { level: LEVEL });
}

export function inflatePart(data: Uint8Array): Buffer {
  return inflateRawSync(data);
}

const INSERT = statement<Part & { versionId: string }>(
  'insert into dataset_parts (version_id, kind, part, data) values (:versionId, :kind, :part, :data)',
);

export async function insertParts(tx: Tx, versionId: string, parts: readonly Part[]): Promise<void> {
  for (const { kind, part, data } of parts) await INSERT.run(tx, { versionId, kind, part, data });
}

const AFTER = statement<{ versionId: string; kind: PartKind; after: number; limit: number }, Part>(
  `select kind, part, data from dataset_parts
  where version_id = :versionId and kind = :kind and part > :after order by part limit :limit`,
);

/** Parts of one kind with a greater number, in order. */
export async function partsAfter(
  db: Db,
  versionId: string,
  kind: PartKind,
  after: number,
  limit: number,
): Promise<readonly Part[]> {
  return AFTER.all(db, { versionId, kind, after, limit });
}

const DELETE = statement<{ versionId: string; limit: number }>(
  `delete from dataset_parts where version_id = :versionId and (kind, part) in (
    select kind, part from dataset_parts where version_id = :versionId order by kind, part limit :limit)`,
);

const RETIRED = statement<object, { id: string }>(
  "select id from dataset_versions where state = 'retired' and has_parts = 1 order by id limit 1",
);

const EMPTIED = statement<{ id: string }>('update dataset_versions set has_parts = 0 where id = :id');

/** Whether a retired version has parts to delete. */
export async function hasRetiredParts(db: Db): Promise<boolean> {
  return (await RETIRED.all(db, {})).length > 0;
}

/** Deletes up to `limit` parts of a retired version. @returns whether there may be more */
export async function deleteRetiredParts(tx: Tx, limit: number): Promise<boolean> {
  const id = (await RETIRED.first(tx, {}))?.id;
  if (id === undefined) return false;
  const deleted = await DELETE.run(tx, { versionId: id, limit });
  if (deleted < limit) await EMPTIED.run(tx, { id });
  return true;
}
