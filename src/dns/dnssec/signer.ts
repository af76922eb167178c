import { fnvEnd, SeenHashes } from '../../base/hashes.ts';
import type { Clock } from '../../base/time.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { foldName } from '../../protocol/dns/name.ts';
import { copyOctets } from '../../protocol/dns/octets.ts';
import { apexOf, dsRdata, KeyError, type KeySet, keysAtParent, type ZoneKey } from './key-set.ts';
import {
  nameHash,
  type PreparedKey,
  prepareKey,
  type SignableRrset,
  signatureWindow,
  signRrsetWith,
} from './rrsig.ts';

/** Whether a name was asked before, by hash in fixed memory. Both answers may rarely be wrong: it decides only what to cache. */
export class SeenNames {
  private readonly hashes = new SeenHashes();

  /** Whether `name` was given before, and notes it. Case is ignored. */
  again(name: Uint8Array): boolean {
    return this.hashes.again(fnvEnd(nameHash(name)));
  }
}

/**
 * `full`: every active key signs every rrset, as RFC 4035 §2.2 demands for keys of two algorithms. `split`: the KSK
 * signs DNSKEY, CDS and CDNSKEY, the ZSK the rest.
 */
export type SigningMode = 'full' | 'split';

interface SignerSettings {
  readonly keys: KeySet;
  readonly mode: SigningMode;
  readonly clock: Clock;
  readonly cache?: RrsigCacheSettings;
}

/** Signs for one zone with one key set. New keys need a new signer. */
export interface Signer {
  /** In wire form. */
  readonly apex: Uint8Array;
  /** Rrsets at the apex, each of at least one record. */
  readonly dnskey: SignableRrset;
  readonly cds: SignableRrset;
  readonly cdnskey: SignableRrset;
  /**
   * Signs an rrset of this zone.
   * @param once nothing remembers these signatures, so that no timing shows whether they were asked for before
   * @throws SigningError: the answer is then SERVFAIL, never one without signatures
   */
  sign(rrset: SignableRrset, once?: boolean): Signed;
}

/** The message does not name what was to be signed. */
export class SigningError extends Error {
  override readonly name = 'SigningError';
}

/** TTL of DNSKEY, CDS and CDNSKEY, seconds. Rollovers wait for it. */
export const DNSKEY_TTL = 3600;

const OF_KSK: ReadonlySet<number> = new Set([RRTYPE.DNSKEY, RRTYPE.CDS, RRTYPE.CDNSKEY]);

/** An rrset of the apex that the control side signed, because this node has no KSK. */
export interface PresignedRrset {
  readonly type: number;
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validUntil: number;
}

interface PresignedSignerSettings extends Pick<SignerSettings, 'clock' | 'cache'> {
  readonly zone: string;
  /** ZSKs, one of them active. */
  readonly keys: readonly ZoneKey[];
  /** DNSKEY, CDS, CDNSKEY. */
  readonly rrsets: readonly PresignedRrset[];
}

/** @throws KeyError when no key of a role is active */
export function makeSigner({ keys: keySet, mode, clock, cache }: SignerSettings): Signer {
  const apex = apexOf(keySet.zone);
  const active = preparedKeys(keySet.keys);
  const ksk = active.filter(({ role }) => role === 'ksk');
  const zsk = active.filter(({ role }) => role === 'zsk');
  if (ksk.length === 0 || zsk.length === 0) throw new KeyError(`no active keys for ${keySet.zone}`);
  const atParent = keysAtParent(keySet);

  function signersOf(type: number): readonly PreparedKey[] {
    if (mode === 'full') return active;
    return OF_KSK.has(type) ? ksk : zsk;
  }

  function ofApex(type: number, rdata: readonly Uint8Array[]): SignableRrset {
    return { owner: apex, type, ttl: DNSKEY_TTL, rdata };
  }

  return {
    apex,
    dnskey: ofApex(
      RRTYPE.DNSKEY,
      keySet.keys.map(({ dnskeyRdata }) => dnskeyRdata),
    ),
    cds: ofApex(
      RRTYPE.CDS,
      atParent.map((key) => dsRdata(apex, key)),
    ),
    cdnskey: ofApex(
      RRTYPE.CDNSKEY,
      atParent.map(({ dnskeyRdata }) => dnskeyRdata),
    ),
    sign: signWith({ apex, signersOf, clock, ...(cache && { cache }) }),
  };
}

/**
 * Signs with the ZSK alone. The rrsets of the KSK have the signatures that they came with, until those end: then `sign` throws.
 * @throws KeyError when an rrset is missing
 */
export function makePresignedSigner({ zone, keys, rrsets, clock, cache }: PresignedSignerSettings): Signer {
  const apex = apexOf(zone);
  const active = preparedKeys(keys);
  const sign = signWith({ apex, signersOf: () => active, clock, ...(cache && { cache }) });
  const presigned = new Map(rrsets.map((rrset) => [rrset.type, rrset]));

  function ofApex(type: number): SignableRrset {
    const rrset = presigned.get(type);
    if (rrset === undefined) throw new KeyError(`no signed keys for ${zone}`);
    return { owner: apex, type, ttl: rrset.ttl, rdata: rrset.rdata };
  }

  return {
    apex,
    dnskey: ofApex(RRTYPE.DNSKEY),
    cds: ofApex(RRTYPE.CDS),
    cdnskey: ofApex(RRTYPE.CDNSKEY),
    sign(rrset, once) {
      if (!OF_KSK.has(rrset.type)) return sign(rrset, once);
      const held = presigned.get(rrset.type);
      if (held === undefined || clock() >= held.validUntil) throw new SigningError('signing failed');
      const { rrsigs, validFrom, validUntil } = held;
      return { rrsigs, validFrom, renewAt: validUntil, isFresh: false };
    },
  };
}

/** The active keys, in their order. */
function preparedKeys(keys: readonly ZoneKey[]): readonly (PreparedKey & Pick<ZoneKey, 'role'>)[] {
  const active = keys.filter(({ state }) => state === 'active');
  return active.map((key) => ({ role: key.role, ...prepareKey(key) }));
}

interface SignWith extends Pick<SignerSettings, 'clock' | 'cache'> {
  readonly apex: Uint8Array;
  readonly signersOf: (type: number) => readonly PreparedKey[];
}

function signWith({ apex, signersOf, clock, cache: settings }: SignWith): Signer['sign'] {
  const cache = new RrsigCache(settings);
  const seen = new Map<number, SeenNames>(
    [RRTYPE.NSEC, RRTYPE.TXT, RRTYPE.HINFO].map((type) => [type, new SeenNames()]),
  );
  // Every denial has the zone's SOA record, which is one object: no key is made for it.
  let soa: { readonly rrset: SignableRrset; readonly signed: Signed } | null = null;

  function ofCache(rrset: SignableRrset, now: number): Signed | null {
    if (soa !== null && soa.rrset === rrset && isValid(soa.signed, now)) return soa.signed;
    const signed = cache.get(rrset, now);
    if (signed !== null && rrset.type === RRTYPE.SOA) soa = { rrset, signed };
    return signed;
  }

  return (rrset, once = false) => {
    const now = clock();
    // Most names of a flood, and of a pass over all records, are asked once: a copy of theirs would only displace others.
    const isKept = !once && (seen.get(rrset.type)?.again(rrset.owner) ?? true);
    const held = isKept ? ofCache(rrset, now) : null;
    if (held !== null) return held;
    try {
      const { inception, expiration, validFrom, renewAt } = signatureWindow(now, rrset);
      const rrsigs = signRrsetWith(rrset, signersOf(rrset.type), { signer: apex, inception, expiration });
      const signed: Signed = { rrsigs, validFrom, renewAt, isFresh: true };
      if (isKept) cache.set(rrset, signed);
      return signed;
    } catch (cause) {
      throw new SigningError('signing failed', { cause });
    }
  };
}

export interface Signed {
  readonly rrsigs: readonly Uint8Array[];
  /** Inception, milliseconds since the epoch. Later than now when the clock was set back. */
  readonly validFrom: number;
  /** Milliseconds since the epoch. No cache may keep an answer with these signatures longer. */
  readonly renewAt: number;
  /** False: taken from a cache. */
  readonly isFresh: boolean;
}

/** Whether a cache may serve the signatures. Not before their inception, which a clock that was set back can bring. */
function isValid({ validFrom, renewAt }: Signed, now: number): boolean {
  return now >= validFrom && now < renewAt;
}

interface RrsigCacheSettings {
  /** Rrsets. */
  readonly entries: number;
  /** Octets of rrsets, signatures and estimated engine overhead. */
  readonly octets: number;
}

const RRSIG_CACHE_DEFAULTS: RrsigCacheSettings = { entries: 32_768, octets: 33_554_432 };

interface Entry {
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
  readonly signed: Signed;
}

/** Estimated octets of a cache entry and its arrays beside their data. */
const ENTRY_OVERHEAD = 512;

/**
 * Signatures by owner, type and TTL. There are two generations: when the younger is full, the elder is dropped and the younger becomes the
 * elder. A hit moves to the younger, so a flood of names asked once drops only what no query used meanwhile.
 */
export class RrsigCache {
  private young = new Map<string, Entry>();
  private old = new Map<string, Entry>();
  private youngOctets = 0;
  private oldOctets = 0;
  private readonly maxEntries: number;
  private readonly maxOctets: number;

  constructor({ entries, octets }: RrsigCacheSettings = RRSIG_CACHE_DEFAULTS) {
    this.maxEntries = Math.max(1, Math.floor(entries / 2));
    this.maxOctets = Math.floor(octets / 2);
  }

  /** By the same estimate as the limit. */
  get octets(): number {
    return this.youngOctets + this.oldOctets;
  }

  /** A promoted rrset counts twice until the elder generation is dropped. */
  get entries(): number {
    return this.young.size + this.old.size;
  }

  /** The signatures of exactly this rrset; null when none is cached, valid and young enough at `now`. */
  get(rrset: SignableRrset, now: number): Signed | null {
    const key = keyOf(rrset);
    const young = this.young.get(key);
    const entry = young ?? this.old.get(key);
    if (entry === undefined || !isSame(entry, rrset)) return null;
    if (!isValid(entry.signed, now)) return null;
    if (young === undefined) this.put(key, entry);
    return entry.signed;
  }

  /** Copies the rrset and its signatures into the cache. */
  set(rrset: SignableRrset, signed: Signed): void {
    const rdata = rrset.rdata.map(copied);
    const held: Signed = { ...signed, rrsigs: signed.rrsigs.map(copied), isFresh: false };
    this.put(keyOf(rrset), { ttl: rrset.ttl, rdata, signed: held });
  }

  private put(key: string, entry: Entry): void {
    const octets = octetsOf(key, entry);
    if (octets > this.maxOctets) return;
    const former = this.young.get(key);
    if (former !== undefined) {
      this.young.delete(key);
      this.youngOctets -= octetsOf(key, former);
    }
    if (this.young.size >= this.maxEntries || this.youngOctets + octets > this.maxOctets) {
      this.old = this.young;
      this.oldOctets = this.youngOctets;
      this.young = new Map();
      this.youngOctets = 0;
    }
    this.young.set(key, entry);
    this.youngOctets += octets;
  }
}

/** In memory of its own: the original may be part of a pool, which it would keep alive. */
function copied(octets: Uint8Array): Uint8Array {
  return copyOctets(octets, 0, octets.length);
}

/** TTL 0 has its own key: the SOA record is sent with 0 or with its usual TTL. */
function keyOf({ owner, type, ttl }: SignableRrset): string {
  const folded = foldName(owner);
  // Latin-1, one character an octet: equal text means equal octets.
  const name = Buffer.from(folded.buffer, folded.byteOffset, folded.length).toString('latin1');
  return name + String.fromCharCode(type) + (ttl === 0 ? '0' : '');
}

function isSame(entry: Entry, { ttl, rdata }: SignableRrset): boolean {
  if (entry.ttl !== ttl || entry.rdata.length !== rdata.length) return false;
  for (let i = 0; i < rdata.length; i++) {
    if (Buffer.compare(entry.rdata[i]!, rdata[i]!) !== 0) return false;
  }
  return true;
}

function octetsOf(key: string, { rdata, signed }: Entry): number {
  let octets = ENTRY_OVERHEAD + key.length;
  for (const one of rdata) octets += one.length;
  for (const one of signed.rrsigs) octets += one.length;
  return octets;
}
