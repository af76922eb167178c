/** RRSIG records (RFC 4034 §3). */

import type { KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';
import { FNV_START, fnvEnd, fnvStep } from '../../base/hashes.ts';
import { CLASS, DNSSEC_ALGORITHM, RRTYPE } from '../../protocol/dns/codes.ts';
import { foldName, isSubdomain, labelCount, putFolded } from '../../protocol/dns/name.ts';
import { copyOctets } from '../../protocol/dns/octets.ts';
import { algorithmOf, SIGNATURE_OCTETS, type ZoneKey } from './key-set.ts';

export interface SignatureParams {
  /** Apex of the zone, in wire form. */
  readonly signer: Uint8Array;
  /** Seconds since the epoch. */
  readonly inception: number;
  readonly expiration: number;
}

interface SignatureWindow {
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
const DAY_S = 24 * HOUR_S;
const LIFE_S = 7 * DAY_S;
/** Two and a half to three days of seven: before half of the validity is over. */
const RENEW_AFTER_MS = 72 * HOUR_MS;
const RENEW_SPREAD_MS = 12 * HOUR_MS;
/** Octets of RRSIG rdata before the signer's name (RFC 4034 §3.1). */
const PREFIX = 18;
/** Octets of type, class, TTL and length. */
const RR_FIXED = 10;
const LABEL_STAR = 0x2a;

/** What is signed. Filled and read within one call of `signRrsetWith`. */
let scratch = Buffer.allocUnsafeSlow(4096);

/**
 * The validity of a signature made now: from an hour ago, for late clocks, to seven days ahead, and later by the TTL where that is
 * more than a day. A cache that does not validate keeps a signature for the TTL, and at its renewal only four days of the seven are
 * left (RFC 6781 §4.4.2). Both ends are whole hours, so that all threads and nodes sign alike within one. Renewals are spread by owner
 * and type, so that those of all signatures that were made in one hour, as after a start, are not due in one millisecond.
 * @param now milliseconds since the epoch
 */
export function signatureWindow(
  now: number,
  { owner, type, ttl }: Pick<SignableRrset, 'owner' | 'type' | 'ttl'>,
): SignatureWindow {
  const hour = Math.floor(now / HOUR_MS);
  const earlier = fnvEnd(fnvStep(nameHash(owner), type)) % RENEW_SPREAD_MS;
  return {
    inception: (hour - 1) * HOUR_S,
    expiration: hour * HOUR_S + LIFE_S + (ttl > DAY_S ? ttl : 0),
    validFrom: (hour - 1) * HOUR_MS,
    renewAt: hour * HOUR_MS + RENEW_AFTER_MS - earlier,
  };
}

/** Begins a hash (`fnvEnd`) with a name. Case is ignored. */
export function nameHash(name: Uint8Array): number {
  let hash = FNV_START;
  // Setting the case bit of every octet makes some names collide, which a hash may do.
  for (let i = 0; i < name.length; i++) hash = fnvStep(hash, name[i]! | 0x20);
  return hash;
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

// Private keys, ready to sign: Ed25519 with libsodium where that can be loaded, else with node:crypto.

/** The part of the optional package `sodium-native` that signs. All memory is written in place. */
export interface Sodium {
  /** Locked memory between guard pages, overwritten when it is freed. */
  sodium_malloc(octets: number): Buffer;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Uint8Array, octets: Uint8Array, secretKey: Buffer): void;
}

/** Null where the package is missing or has no binary for this platform. Any number of threads may load it. */
export function loadSodium(name = 'sodium-native'): Sodium | null {
  try {
    return createRequire(import.meta.url)(name) as Sodium;
  } catch {
    return null;
  }
}

export type SigningKey = Pick<ZoneKey, 'algorithm' | 'keyTag' | 'privateKey'>;

export interface PreparedKey {
  readonly algorithm: number;
  readonly keyTag: number;
  /** Writes the signature of an RRSIG record, `SIGNATURE_OCTETS` long, to `out` at `at`. */
  sign(octets: Uint8Array, out: Uint8Array, at: number): void;
}

/** Octets of the two forms of an Ed25519 private key. The seed is the end of its PKCS #8 form (RFC 8410 §7). */
const SEED_OCTETS = 32;
const SECRET_OCTETS = 64;

/** One choice for the thread. Undefined: not made yet. */
let chosen: Sodium | null | undefined;

/** @param sodium null: node:crypto signs */
export function prepareKey(key: SigningKey, sodium = chosenSodium()): PreparedKey {
  const { algorithm, keyTag, privateKey } = key;
  const isEd25519 = algorithm === DNSSEC_ALGORITHM.ED25519 && privateKey.asymmetricKeyType === 'ed25519';
  if (isEd25519 && sodium !== null) return { algorithm, keyTag, sign: sodiumSign(privateKey, sodium) };
  return {
    algorithm,
    keyTag,
    sign: (octets, out, at) => algorithmOf(algorithm).sign(octets, privateKey, out, at),
  };
}

function chosenSodium(): Sodium | null {
  if (chosen === undefined) chosen = loadSodium();
  return chosen;
}

function sodiumSign(privateKey: KeyObject, sodium: Sodium): PreparedKey['sign'] {
  const secret = sodium.sodium_malloc(SECRET_OCTETS);
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  sodium.crypto_sign_seed_keypair(Buffer.alloc(SEED_OCTETS), secret, pkcs8.subarray(-SEED_OCTETS));
  pkcs8.fill(0);
  return (octets, out, at) => {
    sodium.crypto_sign_detached(out.subarray(at, at + SIGNATURE_OCTETS), octets, secret);
  };
}

// Canonical form and order of rrsets (RFC 4034 §6).

/** Records of one owner, class and type. Rdata are in wire form, with uncompressed names. */
export interface SignableRrset {
  readonly owner: Uint8Array;
  readonly type: number;
  /** IN when absent. */
  readonly class?: number;
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
}

/** The names of a type follow these octets and character strings, one after the other. */
interface Names {
  readonly head: number;
  readonly strings: number;
  readonly count: number;
}

const ONE_NAME: Names = { head: 0, strings: 0, count: 1 };
const TWO_NAMES: Names = { head: 0, strings: 0, count: 2 };
const PREFERENCE_AND_NAME: Names = { head: 2, strings: 0, count: 1 };

/** Types whose names become lower case: RFC 4034 §6.2 without NSEC (RFC 6840 §5.1), HINFO, and the unserved A6, NXT and PX. */
const FOLDED: ReadonlyMap<number, Names> = new Map<number, Names>([
  [RRTYPE.NS, ONE_NAME],
  [RRTYPE.MD, ONE_NAME],
  [RRTYPE.MF, ONE_NAME],
  [RRTYPE.CNAME, ONE_NAME],
  [RRTYPE.SOA, TWO_NAMES],
  [RRTYPE.MB, ONE_NAME],
  [RRTYPE.MG, ONE_NAME],
  [RRTYPE.MR, ONE_NAME],
  [RRTYPE.PTR, ONE_NAME],
  [RRTYPE.MINFO, TWO_NAMES],
  [RRTYPE.MX, PREFERENCE_AND_NAME],
  [RRTYPE.RP, TWO_NAMES],
  [RRTYPE.AFSDB, PREFERENCE_AND_NAME],
  [RRTYPE.RT, PREFERENCE_AND_NAME],
  [RRTYPE.SIG, { head: 18, strings: 0, count: 1 }],
  [RRTYPE.NAPTR, { head: 4, strings: 3, count: 1 }],
  [RRTYPE.KX, PREFERENCE_AND_NAME],
  [RRTYPE.SRV, { head: 6, strings: 0, count: 1 }],
  [RRTYPE.DNAME, ONE_NAME],
  [RRTYPE.RRSIG, { head: 18, strings: 0, count: 1 }],
]);

/** The rdata with the names of §6.2 in lower case; the same array for types that have none. */
export function canonicalRdata(type: number, rdata: Uint8Array): Uint8Array {
  const names = FOLDED.get(type);
  if (names === undefined) return rdata;
  const start = startOfNames(names, rdata);
  let end = start;
  for (let i = 0; i < names.count; i++) {
    while (end < rdata.length && rdata[end]! > 0) end += 1 + rdata[end]!;
    end++;
  }
  const folded = copyOctets(rdata, 0, rdata.length);
  folded.set(foldName(rdata.subarray(start, end)), start);
  return folded;
}

/** The rdata of an rrset in canonical form and order (§6.3), each once. */
export function canonicalRdatas({ type, rdata }: SignableRrset): readonly Uint8Array[] {
  if (rdata.length === 1) return [canonicalRdata(type, rdata[0]!)];
  const sorted = rdata.map((one) => canonicalRdata(type, one)).sort((a, b) => Buffer.compare(a, b));
  return sorted.filter((one, i) => i === 0 || Buffer.compare(one, sorted[i - 1]!) !== 0);
}

function startOfNames({ head, strings }: Names, rdata: Uint8Array): number {
  let at = head;
  for (let i = 0; i < strings; i++) at += 1 + (rdata[at] ?? 0);
  return Math.min(at, rdata.length);
}
