/** Entries of the transparency log, appended in the unit of work that publishes what they are about. */

import { LIMITS } from '../../base/limits.ts';
import { keyTxt } from '../../protocol/datasets/attestation.ts';
import { manifestTxt, type SignedManifest } from '../../protocol/datasets/manifest.ts';
import { readTransparencyEntry, retirementTxt } from '../../protocol/transparency/entries.ts';
import { TILE_LEVELS, TILE_WIDTH } from '../../protocol/transparency/tiles.ts';
import { completedTiles, leafHash } from '../../protocol/transparency/tree.ts';
import { type KeyRow, listVersions, type VersionRow } from '../../store/datasets.ts';
import type { NewChange } from '../../store/log/change-log.ts';
import type { Tx } from '../../store/store.ts';
import {
  firstManifestsOf,
  holdLogHead,
  insertLogEntries,
  insertTileRoots,
  type LogEntry,
  lastEntriesOf,
  lastEntriesOfSlug,
  linkLogEntry,
  moveLogHead,
  type NewEntry,
  readTileHashes,
} from '../../store/transparency.ts';
import { DatasetFault } from '../datasets/items.ts';
import { proofChange } from './publish.ts';

export type EntryDraft = Omit<NewEntry, 'hash'>;

export function entryName({ slug, version }: Pick<VersionRow, 'slug' | 'version'>): string {
  return `${slug}@${version}`;
}

/** The leaf is the TXT value of the manifest, octet for octet. */
export function manifestEntry(id: string | null, manifest: SignedManifest): EntryDraft {
  return {
    kind: 'manifest',
    name: entryName(manifest),
    leaf: Buffer.from(manifestTxt(manifest)),
    version_id: id,
  };
}

export function keyEntry({ kid, public_key, since, until }: KeyRow): EntryDraft {
  const leaf = keyTxt({ publicKey: Buffer.from(public_key, 'base64'), since, end: until });
  return { kind: 'key', name: kid, leaf: Buffer.from(leaf), version_id: null };
}

/** @param at milliseconds since the epoch */
export function retirementEntry({ id, manifest }: VersionRow, at: number): EntryDraft {
  return { ...retirementOf(JSON.parse(manifest) as SignedManifest, at), version_id: id };
}

function retirementOf({ slug, version, sha256 }: SignedManifest, at: number): Omit<EntryDraft, 'version_id'> {
  const leaf = retirementTxt({ slug, version, sha256, at: Math.floor(at / 1000) });
  return { kind: 'retirement', name: entryName({ slug, version }), leaf: Buffer.from(leaf) };
}

/** Says of versions that were served that they are no more. */
export async function logRetirements(tx: Tx, served: readonly VersionRow[], at: number): Promise<void> {
  await appendLogEntries(
    tx,
    served.map((row) => retirementEntry(row, at)),
  );
}

/**
 * Retires in the log what it alone says is served: a database that was restored has no such version.
 * @param version null: all of the dataset @returns their versions
 */
export async function retireLogged(
  tx: Tx,
  slug: string,
  version: string | null,
  at: number,
): Promise<string[]> {
  if ((await holdLogHead(tx)) === null) return [];
  const live = new Set((await listVersions(tx, ['served'], slug)).map(entryName));
  const found = (await lastEntriesOfSlug(tx, slug)).flatMap(({ kind, name, leaf }) => {
    const entry = kind === 'manifest' && !live.has(name) ? readTransparencyEntry(leaf) : null;
    return entry?.kind === 'manifest' && (version === null || entry.manifest.version === version)
      ? [entry.manifest]
      : [];
  });
  const drafts = found.map((manifest) => ({ ...retirementOf(manifest, at), version_id: null }));
  await appendLogEntries(tx, drafts);
  return found.map((manifest) => manifest.version);
}

/**
 * Appends those entries that change what the log says: what it says already is not said again. Call it after the rows of datasets are written and
 * before changes are appended: from here to the commit the unit holds the number of the next entry. Without a log it does nothing.
 * @returns changes to append with those of the unit: a version whose entry was there before has its proof already
 * @throws DatasetFault when a version was logged with another manifest
 */
export async function appendLogEntries(tx: Tx, drafts: readonly EntryDraft[]): Promise<NewChange[]> {
  const head = drafts.length === 0 ? null : await holdLogHead(tx);
  if (head === null) return [];
  const names = [...new Set(drafts.map(({ name }) => name))];
  const last = new Map<string, EntryDraft & { readonly idx?: number }>(
    (await lastEntriesOf(tx, names)).map((entry) => [entry.name, entry]),
  );
  await refuseOthers(tx, drafts);
  const added: LogEntry[] = [];
  const changes: NewChange[] = [];
  for (const draft of drafts) {
    const before = last.get(draft.name);
    if (isSaid(before, draft)) {
      if (before?.idx !== undefined) changes.push(...(await link(tx, before.idx, draft)));
      continue;
    }
    if (draft.leaf.length > LIMITS.txtValue) throw new Error('a leaf is longer than a TXT value may be');
    added.push({ ...draft, hash: leafHash(draft.leaf), idx: head.size + added.length });
    last.set(draft.name, draft);
  }
  await insertAt(tx, head.size, added);
  return changes;
}

/** A recovered entry gets the version that was imported again from the same files. */
async function link(tx: Tx, idx: number, { kind, name, version_id: id }: EntryDraft): Promise<NewChange[]> {
  if (kind !== 'manifest' || id === null) return [];
  const proof = await linkLogEntry(tx, idx, id);
  return proof === null ? [] : proofChange(name, id, proof);
}

/** Inserts entries behind a log of `size` entries, with the roots of the tiles that they complete. The unit holds the head. */
export async function insertAt(tx: Tx, size: number, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await insertLogEntries(tx, entries);
  const end = size + entries.length;
  const first = (Math.floor(size / TILE_WIDTH) + 1) * TILE_WIDTH;
  for (let full = first; full <= end; full += TILE_WIDTH) await completeAt(tx, full);
  await moveLogHead(tx, end);
}

/** @param size a multiple of the width of a tile */
async function completeAt(tx: Tx, size: number): Promise<void> {
  const stored: (readonly Uint8Array[])[] = [];
  for (let level = 0, count = size; count % TILE_WIDTH === 0; level++, count /= TILE_WIDTH)
    stored.push(await readTileHashes(tx, level, count - TILE_WIDTH, count));
  const tiles = completedTiles(size, ({ level, index }) => {
    const hash = stored[level / TILE_LEVELS]?.[index % TILE_WIDTH];
    if (hash === undefined) throw new Error('the transparency log lacks an entry');
    return hash;
  });
  await insertTileRoots(
    tx,
    tiles.map(({ level, index, hash }) => ({ level: level / TILE_LEVELS - 1, n: index, hash })),
  );
}

/** Whether the last entry of the name says the same. */
function isSaid(before: EntryDraft | undefined, { kind, leaf }: EntryDraft): boolean {
  if (kind === 'retirement') return before?.kind !== 'manifest';
  return before?.kind === kind && Buffer.compare(before.leaf, leaf) === 0;
}

/** A number has one manifest for ever, also where the row of the version is gone: the database was restored, the log was not. */
async function refuseOthers(tx: Tx, drafts: readonly EntryDraft[]): Promise<void> {
  const manifests = drafts.filter(({ kind }) => kind === 'manifest');
  if (manifests.length === 0) return;
  const logged = await firstManifestsOf(
    tx,
    manifests.map(({ name }) => name),
  );
  for (const { name, leaf } of manifests) {
    const first = logged.find((entry) => entry.name === name);
    if (first !== undefined && Buffer.compare(first.leaf, leaf) !== 0)
      throw new DatasetFault([
        `${name.replace('@', ' ')} is in the transparency log with another manifest, and a published version never changes. Raise the version.`,
      ]);
  }
}
