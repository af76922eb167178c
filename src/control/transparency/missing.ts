/** What is published and not in the log: all of it when the log begins, later what a process without the log has done. */
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { listDatasetKeys, type VersionRow } from '../../store/datasets.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import type { Db, Tx } from '../../store/store.ts';
import { holdLogHead, lastEntriesOf, readLogHead, unloggedVersions } from '../../store/transparency.ts';
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
  const keys = (await listDatasetKeys(db)).map(keyEntry);
  const last = await lastEntriesOf(
    db,
    keys.map(({ name }) => name),
  );
  const isMissing = ({ name, leaf }: EntryDraft): boolean => {
    const logged = last.find((entry) => entry.name === name);
    return logged === undefined || Buffer.compare(logged.leaf, leaf) !== 0;
  };
  const versions = await unloggedVersions(db, UNIT_VERSIONS);
  return [...keys.filter(isMissing), ...versions.flatMap(entriesOf)];
}

function entriesOf(row: VersionRow): EntryDraft[] {
  const published = manifestEntry(row.id, JSON.parse(row.manifest) as SignedManifest);
  if (row.state === 'served') return [published];
  // Where the manifest is in the log it is not said again.
  return [published, retirementEntry(row, row.retired_at ?? 0)];
}
