import { foldName } from '../../../protocol/dns/name.ts';
import { copyOctets } from '../../../protocol/dns/octets.ts';
import type { SignableRrset } from './canonical.ts';

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
export function isValid({ validFrom, renewAt }: Signed, now: number): boolean {
  return now >= validFrom && now < renewAt;
}

export interface RrsigCacheSettings {
  /** Rrsets. */
  readonly entries: number;
  /** Octets of rrsets, signatures and estimated engine overhead. */
  readonly octets: number;
}

export const RRSIG_CACHE_DEFAULTS: RrsigCacheSettings = { entries: 32_768, octets: 33_554_432 };

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
