/**
 * A log that is behind its witnesses takes back what the database lost: the entries from tiles or from the folder of a monitor, up to a checkpoint
 * that a quorum cosigned. What was appended since and never signed comes behind them.
 */
import { InputError } from '../../base/errors.ts';
import { readKeyTxt } from '../../protocol/datasets/published.ts';
import type { Checkpoint } from '../../protocol/transparency/checkpoint.ts';
import { readTransparencyEntry } from '../../protocol/transparency/entries.ts';
import {
  type NoteSignature,
  printNote,
  type SignedNote,
  type VerifierKey,
} from '../../protocol/transparency/note.ts';
import type { TrustPolicy } from '../../protocol/transparency/policy.ts';
import { checkNote } from '../../protocol/transparency/signatures.ts';
import {
  decodeEntries,
  TILE_WIDTH,
  type Tile,
  tilePath,
  tileWidth,
} from '../../protocol/transparency/tiles.ts';
import { leafHash, sameOctets } from '../../protocol/transparency/tree.ts';
import { keyChange, retireVersions } from '../../store/dataset-changes.ts';
import { findKey, type KeyRow, listVersions, putKeys } from '../../store/datasets.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import type { Tx } from '../../store/store.ts';
import {
  cutLogEntries,
  firstManifestsOf,
  holdLogHead,
  insertLogCheckpoint,
  type LogEntry,
  lastEntriesOf,
  lastSignedCheckpoint,
  moveLogHead,
  readLogEntries,
  unservedVersions,
} from '../../store/transparency.ts';
import { isAfterEnd } from '../datasets/keys.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { appendLogEntries, type EntryDraft, entryName, insertAt, keyEntry, retireLogged } from './append.ts';
import { verifierKeyOfLog } from './init.ts';
import { checkpointChange } from './publish.ts';
import type { LogKey } from './signer.ts';
import { rootAt } from './tree.ts';

/** Where the log is read: the paths below its URL. */
export interface LogSource {
  /** The file or resource with this path. @throws InputError when it is not there */
  read(path: string, maxOctets: number): Promise<Uint8Array>;
}

export interface Recovered {
  /** Of the checkpoint that holds now. */
  readonly size: number;
  /** Entries that came from elsewhere. */
  readonly entries: number;
  /** See `unservedVersions`. */
  readonly missing: readonly string[];
  /** Versions that were retired since the backup, and are retired again. */
  readonly retired: readonly string[];
  /** Versions that were published here since the backup, with another manifest than the log has, or attested after the end of their key. They are retired. */
  readonly replaced: readonly string[];
}

type RecoverDeps = HasStore & HasClock & { readonly policy: TrustPolicy; readonly key: LogKey };

const NOTE_MAX = 131_072;
const BUNDLE_MAX = TILE_WIDTH * (65_535 + 2);

/** @throws InputError where the source is not trusted, has nothing new, or has another history */
export async function recoverLog(deps: RecoverDeps, source: LogSource): Promise<Recovered> {
  const { store, key } = deps;
  const signed = await lastSignedCheckpoint(store.read);
  if (signed === null) throw new InputError('there is no transparency log here: uqrp log init begins one');
  const policy = { ...deps.policy, logs: [{ key: verifierKeyOfLog(key), url: null }] };
  const note = Buffer.from(await source.read('checkpoint', NOTE_MAX)).toString('utf8');
  const judged = checkNote(note, policy);
  if (!judged.valid) throw new InputError(`the checkpoint there is not trusted: ${judged.reason}`);
  const { checkpoint, cosigners, log } = judged;
  if (checkpoint.size <= signed.size)
    throw new InputError(
      `the checkpoint there has ${checkpoint.size} entries, and this database has signed ${signed.size}: there is nothing to recover there. Take a copy that has more, such as the folder of a monitor`,
    );
  const leaves = await leavesOf(source, signed.size, checkpoint.size);
  const found = leaves.map((leaf, at) => entryOf(leaf, signed.size + at));
  const published = Math.max(0, ...cosigners.map(({ time }) => time)) * 1000;
  const kept = logFirst(checkpoint.note, log.key);
  return store.write((tx) =>
    replace(tx, { deps, from: signed.size, checkpoint, note: kept, published, found }),
  );
}

/** A copy may have the lines in any order, and a checkpoint here begins with that of the log (`cosignedNote`). */
function logFirst({ text, signatures }: SignedNote, { name, id }: VerifierKey): string {
  const isOwn = (line: NoteSignature): boolean => line.name === name && line.keyId === id;
  const own = signatures.filter(isOwn);
  return printNote({ text, signatures: [...own, ...signatures.filter((line) => !isOwn(line))] });
}

async function leavesOf(source: LogSource, from: number, size: number): Promise<Uint8Array[]> {
  const leaves: Uint8Array[] = [];
  for (let n = Math.floor(from / TILE_WIDTH); n * TILE_WIDTH < size; n++) {
    const tile: Tile = { level: 'entries', n, width: tileWidth('entries', n, size) };
    const bundle = decodeEntries(await source.read(tilePath(tile), BUNDLE_MAX), tile.width);
    if (bundle === null) throw new InputError(`${tilePath(tile)} is not a bundle of ${tile.width} entries`);
    leaves.push(...bundle.slice(Math.max(0, from - n * TILE_WIDTH)));
  }
  return leaves;
}

interface Replacement {
  readonly deps: RecoverDeps;
  readonly from: number;
  readonly checkpoint: Checkpoint;
  readonly note: string;
  readonly published: number;
  readonly found: readonly LogEntry[];
}

async function replace(
  tx: Tx,
  { deps, from, checkpoint, note, published, found }: Replacement,
): Promise<Recovered> {
  const now = deps.clock();
  const head = await holdLogHead(tx);
  const last = await lastSignedCheckpoint(tx);
  if (head === null || last?.size !== from) throw new InputError('the log has signed meanwhile: try again');
  // From here on no other unit serves a version, or stores a key.
  const rows = await listVersions(tx, ['served']);
  const keys = await putRecoveredKeys(tx, found);
  const own = await readLogEntries(tx, from, head.size);
  await cutLogEntries(tx, from);
  await moveLogHead(tx, from);
  for (let at = 0; at < found.length; at += TILE_WIDTH)
    await insertAt(tx, from + at, found.slice(at, at + TILE_WIDTH));
  if (!sameOctets(await rootAt(tx, checkpoint.size), checkpoint.root))
    throw new InputError(
      'the entries there do not continue the log of this database to the cosigned checkpoint: it is another history',
    );
  await insertLogCheckpoint(tx, { size: checkpoint.size, root: checkpoint.root, note, published });
  const replaced = await contradicted(tx, own);
  const linked = await appendLogEntries(tx, await draftsOf(tx, own, replaced));
  const state = new Map<string, LogEntry>();
  const names = [...new Set(found.flatMap(({ kind, name }) => (kind === 'key' ? [] : [name])))];
  for (const entry of await lastEntriesOf(tx, names)) state.set(entry.name, entry);
  const given = rows.filter((row) => replaced.has(entryName(row)));
  const retired = rows.filter(
    (row) => !given.includes(row) && state.get(entryName(row))?.kind === 'retirement',
  );
  await retireVersions(tx, [...retired, ...given], now);
  for (const { slug, version } of given) await retireLogged(tx, slug, version, now);
  // The head that holds now: no pass may be due for hours that would tell nodes.
  const changes: NewChange[] = [...keys, ...linked, ...checkpointChange(note)];
  if (changes.length > 0) await appendChanges(tx, changes, now);
  return {
    size: checkpoint.size,
    entries: found.length,
    missing: await unservedVersions(tx),
    retired: retired.map(entryName),
    replaced: [...replaced].sort(),
  };
}

/**
 * Names of our unsigned manifests that the log cannot have: it has another one, or the end of the key before the attestation. Nobody was promised
 * them: the log's own stays.
 */
async function contradicted(tx: Tx, own: readonly LogEntry[]): Promise<ReadonlySet<string>> {
  const manifests = own.filter(({ kind }) => kind === 'manifest');
  const names = new Set(manifests.map(({ name }) => name));
  const logged = new Map((await firstManifestsOf(tx, [...names])).map((entry) => [entry.name, entry.leaf]));
  const found = new Set<string>();
  for (const { name, leaf } of manifests) {
    const first = logged.get(name);
    const entry = readTransparencyEntry(leaf);
    const isTaken =
      first === undefined
        ? entry?.kind !== 'manifest' || !isAfterEnd(entry.manifest, await findKey(tx, entry.manifest.attkid))
        : sameOctets(first, leaf);
    if (!isTaken) found.add(name);
  }
  return found;
}

/** Our unsigned entries, to be appended again. A key is said as it is now: the log may know another start of it, and its end. */
async function draftsOf(
  tx: Tx,
  own: readonly LogEntry[],
  replaced: ReadonlySet<string>,
): Promise<EntryDraft[]> {
  const drafts: EntryDraft[] = [];
  for (const { kind, name, leaf, version_id } of own) {
    const key = kind === 'key' ? await findKey(tx, name) : null;
    if (key !== null) drafts.push(keyEntry(key));
    else if (!replaced.has(name)) drafts.push({ kind, name, leaf, version_id });
  }
  return drafts;
}

/** Keys that the log has and this database lost, or knows another state of. An end that is known here alone stays. */
async function putRecoveredKeys(tx: Tx, found: readonly LogEntry[]): Promise<NewChange[]> {
  const rows = new Map<string, KeyRow>();
  for (const { kind, name, leaf } of found) {
    const key = kind === 'key' ? readKeyTxt(leaf) : null;
    if (key === null) continue;
    const { since, end } = key;
    const known = await findKey(tx, name);
    const until = end ?? known?.until ?? null;
    const public_key = Buffer.from(key.publicKey).toString('base64');
    rows.set(name, { kid: name, public_key, since, until, is_own: known?.is_own ?? 0 });
  }
  const changed = await putKeys(tx, [...rows.values()]);
  return changed.map((key) => ({ owner: null, cause: 'direct', ...keyChange(key) }));
}

function entryOf(leaf: Uint8Array, idx: number): LogEntry {
  const common = { idx, leaf, hash: leafHash(leaf), version_id: null };
  const entry = readTransparencyEntry(leaf);
  switch (entry?.kind) {
    case 'key':
      return { ...common, kind: 'key', name: entry.kid };
    case 'manifest':
      return { ...common, kind: 'manifest', name: entryName(entry.manifest) };
    case 'retirement':
      return { ...common, kind: 'retirement', name: entryName(entry.retirement) };
    default:
      throw new InputError(`entry ${idx} is of a kind that this release does not know`);
  }
}
