import { foldName } from '../../wire/name.ts';
import { copyOctets } from '../../wire/octets.ts';
import type { SignableRrset } from './canonical.ts';

/** The signatures of an rrset. */
export interface Signed {
  /** RRSIG rdata. */
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch: the inception. A clock that was set back may read less. */
  readonly validFrom: number;
  /** Milliseconds since the epoch; no answer with these signatures should be kept longer. */
  readonly renewAt: number;
  /** Made for this call, not taken from a cache. */
  readonly isFresh: boolean;
}

export interface RrsigCacheSettings {
  /** Rrsets. */
  readonly entries: number;
  /** Octets of rrsets and signatures together, what the engine adds included by estimate. */
  readonly octets: number;
}

export const RRSIG_CACHE_DEFAULTS: RrsigCacheSettings = { entries: 32_768, octets: 33_554_432 };

interface Entry {
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
  readonly signed: Signed;
}

/** What an entry and its arrays cost beside their octets. */
const ENTRY_OVERHEAD = 512;

/**
 * Signatures by owner and type; one rrset each, so an rrset that changes takes the place of its former self. Two generations:
 * when the younger is full, the elder is forgotten and the younger takes its place. What is asked for moves to the younger
 * one, so a flood of names that are asked once drives out only what nobody asked for meanwhile.
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

  /** Octets held at present, by the same estimate as the limit. */
  get octets(): number {
    return this.youngOctets + this.oldOctets;
  }

  /** Rrsets held at present; one that was promoted counts twice until its elder self goes. */
  get entries(): number {
    return this.young.size + this.old.size;
  }

  /** The signatures of exactly this rrset, or null when there are none, or none that are valid and young enough at `now`. */
  get(rrset: SignableRrset, now: number): Signed | null {
    const key = keyOf(rrset);
    const young = this.young.get(key);
    const entry = young ?? this.old.get(key);
    if (entry === undefined || !isSame(entry, rrset)) return null;
    if (now < entry.signed.validFrom || now >= entry.signed.renewAt) return null;
    if (young === undefined) this.put(key, entry);
    return entry.signed;
  }

  /** Remembers the signatures of an rrset, of which it takes a copy. */
  set(rrset: SignableRrset, signed: Signed): void {
    const rdata = rrset.rdata.map((one) => copyOctets(one, 0, one.length));
    this.put(keyOf(rrset), { ttl: rrset.ttl, rdata, signed: { ...signed, isFresh: false } });
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

/** TTL 0 counts as a key of its own: the SOA record leaves with it or with its usual TTL, as the question is. */
function keyOf({ owner, type, ttl }: SignableRrset): string {
  const folded = foldName(owner);
  // A character an octet: two names are the same text only if they are the same octets.
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
