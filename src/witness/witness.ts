/**
 * The rules of a witness (C2SP tlog-witness v1.0.0, `add-checkpoint`): it cosigns a checkpoint when that continues the one it cosigned last.
 * Another root for the same size is 422, as in the text of July 2026; v1.0.0 had 409, which clients answer by a new try.
 */
import { type Checkpoint, parseCheckpoint, parseDecimal } from '../protocol/transparency/checkpoint.ts';
import { COSIGNER_KEY, LOG_KEY, type NoteSignature, printNote } from '../protocol/transparency/note.ts';
import { parseHashes } from '../protocol/transparency/proof.ts';
import { cosignNote, readVerifierKey, verifyNoteSignature } from '../protocol/transparency/signatures.ts';
import { EMPTY_ROOT, verifyConsistency } from '../protocol/transparency/tree.ts';
import { type LogRow, originHash, type WitnessDatabase } from './database.ts';

export interface CosignReply {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
}

interface CosignRequest {
  readonly old: number;
  readonly proof: readonly Uint8Array[];
  readonly checkpoint: Checkpoint;
}

const OLD = 'old ';

/** @param now milliseconds. The new checkpoint is on disk when this returns. @throws what the database throws; nothing was cosigned then */
export function addCheckpoint(database: WitnessDatabase, body: Uint8Array, now: number): CosignReply {
  const request = readRequest(body);
  if (request === null)
    return { status: 400, body: 'expected: old SIZE, hashes, an empty line, a checkpoint\n' };
  return database.change(originHash(request.checkpoint.origin), (row) => {
    const refusal = row === null ? UNKNOWN : refusalOf(request, row);
    if (row === null || refusal !== null) return { keep: null, result: refusal ?? UNKNOWN };
    const { note, size, root } = request.checkpoint;
    const cosignature = cosignNote(note.text, database.name, database.key, Math.floor(now / 1000));
    const signatures = [...signaturesOfLog(request.checkpoint, row), cosignature];
    return {
      keep: { ...row, size, root, note: printNote({ text: note.text, signatures }) },
      result: { status: 200, body: `${cosignature.line}\n` },
    };
  });
}

const UNKNOWN: CosignReply = { status: 404, body: 'this witness does not know the log\n' };
const UNTRUSTED: CosignReply = { status: 403, body: 'the log has not signed this checkpoint\n' };
const BACKWARDS: CosignReply = { status: 400, body: 'the old size is above the size of the checkpoint\n' };
const INCONSISTENT: CosignReply = { status: 422, body: 'not proved to continue what was cosigned last\n' };

/** The checks, in the order of the text. Null: the checkpoint continues the row. */
function refusalOf({ old, proof, checkpoint }: CosignRequest, row: LogRow): CosignReply | null {
  if (signaturesOfLog(checkpoint, row).length === 0) return UNTRUSTED;
  if (old > checkpoint.size) return BACKWARDS;
  if (old !== row.size) return { status: 409, type: 'text/x.tlog.size', body: `${row.size}\n` };
  const { size, root } = checkpoint;
  // A size of zero has one root; the row of a new log has it.
  return verifyConsistency(old, row.root, size, root, proof) ? null : INCONSISTENT;
}

/** Its lines of the key that is trusted. None where one of them is wrong: such a note is malformed. */
function signaturesOfLog({ note }: Checkpoint, { vkey }: LogRow): readonly NoteSignature[] {
  const key = readVerifierKey(vkey)!;
  const lines = note.signatures.filter(({ name, keyId }) => name === key.name && keyId === key.id);
  return lines.every((line) => verifyNoteSignature(note.text, key, line) === null) ? lines : [];
}

/** Null for what is not `old SIZE`, at most 63 hashes, an empty line and a checkpoint. */
function readRequest(body: Uint8Array): CosignRequest | null {
  const text = decode(body);
  const end = text?.indexOf('\n\n') ?? -1;
  if (text === null || end < 0) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\n');
  const old = first.startsWith(OLD) ? parseDecimal(first.slice(OLD.length)) : null;
  const proof = parseHashes(lines);
  const checkpoint = parseCheckpoint(text.slice(end + 2));
  return old === null || proof === null || checkpoint === null ? null : { old, proof, checkpoint };
}

function decode(octets: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    return null;
  }
}

/** For monitors: what was cosigned last, with both signatures. */
export function latestCheckpoint(database: WitnessDatabase, hash: string): CosignReply {
  const note = database.log(hash)?.note ?? null;
  return note === null ? UNKNOWN : { status: 200, body: note };
}

/** @returns why the log is not trusted, or null. @param vkey as `uqrp log init` prints it */
export function trustLog(database: WitnessDatabase, vkey: string): string | null {
  const key = readVerifierKey(vkey);
  if (key?.type === COSIGNER_KEY)
    return 'it is the key of a witness. That of the log is printed by uqrp log init, and stands in its policy';
  if (key?.type !== LOG_KEY) return 'it is not a verifier key of a log';
  const hash = originHash(key.name);
  return database.addLog(hash, { vkey, size: 0, root: EMPTY_ROOT, note: null }) === vkey
    ? null
    : `another key of ${key.name} is trusted already: a log with a new key has a new origin`;
}
