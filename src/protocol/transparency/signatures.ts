/** Signatures of notes with Node: keys, a log's signature, a witness's cosignature, and whether a policy trusts a checkpoint. */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { rawPublicKey } from '../datasets/attestation.ts';
import { parseCheckpoint } from './checkpoint.ts';
import {
  COSIGNER_KEY,
  cosignedText,
  encodeTime,
  keyIdInput,
  keyIdOfHash,
  LOG_KEY,
  type NoteSignature,
  noteSignature,
  parseVerifierKey,
  type SignedOctets,
  signedOctets,
  type VerifierKey,
} from './note.ts';
import {
  type CheckpointJudgement,
  judgeCheckpoint,
  type PolicyRead,
  parsePolicy,
  signatureChecks,
  type TrustPolicy,
} from './policy.ts';
import { parseLogProof } from './proof.ts';
import { leafHash, sha256, verifyInclusion } from './tree.ts';

export type ProofJudgement =
  | (Extract<CheckpointJudgement, { valid: true }> & { readonly index: number })
  | {
      readonly valid: false;
      readonly code: 'proof_wrong' | 'checkpoint_untrusted';
      readonly reason: string;
    };

/** The verifier key of a private or public Ed25519 key. @param type `LOG_KEY` or `COSIGNER_KEY` */
export function verifierKeyOf(name: string, type: number, key: KeyObject): VerifierKey {
  const unnamed = { name, type, publicKey: Uint8Array.from(rawPublicKey(key)) };
  return { ...unnamed, id: noteKeyId(unnamed) };
}

/** Null where the key is malformed, or its id is not that of its hash. */
export function readVerifierKey(text: string): VerifierKey | null {
  const key = parseVerifierKey(text);
  return key && noteKeyId(key) === key.id ? key : null;
}

/** As `parsePolicy`, with the ids of all keys checked. */
export function readPolicy(octets: Uint8Array | string): PolicyRead {
  const read = parsePolicy(octets);
  if (!read.ok) return read;
  const { logs, witnesses } = read.policy;
  const faults = [...logs, ...witnesses]
    .filter(({ key }) => noteKeyId(key) !== key.id)
    .map(({ key }) => `the key of ${key.name} must have the id ${noteKeyId(key)}, and has ${key.id}`);
  return faults.length > 0 ? { ok: false, faults } : read;
}

/** A log's signature. @param text of the note, with its last line feed */
export function signNote(text: string, name: string, privateKey: KeyObject): NoteSignature {
  return noteSignature(
    verifierKeyOf(name, LOG_KEY, privateKey),
    sign(null, new TextEncoder().encode(text), privateKey),
  );
}

/** A witness's signature. @param text of the checkpoint @param time unix second */
export function cosignNote(text: string, name: string, privateKey: KeyObject, time: number): NoteSignature {
  const signature = sign(null, new TextEncoder().encode(cosignedText(text, time)), privateKey);
  return noteSignature(
    verifierKeyOf(name, COSIGNER_KEY, privateKey),
    Buffer.concat([encodeTime(time), signature]),
  );
}

/**
 * Whether the line is a signature of this key over the text. Name and id of the line are compared too.
 * @returns the time of a cosignature, null for that of a log, undefined where it is no signature of the key
 */
export function verifyNoteSignature(
  text: string,
  key: VerifierKey,
  { name, keyId, octets }: NoteSignature,
): number | null | undefined {
  const signed = name === key.name && keyId === key.id ? signedOctets(text, key.type, octets) : null;
  return signed && isSigned(key, signed) ? signed.time : undefined;
}

/** Whether the policy trusts the checkpoint: the log signed it, a quorum cosigned it, and no line of a known key is wrong. */
export function checkNote(checkpoint: string, policy: TrustPolicy): CheckpointJudgement {
  const read = parseCheckpoint(checkpoint);
  const checks = read ? signatureChecks(read, policy) : [];
  const verified = checks.filter(({ signer, signed }) => signed !== null && isSigned(signer.key, signed));
  return judgeCheckpoint(read, policy, checks, new Set(verified));
}

/** Whether the proof shows that this leaf is in a log of the policy. Needs no network. */
export function checkLogProof(leaf: Uint8Array, text: string, policy: TrustPolicy): ProofJudgement {
  const proof = parseLogProof(text);
  if (!proof) return { valid: false, code: 'proof_wrong', reason: 'the proof is no tlog-proof' };
  const judged = checkNote(proof.checkpoint, policy);
  if (!judged.valid) return { valid: false, code: 'checkpoint_untrusted', reason: judged.reason };
  const { size, root } = judged.checkpoint;
  if (!verifyInclusion(leafHash(leaf), proof.index, size, proof.hashes, root)) {
    return {
      valid: false,
      code: 'proof_wrong',
      reason: 'the proof does not lead from this entry to the root of the log: it is of another one',
    };
  }
  return { ...judged, index: proof.index };
}

function noteKeyId(key: Omit<VerifierKey, 'id'>): string {
  return keyIdOfHash(sha256(keyIdInput(key)));
}

function isSigned({ publicKey }: VerifierKey, { message, signature }: SignedOctets): boolean {
  const x = Buffer.from(publicKey).toString('base64url');
  return verify(
    null,
    message,
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
    signature,
  );
}
