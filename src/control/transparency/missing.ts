/** What is published and not in the log: all of it when the log begins, later what a process without the log has done. */
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { type KeyRow, listDatasetKeys, type VersionRow } from '../../store/datasets.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import type { Db, Tx } from '../../store/store.ts';
import { holdLogHead, lastEntriesOf, readLogHead, unloggedVersions } from '../../store/transparency.ts';
import { isAfterEnd } from '../datasets/keys.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { appendLogEntries, type EntryDraft, keyEntry, manifestEntry, retirementEntry } from './append.ts';

/** Versions of one unit of work. */
const UNIT_VERSIONS = 100;

/** Appends what is missing, in small units. Without a log it does nothing. */
export async function appendMissing({ store, clock }: HasStore & HasClock): Promise<void> {
  const { read } = store;
  if ((await readLogHead(read)) === null) return;
  for (let before = ''; ; ) {
    const missing = (await missingEntries(read)).map(({ name }) => name).join(' ');
    // Nearly always nothing is missing, and no unit is needed to see that. What a unit did not change another would not either.
    if (missing === before) return;
    before = missing;
    await store.write((tx) => appendUnit(tx, clock()));
  }
}

async function appendUnit(tx: Tx, now: number): Promise<void> {
  // First: what another unit retires meanwhile must not be said to be served once more.
  await holdLogHead(tx);
  const changes = await appendLogEntries(tx, await missingEntries(tx));
  if (changes.length > 0) await appendChanges(tx, changes, now);
}

async function missingEntries(db: Db): Promise<EntryDraft[]> {
  const rows = await listDatasetKeys(db);
  const keys = rows.map(keyEntry);
  const last = await lastEntriesOf(
    db,
    keys.map(({ name }) => name),
  );
  const isMissing = ({ name, leaf }: EntryDraft): boolean => {
    const logged = last.find((entry) => entry.name === name);
    return logged === undefined || Buffer.compare(logged.leaf, leaf) !== 0;
  };
  const versions = await unloggedVersions(db, UNIT_VERSIONS);
  return [...keys.filter(isMissing), ...versions.flatMap((version) => entriesOf(version, rows))];
}

function entriesOf(row: VersionRow, keys: readonly KeyRow[]): EntryDraft[] {
  const manifest = JSON.parse(row.manifest) as SignedManifest;
  const published = manifestEntry(row.id, manifest);
  if (row.state === 'served') return [published];
  const retired = retirementEntry(row, row.retired_at ?? 0);
  // A recovery gave it up. Where only its manifest is in the log the retirement is said.
  const key = keys.find(({ kid }) => kid === manifest.attkid);
  if (isAfterEnd(manifest, key)) return [retired];
  // Where the manifest is in the log it is not said again.
  return [published, retired];
}
