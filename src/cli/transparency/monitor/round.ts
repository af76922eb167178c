/** What one round of a monitor does with the log itself: its head against the one that is held, and new entries into the folder. */
import { InputError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { type Checkpoint, parseCheckpoint } from '../../../protocol/transparency/checkpoint.ts';
import { isQuorum, type PolicyLog, type TrustPolicy } from '../../../protocol/transparency/policy.ts';
import { checkNote, verifyNoteSignature } from '../../../protocol/transparency/signatures.ts';
import { decodeEntries, TILE_WIDTH, tilePath, tileWidth } from '../../../protocol/transparency/tiles.ts';
import { sameOctets } from '../../../protocol/transparency/tree.ts';
import { type Alarm, alarm } from './alarms.ts';
import { GrowingTree } from './growing-tree.ts';
import type { StateFolder } from './state-folder.ts';

/** Reads below the URL of the log. Null: it is not there. @throws InputError when the log does not answer */
export type ReadLog = (path: string, max: number) => Promise<Uint8Array | null>;

/** A note that the log signed, as text and as what it says. */
export interface Head {
  readonly text: string;
  readonly checkpoint: Checkpoint;
}

export interface Watched {
  readonly log: PolicyLog;
  readonly policy: TrustPolicy;
  readonly state: StateFolder;
  readonly read: ReadLog;
  /** Milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

/** What the folder holds. It changes when the log grew, and is read from the disk at the start alone. */
export interface HeldHead {
  head: Head | null;
  tree: GrowingTree;
}

const HOURS_24 = 86_400;
/** Of a bundle: each entry has a length of two octets. */
const BUNDLE_OCTETS = TILE_WIDTH * (2 + LIMITS.txtValue);
const NOTE_OCTETS = 131_072;
/** The checkpoint is in caches for five seconds. */
const TRIES = 4;
const PAUSE_MS = 2000;

/** The folder's head and tree. @param each is called with every entry. @throws InputError when the folder is damaged, or of another log */
export function readHeld({ state, log }: Watched, each: (leaf: Uint8Array) => void): HeldHead {
  const text = state.head();
  const tree = new GrowingTree();
  if (text === null) return { head: null, tree };
  const head = signedHead(text, log);
  if (head === null) throw new InputError(`the checkpoint in the state folder is not one of ${log.key.name}`);
  for (const leaf of state.entries(0, head.checkpoint.size)) {
    tree.append(leaf);
    each(leaf);
  }
  if (!sameOctets(tree.root(), head.checkpoint.root))
    throw new InputError('the entries in the state folder are not those of its checkpoint');
  return { head, tree };
}

/** Null where the log has not signed it. */
export function signedHead(text: string, { key }: PolicyLog): Head | null {
  const checkpoint = parseCheckpoint(text);
  if (checkpoint?.origin !== key.name) return null;
  const lines = checkpoint.note.signatures.filter(({ name, keyId }) => name === key.name && keyId === key.id);
  const { text: signed } = checkpoint.note;
  const isSigned = lines.length > 0 && lines.every((line) => verifyNoteSignature(signed, key, line) === null);
  return isSigned ? { text, checkpoint } : null;
}

export interface Growth {
  readonly alarms: readonly Alarm[];
  /** What to hold from now on, once its entries are looked at; null: there is nothing to take over. */
  readonly next: HeldHead | null;
}

/** Reads the log's checkpoint, and what is new of its entries into the folder. Nothing counts before `StateFolder.keepHead`. */
export async function readGrowth(watched: Watched, held: HeldHead, checkTime: () => void): Promise<Growth> {
  const { policy, log } = watched;
  const octets = await watched.read('checkpoint', NOTE_OCTETS);
  if (octets === null) throw new InputError('the log has published no checkpoint');
  const text = Buffer.from(octets).toString();
  const shown = signedHead(text, log);
  const judged = checkNote(text, policy);
  const untrusted = (reason: string): Growth => ({
    alarms: [alarm('checkpoint_untrusted', reason, { ...notes(held), 'shown.checkpoint': text })],
    next: null,
  });
  if (shown === null) return untrusted(judged.valid ? 'another log of the policy signed it' : judged.reason);
  // Also without a quorum: that the log signed two histories is then shown by both notes.
  const compared = await compareHeads(watched, held, shown, checkTime);
  if ('alarm' in compared) return { alarms: [compared.alarm], next: null };
  if (!judged.valid) return untrusted(judged.reason);
  return { alarms: [], next: { head: shown, tree: compared.tree } };
}

/** Whether another note of the log is of the history that is held. @param text of the note, which somebody else was shown */
export async function compareNote(
  watched: Watched,
  held: HeldHead,
  text: string,
  checkTime: () => void,
): Promise<Alarm | null> {
  const other = signedHead(text, watched.log);
  if (other === null) throw new InputError(`the note to compare is not signed by ${watched.log.key.name}`);
  for (let tries = 1; ; tries++) {
    try {
      const compared = await compareHeads(watched, held, other, checkTime, 'compared.checkpoint');
      // An older note of the same history.
      if ('alarm' in compared) return compared.alarm.code === 'shrunk' ? null : compared.alarm;
      return null;
    } catch (error) {
      if (!(error instanceof MissingEntries)) throw error;
      if (tries === TRIES) {
        const { size } = other.checkpoint;
        const reason = `the log signed size ${size} too, and has no entries that lead there from size ${held.tree.size}`;
        return alarm('two_histories', reason, { ...notes(held), 'compared.checkpoint': text });
      }
      await watched.pause(PAUSE_MS);
    }
  }
}

class MissingEntries extends InputError {}

/** @returns the tree of the other head, which continues the one that is held */
async function compareHeads(
  { state, read }: Watched,
  held: HeldHead,
  { text, checkpoint: { size, root } }: Head,
  checkTime: () => void,
  file = 'shown.checkpoint',
): Promise<{ readonly tree: GrowingTree } | { readonly alarm: Alarm }> {
  const evidence: Record<string, string | Uint8Array> = { ...notes(held), [file]: text };
  const forked = (): { readonly alarm: Alarm } => ({
    alarm: alarm(
      'two_histories',
      `the log signed size ${size}, which does not continue size ${held.tree.size}`,
      evidence,
    ),
  });
  if (size < held.tree.size) {
    const before = new GrowingTree();
    for (const leaf of state.entries(0, size)) before.append(leaf);
    if (!sameOctets(before.root(), root)) return forked();
    return { alarm: alarm('shrunk', `the log shows size ${size}, and had size ${held.tree.size}`, evidence) };
  }
  if (size > LIMITS.monitorEntries)
    throw new InputError(`the log has more than ${LIMITS.monitorEntries} entries`);
  const tree = new GrowingTree(held.tree);
  let unkept: InputError | null = null;
  for (let n = Math.floor(tree.size / TILE_WIDTH); tree.size < size; n++) {
    // Tiles that come slowly must not keep a monitor from everything else.
    checkTime();
    const width = tileWidth('entries', n, size);
    const path = tilePath({ level: 'entries', n, width });
    const octets = await read(path, BUNDLE_OCTETS);
    if (octets === null) throw new MissingEntries(`the log does not serve ${path} of its checkpoint`);
    const leaves = decodeEntries(octets, width);
    if (leaves === null) throw new InputError(`${path} of the log is not ${width} entries`);
    // What is held stays: the first of them are our own, whatever the log shows in their place.
    const own = tree.size - n * TILE_WIDTH;
    const fresh = leaves.slice(own);
    for (const leaf of fresh) tree.append(leaf);
    const whole = own === 0 ? leaves : [...state.entries(n * TILE_WIDTH, held.tree.size), ...fresh];
    try {
      // A full disk does not hide another history, which is known without a bundle.
      if (unkept === null) state.putBundle(n, whole);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      unkept = error;
    }
    evidence[`entries-${n}`] = octets;
    // The first and the last are kept.
    if (n > Math.floor(held.tree.size / TILE_WIDTH) + 1) delete evidence[`entries-${n - 1}`];
  }
  if (!sameOctets(tree.root(), root)) return forked();
  if (unkept !== null) throw unkept;
  return { tree };
}

function notes({ head }: HeldHead): Record<string, string> {
  return head === null ? {} : { 'held.checkpoint': head.text };
}

/** The newest cosignature of what is held, unix second; 0: none. */
export function cosignedAt({ policy }: Watched, { head }: HeldHead): number {
  return head === null ? 0 : Math.max(0, ...checkNote(head.text, policy).cosigners.map(({ time }) => time));
}

/** Null while a quorum cosigned the checkpoint within 24 hours. */
export function staleness({ policy, now }: Watched, { head }: HeldHead): Alarm | null {
  if (head === null) return null;
  const { cosigners } = checkNote(head.text, policy);
  const since = Math.floor(now() / 1000) - HOURS_24;
  const fresh = cosigners.filter(({ time }) => time >= since);
  if (isQuorum(policy, new Set(fresh.map(({ name }) => name)))) return null;
  const newest = Math.max(...cosigners.map(({ time }) => time));
  const when = Number.isFinite(newest) ? new Date(newest * 1000).toISOString() : 'never';
  return alarm('stale', `no quorum cosigned the log within 24 hours, the last witness at ${when}`, {
    'held.checkpoint': head.text,
  });
}
