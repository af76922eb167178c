import { labelCount } from '../../../../src/protocol/dns/name.ts';
import { type DnsName, isAtOrBelow, isSameName } from '../message/cursor.ts';
import type { DnsMessage } from '../message/message.ts';
import type { RdataFields } from '../message/rdata.ts';
import { type ResourceRecord, rdataOf } from '../message/record.ts';
import { signedOctets } from './canonical.ts';
import { type Verifier, verifierOf } from './verify-signature.ts';
import { rrsetOf, type ZoneKey } from './zone-keys.ts';

/**
 * - `valid`
 * - `no_match`: the signature does not fit the records, or not the key
 * - `expired`, `not_yet_valid`: the time is outside of the signature's
 * - `no_key`: the zone has no key with this tag and algorithm
 * - `no_records`: the answer has no records of the signed type
 * - `wrong_signer`: signed by another zone than the one whose keys are known
 * - `wrong_labels`: made for another name, such as a wildcard
 * - `wrong_ttl`: a TTL is longer than the one that was signed; with `isDirect` also when it is shorter
 * - `unsupported`: this runtime cannot check the algorithm
 * - `too_many`: not checked, because those before it took all the verifications that a message may cost
 */
export type SignatureReason =
  | 'valid'
  | 'no_match'
  | 'expired'
  | 'not_yet_valid'
  | 'no_key'
  | 'no_records'
  | 'wrong_signer'
  | 'wrong_labels'
  | 'wrong_ttl'
  | 'unsupported'
  | 'too_many';

export interface SignatureCheck {
  readonly isValid: boolean;
  readonly reason: SignatureReason;
  readonly record: ResourceRecord;
  readonly rrsig: RdataFields['RRSIG'];
  /** The records that it signs. */
  readonly covers: readonly ResourceRecord[];
  /** The key that made it; null unless it is valid. A tag does not name it: keys may share one. */
  readonly key: ZoneKey | null;
}

export interface CheckTime {
  /** Milliseconds since the epoch. Default: now. */
  readonly now?: number | undefined;
  /** The server itself was asked, and no resolver: TTLs must be those that were signed. */
  readonly isDirect?: boolean | undefined;
}

// Without these bounds a message of 64 KiB costs a verification for each pair of signature and key (CVE-2023-50387).
const KEYS_OF_A_TAG_MAX = 4;
const VERIFICATIONS_MAX = 16;

/**
 * Checks every RRSIG record of a message against the keys of a zone: at most 16 verifications, one after another, and
 * at most 4 keys for a signature.
 */
export async function checkSignatures(
  message: DnsMessage,
  zone: DnsName,
  keys: readonly ZoneKey[],
  options: CheckTime = {},
): Promise<readonly SignatureCheck[]> {
  const work: Work = { candidates: keys.map((key) => ({ key, verify: verifierOf(key) })), done: 0 };
  const checks: SignatureCheck[] = [];
  for (const record of message.records) {
    const rrsig = rdataOf(record, 'RRSIG');
    if (rrsig === null) continue;
    const covers = rrsetOf(message, record, rrsig.covered).filter((one) => one.class === record.class);
    const pending = { record, rrsig, covers };
    const fault = faultOf(pending, zone, options);
    const outcome = fault === null ? await verified(pending, work) : { reason: fault, key: null };
    checks.push({ ...pending, ...outcome, isValid: outcome.reason === 'valid' });
  }
  return checks;
}

type Pending = Pick<SignatureCheck, 'record' | 'rrsig' | 'covers'>;
type Outcome = Pick<SignatureCheck, 'reason' | 'key'>;

interface Work {
  readonly candidates: readonly { readonly key: ZoneKey; readonly verify: Verifier }[];
  /** Verifications of this message so far. */
  done: number;
}

/** What RFC 4035, section 5.3.1, asks before the cryptography. */
function faultOf(
  { record, rrsig, covers }: Pending,
  zone: DnsName,
  options: CheckTime,
): SignatureReason | null {
  const [first] = covers;
  if (first === undefined) return 'no_records';
  if (!isSameName(rrsig.signer, zone) || !isAtOrBelow(first.owner, zone)) return 'wrong_signer';
  if (rrsig.labels !== labelCount(first.owner.wire)) return 'wrong_labels';
  const seconds = Math.floor((options.now ?? Date.now()) / 1000);
  if (isAfter(rrsig.inception, seconds)) return 'not_yet_valid';
  if (isAfter(seconds, rrsig.expiration)) return 'expired';
  const isWrong = ({ ttl }: ResourceRecord): boolean =>
    ttl > rrsig.originalTtl || (options.isDirect === true && ttl !== rrsig.originalTtl);
  return isWrong(record) || covers.some(isWrong) ? 'wrong_ttl' : null;
}

async function verified({ record, rrsig, covers }: Pending, work: Work): Promise<Outcome> {
  const candidates = work.candidates
    .filter(({ key }) => key.tag === rrsig.keyTag && key.algorithm === rrsig.algorithm)
    .slice(0, KEYS_OF_A_TAG_MAX);
  if (candidates.length === 0) return { reason: 'no_key', key: null };
  if (work.done >= VERIFICATIONS_MAX) return { reason: 'too_many', key: null };
  const octets = signedOctets({ canonical: record.canonical, fields: rrsig }, covers);
  let reason: SignatureReason = 'no_match';
  for (const { key, verify } of candidates) {
    if (work.done >= VERIFICATIONS_MAX) return { reason: 'too_many', key: null };
    work.done += 1;
    reason = await verify(rrsig.signature, octets);
    if (reason === 'valid') return { reason, key };
  }
  return { reason, key: null };
}

/** Serial number arithmetic of 32 bits (RFC 4034, section 3.1.5). */
function isAfter(a: number, b: number): boolean {
  const difference = (a - b) >>> 0;
  return difference !== 0 && difference < 0x8000_0000;
}
