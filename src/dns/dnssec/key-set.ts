import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { DNSSEC_ALGORITHM, RRTYPE } from '../../protocol/dns/codes.ts';
import { foldName, nameFromText, nameToText } from '../../protocol/dns/name.ts';
import { concatOctets } from '../../protocol/dns/octets.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';

/**
 * Every key of a set is in the DNSKEY rrset.
 * - `published`: it does not sign yet
 * - `active`: it signs
 * - `retired`: it signs no more, but caches hold its signatures
 * - `withdrawn` (KSK): retired, and left out of CDS and CDNSKEY, so that the parent drops its DS
 */
export type KeyState = 'published' | 'active' | 'retired' | 'withdrawn';

/** Times are milliseconds since the epoch. */
interface KeyFacts {
  readonly role: KeyRole;
  /** RFC 4034 appendix B. Unique within a set. */
  readonly keyTag: number;
  readonly state: KeyState;
  readonly createdAt: number;
  readonly stateSince: number;
  /** When the operator confirmed that all name servers of the parent have this KSK's DS; null before, and for a ZSK. */
  readonly dsSeenAt: number | null;
}

export interface ZoneKey extends KeyFacts {
  readonly algorithm: number;
  readonly flags: number;
  readonly dnskeyRdata: Uint8Array;
  readonly privateKey: KeyObject;
}

export interface KeySet {
  /** Lower-case text without trailing dot: `uqrp.net`. */
  readonly zone: string;
  readonly keys: readonly ZoneKey[];
}

export interface ZoneKeyData extends KeyFacts {
  /** PKCS #8, PEM. */
  readonly privateKey: string;
}

/** A key set as plain data, for files and threads. Secret: never log it. */
export interface KeySetData {
  readonly version: 1;
  readonly zone: string;
  readonly keys: readonly ZoneKeyData[];
}

/** Unusable keys. The message may name the zone, but no part of a key. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
}

const VERSION = 1;
/** RFC 4034 §2.1.2. */
const PROTOCOL = 3;
/** A rollover adds one to the active key. */
const MAX_KEYS_OF_A_ROLE = 2;
const STATES: Readonly<Record<KeyRole, ReadonlySet<string>>> = {
  ksk: new Set<KeyState>(['published', 'active', 'retired', 'withdrawn']),
  zsk: new Set<KeyState>(['published', 'active', 'retired']),
};

/** An active KSK and ZSK for a new zone. */
export function generateKeySet(zone: string, now: number): KeySet {
  const ksk = generateKey('ksk', 'active', now, new Set());
  return { zone, keys: [ksk, generateKey('zsk', 'active', now, new Set([ksk.keyTag]))] };
}

/**
 * Makes a key whose tag is not in `taken`: validators must try all keys of one tag.
 * @param now milliseconds since the epoch
 */
export function generateKey(
  role: KeyRole,
  state: KeyState,
  now: number,
  taken: ReadonlySet<number>,
): ZoneKey {
  for (;;) {
    const key = zoneKey(role, ROLES[role].algorithm.generate(), {
      state,
      createdAt: now,
      stateSince: now,
      dsSeenAt: null,
    });
    if (key !== null && !taken.has(key.keyTag)) return key;
  }
}

/** Secret: see `KeySetData`. */
export function keySetData({ zone, keys }: KeySet): KeySetData {
  return {
    version: VERSION,
    zone,
    keys: keys.map((key) => ({
      role: key.role,
      keyTag: key.keyTag,
      state: key.state,
      createdAt: key.createdAt,
      stateSince: key.stateSince,
      dsSeenAt: key.dsSeenAt,
      privateKey: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    })),
  };
}

/** @throws KeyError when the data are not a whole and consistent set */
export function readKeySet(data: unknown): KeySet {
  if (!isRecord(data) || typeof data.zone !== 'string' || nameFromText(data.zone) === null) {
    throw new KeyError('the keys of a zone are not readable');
  }
  const { zone, version, keys } = data;
  if (version !== VERSION) throw new KeyError(`the keys of ${zone} are of an unknown version`);
  if (!Array.isArray(keys)) throw new KeyError(`the keys of ${zone} are not readable`);
  const read = readZoneKeys(zone, keys);
  if (!isWhole(read)) throw new KeyError(`the keys of ${zone} do not form a set: one of each role is active`);
  return { zone, keys: read };
}

/** @throws KeyError when one is no key, or has another tag than it says */
export function readZoneKeys(zone: string, keys: readonly unknown[]): ZoneKey[] {
  return keys.map((key, index) => {
    const one = readKey(key);
    if (one === null) throw new KeyError(`key ${index + 1} of ${zone} is not readable`);
    return one;
  });
}

/** RFC 4034 appendix B. */
export function keyTag(dnskeyRdata: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < dnskeyRdata.length; i++) sum += (i & 1) === 0 ? dnskeyRdata[i]! << 8 : dnskeyRdata[i]!;
  return (sum + (sum >>> 16)) & 0xffff;
}

/** DNSKEY rdata (RFC 4034 §2.1) of a public key in the form of its algorithm (RFC 6605 §4, RFC 8080 §3). */
export function dnskeyRdata(flags: number, algorithm: number, publicOctets: Uint8Array): Uint8Array {
  return concatOctets([Uint8Array.of(flags >>> 8, flags & 0xff, PROTOCOL, algorithm), publicOctets]);
}

/** Null when the private key is not of the role's algorithm. */
function zoneKey(
  role: KeyRole,
  privateKey: KeyObject,
  facts: Omit<KeyFacts, 'role' | 'keyTag'>,
): ZoneKey | null {
  const { flags, algorithm } = ROLES[role];
  const publicOctets = algorithm.publicOctets(privateKey);
  if (publicOctets === null) return null;
  const rdata = dnskeyRdata(flags, algorithm.number, publicOctets);
  return {
    ...facts,
    role,
    algorithm: algorithm.number,
    flags,
    keyTag: keyTag(rdata),
    dnskeyRdata: rdata,
    privateKey,
  };
}

function readKey(data: unknown): ZoneKey | null {
  if (!isRecord(data)) return null;
  const { role, state, createdAt, stateSince, dsSeenAt } = data;
  if (role !== 'ksk' && role !== 'zsk') return null;
  if (typeof state !== 'string' || !STATES[role].has(state)) return null;
  if (!isTime(createdAt) || !isTime(stateSince) || !(dsSeenAt === null || isTime(dsSeenAt))) return null;
  const privateKey = readPem(data.privateKey);
  if (privateKey === null) return null;
  const key = zoneKey(role, privateKey, { state: state as KeyState, createdAt, stateSince, dsSeenAt });
  return key === null || key.keyTag !== data.keyTag ? null : key;
}

function readPem(pem: unknown): KeyObject | null {
  if (typeof pem !== 'string') return null;
  try {
    return createPrivateKey(pem);
  } catch {
    // The reason may quote the input.
    return null;
  }
}

/** Each role has one active key and at most one other; no tag occurs twice. */
function isWhole(keys: readonly ZoneKey[]): boolean {
  const roles = Object.keys(ROLES).map((role) => keys.filter((key) => key.role === role));
  return (
    new Set(keys.map((key) => key.keyTag)).size === keys.length &&
    roles.every(
      (ofRole) =>
        ofRole.length <= MAX_KEYS_OF_A_ROLE && ofRole.filter(({ state }) => state === 'active').length === 1,
    )
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

// The two signature algorithms (IANA "DNS Security Algorithm Numbers").

interface Algorithm {
  /** As in DNSKEY, DS and RRSIG. */
  readonly number: number;
  readonly name: string;
  generate(): KeyObject;
  /** The public key of a DNSKEY record, or null for a private key of another kind. */
  publicOctets(privateKey: KeyObject): Uint8Array | null;
  /** Writes the signature of an RRSIG record, `SIGNATURE_OCTETS` long, to `out` at `at`. */
  sign(octets: Uint8Array, privateKey: KeyObject, out: Uint8Array, at: number): void;
}

/** Of both algorithms. */
export const SIGNATURE_OCTETS = 64;

/** Octets of r, and of s, over P-256 (RFC 6605 §4). */
const P256_OCTETS = 32;

const ECDSA_P256: Algorithm = {
  number: DNSSEC_ALGORITHM.ECDSAP256SHA256,
  name: 'ECDSAP256SHA256',
  generate: () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey,
  publicOctets(privateKey) {
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return null;
    const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    return concatOctets([Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  },
  // `dsaEncoding: 'ieee-p1363'` gives r and s directly, but takes twice the time of the whole DER signature.
  sign: (octets, privateKey, out, at) => putRs(sign('sha256', octets, privateKey), out, at),
};

const ED25519: Algorithm = {
  number: DNSSEC_ALGORITHM.ED25519,
  name: 'ED25519',
  generate: () => generateKeyPairSync('ed25519').privateKey,
  publicOctets(privateKey) {
    if (privateKey.asymmetricKeyType !== 'ed25519') return null;
    const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    return Uint8Array.from(Buffer.from(x, 'base64url'));
  },
  sign: (octets, privateKey, out, at) => out.set(sign(null, octets, privateKey), at),
};

export type KeyRole = 'ksk' | 'zsk';

/** DNSKEY flags (RFC 4034 §2.1.1: zone key, and secure entry point for a KSK) and algorithm of each role. */
const ROLES: Readonly<Record<KeyRole, { readonly flags: number; readonly algorithm: Algorithm }>> = {
  ksk: { flags: 257, algorithm: ECDSA_P256 },
  zsk: { flags: 256, algorithm: ED25519 },
};

const BY_NUMBER: ReadonlyMap<number, Algorithm> = new Map(
  [ECDSA_P256, ED25519].map((algorithm) => [algorithm.number, algorithm]),
);

/** @throws RangeError for any other number */
export function algorithmOf(number: number): Algorithm {
  const algorithm = BY_NUMBER.get(number);
  if (algorithm === undefined) throw new RangeError(`no algorithm ${number}`);
  return algorithm;
}

/**
 * Writes r and s of fixed length from a DER signature `30 n 02 n r 02 n s`. DER integers are signed and minimal: r and s
 * have an extra leading zero, or lack their own.
 */
function putRs(der: Uint8Array, out: Uint8Array, at: number): void {
  const rAt = 4;
  const rEnd = rAt + der[rAt - 1]!;
  putInteger(der, rAt, rEnd, out, at);
  putInteger(der, rEnd + 2, der.length, out, at + P256_OCTETS);
}

/** Writes the integer at `from[start, end)` as `P256_OCTETS` octets, without the zero for its sign. */
function putInteger(from: Uint8Array, start: number, end: number, out: Uint8Array, at: number): void {
  const digits = Math.min(end - start, P256_OCTETS);
  out.fill(0, at, at + P256_OCTETS - digits);
  for (let i = 1; i <= digits; i++) out[at + P256_OCTETS - i] = from[end - i]!;
}

// Records for the parent: DS (RFC 4034 §5), CDS and CDNSKEY (RFC 7344).

/** SHA-256 (RFC 4509), the one digest that every validator supports. */
const DIGEST_TYPE = 2;

type DnskeyFacts = Pick<ZoneKey, 'keyTag' | 'algorithm' | 'dnskeyRdata'>;

/** DS rdata of a key of the zone at `owner`; CDS rdata are the same (RFC 7344 §3.1). */
export function dsRdata(owner: Uint8Array, { keyTag, algorithm, dnskeyRdata }: DnskeyFacts): Uint8Array {
  const digest = createHash('sha256').update(foldName(owner)).update(dnskeyRdata).digest();
  return concatOctets([Uint8Array.of(keyTag >>> 8, keyTag & 0xff, algorithm, DIGEST_TYPE), digest]);
}

/** The keys that need a DS at the parent: all KSKs except a withdrawn one. */
export function keysAtParent({ keys }: KeySet): readonly ZoneKey[] {
  return keys.filter(({ role, state }) => role === 'ksk' && state !== 'withdrawn');
}

/** The DS record of a key in presentation form, without the owner: `12345 13 2 0A1B...`. */
export function dsText(zone: string, key: DnskeyFacts): string {
  return rdataToText(RRTYPE.DS, dsRdata(apexOf(zone), key));
}

/** The DS records for the parent, as master file lines: `uqrp.net. IN DS 12345 13 2 0A1B...`. */
export function dsLines(keySet: KeySet): readonly string[] {
  const owner = nameToText(apexOf(keySet.zone));
  return keysAtParent(keySet).map((key) => `${owner} IN DS ${dsText(keySet.zone, key)}`);
}

/** The wire form of a zone's name. */
export function apexOf(zone: string): Uint8Array {
  const apex = nameFromText(zone);
  if (apex === null) throw new RangeError('a zone that is no name');
  return apex;
}
