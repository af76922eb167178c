/** What a quorum has cosigned is stored and told to nodes: the checkpoint, and the proof of each manifest that it covers. */

import { CHECKPOINT_ROOM, proofRoom } from '../../protocol/datasets/log-txt.ts';
import { parseNote, printNote } from '../../protocol/transparency/note.ts';
import { isQuorum, type TrustPolicy } from '../../protocol/transparency/policy.ts';
import { printLogProof } from '../../protocol/transparency/proof.ts';
import { sameOctets } from '../../protocol/transparency/tree.ts';
import { logCheckpointChanges, logProofChanges } from '../../store/dataset-changes.ts';
import { retiredAmong } from '../../store/datasets.ts';
import { appendChanges, type NewBody, type NewChange } from '../../store/log/change-log.ts';
import type { Store } from '../../store/store.ts';
import {
  holdLogHead,
  type LogEntry,
  lastPublishedCheckpoint,
  publishLogCheckpoint,
  setLogProof,
  signedCheckpointOf,
  unprovedManifests,
} from '../../store/transparency.ts';
import { inclusionsAt } from './tree.ts';
import type { LogCheckpointNote, WitnessAnswer } from './witnesses.ts';

/** Manifests that one unit proves. More come after the start of a log. */
const UNIT_PROOFS = 100;

export interface PublishOptions {
  readonly store: Store;
  readonly policy: TrustPolicy;
  readonly checkpoint: LogCheckpointNote;
  readonly answers: readonly WitnessAnswer[];
  readonly now: number;
}

/**
 * Publishes a checkpoint that a quorum cosigned, and proves the manifests below it that have no proof. A proof is made once.
 * @returns whether it was published: another process may have published a larger one meanwhile, or the database lost it
 */
export async function publishCheckpoint(options: PublishOptions): Promise<boolean> {
  const { store, checkpoint } = options;
  let isFirst = true;
  for (;;) {
    const entries = await unprovedManifests(store.read, checkpoint.size, UNIT_PROOFS);
    if (entries.length === 0 && !isFirst) return true;
    const proofs = await proofsOf(options, entries);
    if (!(await publishUnit(options, entries, proofs, isFirst))) return false;
    isFirst = false;
    if (entries.length < UNIT_PROOFS) return true;
  }
}

async function proofsOf({ store, ...options }: PublishOptions, entries: readonly LogEntry[]) {
  const { size } = options.checkpoint;
  const indexes = entries.map(({ idx }) => idx);
  const hashes = await inclusionsAt(store.read, indexes, size);
  return entries.map(({ idx: index, name }, at) => {
    const proof = { index, hashes: hashes[at]!, extra: null };
    const head = Buffer.byteLength(printLogProof({ ...proof, checkpoint: '' }));
    return printLogProof({
      ...proof,
      checkpoint: cosignedNote(options, proofRoom(versionNamed(name)) - head),
    });
  });
}

function publishUnit(
  options: PublishOptions,
  entries: readonly LogEntry[],
  proofs: readonly string[],
  isFirst: boolean,
): Promise<boolean> {
  const { store, checkpoint, now } = options;
  return store.write(async (tx) => {
    await holdLogHead(tx);
    // A standby that lacks it may have taken the place of the database: then the proofs are of other entries.
    const signed = await signedCheckpointOf(tx, checkpoint.size);
    if (signed === null || !sameOctets(signed.root, checkpoint.root)) return false;
    const published = await lastPublishedCheckpoint(tx);
    if (published !== null && published.size > checkpoint.size) return false;
    const changes: NewChange[] = [];
    // A unit that retires a version holds the head too: it is before this one, or its change comes after ours.
    const retired = await retiredAmong(
      tx,
      entries.flatMap(({ version_id: id }) => (id === null ? [] : [id])),
    );
    for (const [at, { idx, name, version_id: versionId }] of entries.entries()) {
      const proof = proofs[at]!;
      if (!(await setLogProof(tx, idx, proof))) continue;
      if (versionId !== null && !retired.has(versionId)) changes.push(...proofChange(name, versionId, proof));
    }
    if (isFirst) {
      const note = cosignedNote(options, CHECKPOINT_ROOM);
      await publishLogCheckpoint(tx, checkpoint.size, note, now);
      changes.push(...checkpointChange(note));
    }
    if (changes.length > 0) await appendChanges(tx, changes, now);
    return true;
  });
}

const toNodes = (body: NewBody): NewChange => ({ owner: null, cause: 'direct', ...body });

/** The change that gives nodes the published head; none where no answer over DNS has room for it. */
export function checkpointChange(note: string): NewChange[] {
  return logCheckpointChanges(note).map(toNodes);
}

/**
 * The change that gives nodes a proof; none where no answer over DNS has room for it: then HTTPS alone has it.
 * @param name `slug@version`
 */
export function proofChange(name: string, versionId: string, proof: string): NewChange[] {
  return logProofChanges({ ...versionNamed(name), proof }, versionId).map(toNodes);
}

function versionNamed(name: string) {
  const at = name.lastIndexOf('@');
  return { slug: name.slice(0, at), version: name.slice(at + 1) };
}

/**
 * The note with its cosignatures in the order of the policy: as many as fit into so many octets where a quorum is among them, else all, and then
 * it is too long for DNS.
 */
export function cosignedNote(
  { policy, checkpoint, answers }: Pick<PublishOptions, 'policy' | 'checkpoint' | 'answers'>,
  octets: number,
): string {
  const signed = parseNote(checkpoint.note);
  if (signed === null) throw new Error('a signed checkpoint cannot be read');
  // Without those of an earlier round: the log's own line stays.
  const own = signed.signatures.slice(0, 1);
  const lines = policy.witnesses.flatMap((witness) => {
    const cosignature = answers.find((answer) => answer.witness === witness)?.cosignature ?? null;
    return cosignature === null ? [] : [{ name: witness.name, cosignature }];
  });
  const print = (some: typeof lines): string =>
    printNote({ text: signed.text, signatures: [...own, ...some.map(({ cosignature }) => cosignature)] });
  const fits = (count: number): boolean => Buffer.byteLength(print(lines.slice(0, count))) <= octets;
  let count = 0;
  while (count < lines.length && fits(count + 1)) count++;
  const among = lines.slice(0, count);
  return print(isQuorum(policy, new Set(among.map(({ name }) => name))) ? among : lines);
}
