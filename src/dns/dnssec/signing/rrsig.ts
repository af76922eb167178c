/** RRSIG records (RFC 4034 §3). */

import { CLASS } from '../../../protocol/dns/codes.ts';
import { isSubdomain, labelCount, putFolded } from '../../../protocol/dns/name.ts';
import { SIGNATURE_OCTETS } from '../keys/algorithms.ts';
import { canonicalRdatas, type SignableRrset } from './canonical.ts';
import type { PreparedKey } from './prepared-key.ts';

export interface SignatureParams {
  /** Apex of the zone, in wire form. */
  readonly signer: Uint8Array;
  /** Seconds since the epoch. */
  readonly inception: number;
  readonly expiration: number;
}

export interface SignatureWindow {
  /** Seconds since the epoch. */
  readonly inception: number;
  readonly expiration: number;
  /** Inception, milliseconds since the epoch. */
  readonly validFrom: number;
  /** Milliseconds since the epoch. */
  readonly renewAt: number;
}

const HOUR_MS = 3_600_000;
const HOUR_S = 3600;
const LIFE_S = 7 * 24 * HOUR_S;
/** Three days of seven: before half of the validity is over. */
const RENEW_AFTER_MS = 72 * HOUR_MS;
/** Octets of RRSIG rdata before the signer's name (RFC 4034 §3.1). */
const PREFIX = 18;
/** Octets of type, class, TTL and length. */
const RR_FIXED = 10;
const LABEL_STAR = 0x2a;

/** What is signed. Filled and read within one call of `signRrsetWith`. */
let scratch = Buffer.allocUnsafeSlow(4096);

/**
 * The validity of a signature made now: from an hour ago, for late clocks, to seven days ahead. Both ends are whole
 * hours, so that all threads and nodes sign alike within one.
 * @param now milliseconds since the epoch
 */
export function signatureWindow(now: number): SignatureWindow {
  const hour = Math.floor(now / HOUR_MS);
  return {
    inception: (hour - 1) * HOUR_S,
    expiration: hour * HOUR_S + LIFE_S,
    validFrom: (hour - 1) * HOUR_MS,
    renewAt: hour * HOUR_MS + RENEW_AFTER_MS,
  };
}

/**
 * RRSIG rdata over the rrset, one for each key in their order. The signed octets are built once: keys differ in three
 * of them. The rdata are in Node's pool: copy what is kept for long.
 * @throws RangeError for an empty rrset, and an owner outside the signer's zone
 */
export function signRrsetWith(
  rrset: SignableRrset,
  keys: readonly PreparedKey[],
  params: SignatureParams,
): Uint8Array[] {
  if (rrset.rdata.length === 0) throw new RangeError('an rrset without records');
  if (!isSubdomain(rrset.owner, params.signer)) throw new RangeError('an owner outside the zone');
  const octets = signedOctets(rrset, params);
  const head = PREFIX + params.signer.length;
  return keys.map((key) => {
    octets[2] = key.algorithm;
    octets[16] = key.keyTag >>> 8;
    octets[17] = key.keyTag & 0xff;
    const rdata = Buffer.allocUnsafe(head + SIGNATURE_OCTETS);
    octets.copy(rdata, 0, 0, head);
    key.sign(octets, rdata, head);
    return rdata;
  });
}

/**
 * The signed octets (RFC 4034 §3.1.8.1): RRSIG rdata up to the signature, then the records. Algorithm and tag are written for each key.
 */
function signedOctets(rrset: SignableRrset, { signer, inception, expiration }: SignatureParams): Buffer {
  const { owner } = rrset;
  const rdatas = canonicalRdatas(rrset);
  let length = PREFIX + signer.length;
  for (const rdata of rdatas) length += owner.length + RR_FIXED + rdata.length;
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(length);
  const octets = scratch.subarray(0, length);
  octets.writeUInt16BE(rrset.type, 0);
  octets[3] = signedLabels(owner);
  octets.writeUInt32BE(rrset.ttl, 4);
  // Times are serial numbers of 32 bits (RFC 4034 §3.1.5): they wrap in 2106.
  octets.writeUInt32BE(expiration >>> 0, 8);
  octets.writeUInt32BE(inception >>> 0, 12);
  let at = putFolded(octets, PREFIX, signer);
  for (const rdata of rdatas) {
    at = putFolded(octets, at, owner);
    at = octets.writeUInt16BE(rrset.type, at);
    at = octets.writeUInt16BE(rrset.class ?? CLASS.IN, at);
    at = octets.writeUInt32BE(rrset.ttl, at);
    at = octets.writeUInt16BE(rdata.length, at);
    octets.set(rdata, at);
    at += rdata.length;
  }
  return octets;
}

/** Labels of the owner; neither the root nor a leftmost `*` counts (RFC 4034 §3.1.3). */
function signedLabels(owner: Uint8Array): number {
  const isWildcard = owner[0] === 1 && owner[1] === LABEL_STAR;
  return labelCount(owner) - (isWildcard ? 1 : 0);
}
