/** The TXT values in which nodes answer proofs and checkpoints of the transparency log. */
import { TINDEX_VERSION } from '../../base/brand.ts';
import { LIMITS } from '../../base/limits.ts';
import { decodeBase64 } from '../encodings.ts';

const HEAD = `v=${TINDEX_VERSION}`;

interface Named {
  readonly slug: string;
  readonly version: string;
}

export interface ProofAnswer extends Named {
  /** A tlog-proof. */
  readonly proof: string;
}

/** @param base64 of a tlog-proof */
export function proofTxt({ slug, version }: Named, base64: string): string {
  return `${HEAD};ds=${slug};ver=${version};e=b64;d=${base64}`;
}

/** @param base64 of a signed note */
export function checkpointTxt(base64: string): string {
  return `${HEAD};e=b64;d=${base64}`;
}

/** Octets of the longest text that Base64 brings into a TXT value after so many octets. */
function roomAfter(octets: number): number {
  return Math.floor((LIMITS.txtValue - octets) / 4) * 3;
}

/** Octets of the longest proof of this version that a DNS answer holds. Whoever publishes chooses cosignatures by it. */
export function proofRoom(named: Named): number {
  return roomAfter(proofTxt(named, '').length);
}

/** Octets of the longest checkpoint that a DNS answer holds. */
export const CHECKPOINT_ROOM = roomAfter(checkpointTxt('').length);

const PROOF = new RegExp(`^${HEAD};ds=([a-z0-9-]+);ver=([0-9.]+);e=b64;d=([A-Za-z0-9+/]+=*)$`);
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What `proofTxt` wrote; null for anything else. @param value one character for each octet */
export function readProofTxt(value: string): ProofAnswer | null {
  if (value.length > LIMITS.txtValue) return null;
  const [, slug, version, base64] = PROOF.exec(value) ?? [];
  const octets = decodeBase64(base64 ?? '');
  if (slug === undefined || version === undefined || octets === null) return null;
  try {
    return { slug, version, proof: decoder.decode(octets) };
  } catch {
    return null;
  }
}
