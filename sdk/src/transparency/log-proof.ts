/** Proofs of the transparency log of datasets (docs/TRANSPARENCY.md), by WebCrypto and without network. */

import { type Checkpoint, parseCheckpoint } from '../../../src/protocol/transparency/checkpoint.ts';
import {
  COSIGNER_KEY,
  keyIdInput,
  keyIdOfHash,
  signedOctets,
} from '../../../src/protocol/transparency/note.ts';
import {
  judgeCheckpoint,
  parsePolicy,
  type SignatureCheck,
  signatureChecks,
} from '../../../src/protocol/transparency/policy.ts';
import { type LogProof, parseLogProof } from '../../../src/protocol/transparency/proof.ts';
import { inclusionSides } from '../../../src/protocol/transparency/subtrees.ts';
import { verifierOf } from '../dns/dnssec/verify-signature.ts';

export interface ProofCosigner {
  /** Of the witness, as the policy has it. */
  readonly name: string;
  /** Unix second. */
  readonly time: number;
}

/** One hash of the proof, and the node that it makes together with the node below. */
export interface ProofStep {
  readonly side: 'left' | 'right';
  readonly sibling: Uint8Array;
  readonly node: Uint8Array;
}

/** What a proof says by itself. */
interface ProofPath {
  /** Of the log. */
  readonly origin: string;
  /** Entries of the log at the checkpoint, and number of this one from zero. */
  readonly size: number;
  readonly index: number;
  readonly leafHash: Uint8Array;
  /** From the leaf to the root. The last node is the root; without a step the leaf is. */
  readonly path: readonly ProofStep[];
}

/** A proof as it is written. Nobody's signature is checked. */
export interface ReadProof extends ProofPath {
  /** Whether the path from this leaf ends in the root of the checkpoint. */
  readonly leadsToRoot: boolean;
  /** By the names of the signature lines, in their order. */
  readonly cosigners: readonly ProofCosigner[];
}

export interface ProvedEntry extends ProofPath {
  readonly valid: true;
  /** In the order of the policy. */
  readonly cosigners: readonly ProofCosigner[];
}

export type LogProofFault =
  /** The policy is none, or has a key whose id is wrong. */
  | 'policy_malformed'
  /** No log of the policy signed the checkpoint, no quorum cosigned it, or a signature of a known key is wrong. */
  | 'checkpoint_untrusted'
  /** It does not lead from this leaf to the root. */
  | 'proof_wrong'
  /** This runtime has no Ed25519. */
  | 'unsupported';

export type LogProofCheck =
  | ProvedEntry
  | { readonly valid: false; readonly code: LogProofFault; readonly reason: string };

const ED25519 = 15;
/** What is hashed begins with it (RFC 6962 section 2.1). */
const LEAF = 0;
const NODE = 1;

/**
 * Whether a transparency log has this entry, for everyone who reads it.
 * @param leaf the TXT value of the manifest or key, octet for octet @param proof text of a tlog-proof
 * @param policy text of a policy that you have from the publisher, never from the server that you check
 */
export async function verifyLogProof(
  leaf: Uint8Array | string,
  proof: string,
  policy: string,
): Promise<LogProofCheck> {
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) return fault('unsupported', 'this runtime has no WebCrypto');
  const trusted = parsePolicy(policy);
  if (!trusted.ok) return fault('policy_malformed', trusted.faults[0] ?? '');
  for (const { key } of [...trusted.policy.logs, ...trusted.policy.witnesses]) {
    const id = keyIdOfHash(await sha256(keyIdInput(key)));
    if (id !== key.id)
      return fault('policy_malformed', `the key of ${key.name} has another id than ${key.id}`);
  }
  const read = parseLogProof(proof);
  if (read === null) return fault('proof_wrong', 'the proof is no tlog-proof');
  const checkpoint = parseCheckpoint(read.checkpoint);
  const checks = checkpoint === null ? [] : signatureChecks(checkpoint, trusted.policy);
  const verified = new Set<SignatureCheck>();
  for (const check of checks) {
    const result = await verify(check);
    if (result === 'unsupported') return fault('unsupported', 'this runtime has no Ed25519');
    if (result === 'valid') verified.add(check);
  }
  const judged = judgeCheckpoint(checkpoint, trusted.policy, checks, verified);
  if (!judged.valid) return fault('checkpoint_untrusted', judged.reason);
  const { origin, size } = judged.checkpoint;
  const walked = await walk(leaf, read, judged.checkpoint);
  if (!walked?.leadsToRoot) {
    return fault(
      'proof_wrong',
      'the proof does not lead from this entry to the root of the log: it is of another one',
    );
  }
  const { leafHash, path } = walked;
  const cosigners = judged.cosigners.map(({ name, time }) => ({ name, time }));
  return { valid: true, origin, size, index: read.index, leafHash, path, cosigners };
}

/** Reads a proof to show it. It proves nothing: whoever sends it may have made up all of it. Null: it is malformed. */
export async function readLogProof(leaf: Uint8Array | string, proof: string): Promise<ReadProof | null> {
  const read = parseLogProof(proof);
  const checkpoint = read && parseCheckpoint(read.checkpoint);
  if (!read || !checkpoint) return null;
  const walked = await walk(leaf, read, checkpoint);
  if (!walked) return null;
  const { origin, size, note } = checkpoint;
  const cosigners = note.signatures.flatMap(({ name, octets }) => {
    const time = signedOctets(note.text, COSIGNER_KEY, octets)?.time ?? null;
    return time === null ? [] : [{ name, time }];
  });
  return { origin, size, index: read.index, ...walked, cosigners };
}

async function walk(
  leaf: Uint8Array | string,
  { index, hashes }: LogProof,
  { size, root }: Checkpoint,
): Promise<Pick<ReadProof, 'leafHash' | 'path' | 'leadsToRoot'> | null> {
  const leafHash = await sha256(LEAF, typeof leaf === 'string' ? new TextEncoder().encode(leaf) : leaf);
  const path = await pathOf(leafHash, inclusionSides(index, size), hashes);
  const top = path?.at(-1)?.node ?? leafHash;
  return path && { leafHash, path, leadsToRoot: top.every((octet, at) => octet === root[at]) };
}

function verify({ signer, signed }: SignatureCheck): ReturnType<ReturnType<typeof verifierOf>> {
  if (signed === null) return Promise.resolve('no_match');
  const { publicKey } = signer.key;
  return verifierOf({ algorithm: ED25519, publicKey })(signed.signature, signed.message);
}

/** Null where the proof has another number of hashes than the leaf needs. */
async function pathOf(
  leaf: Uint8Array,
  sides: ReturnType<typeof inclusionSides>,
  hashes: readonly Uint8Array[],
): Promise<readonly ProofStep[] | null> {
  if (sides?.length !== hashes.length) return null;
  const path: ProofStep[] = [];
  for (const [at, side] of sides.entries()) {
    const below = path.at(-1)?.node ?? leaf;
    const sibling = hashes[at]!;
    const node = side === 'left' ? await sha256(NODE, sibling, below) : await sha256(NODE, below, sibling);
    path.push({ side, sibling, node });
  }
  return path;
}

async function sha256(...parts: readonly (Uint8Array | number)[]): Promise<Uint8Array> {
  const octets = Uint8Array.from(parts.flatMap((part) => (typeof part === 'number' ? [part] : [...part])));
  return new Uint8Array(await crypto.subtle.digest('SHA-256', octets));
}

function fault(code: LogProofFault, reason: string): LogProofCheck {
  return { valid: false, code, reason };
}
