import type { Rrset, Zone } from './zones.ts';

export interface Signatures {
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch at which new signatures replace these. Caches must not keep them longer. */
  readonly renewAt: number;
  readonly isFresh: boolean;
}

/** Signs online for one zone with one state of its keys. Throws when it cannot sign. */
export interface ZoneSigner {
  /** `once`: neither reads nor fills the cache of signatures. */
  sign(rrset: Rrset, once: boolean): Signatures;
  /** NSEC rdata at `qname`. The next name is its direct successor (RFC 9824 §2). */
  nsec(qname: Uint8Array, types: readonly number[]): Uint8Array;
}

/** `unsigned` is a setting of the operator. */
export type Signing =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'signed'; readonly signer: ZoneSigner };

/** A zone with its signer. A waiting query holds both, so a reload cannot remove its signer. */
export interface ServedZone extends Zone {
  readonly signing: Signing;
}

export function unsignedZone(zone: Zone): ServedZone {
  return { ...zone, signing: { kind: 'unsigned' } };
}

export function signedZone(zone: Zone, signer: ZoneSigner): ServedZone {
  return { ...zone, signing: { kind: 'signed', signer } };
}
