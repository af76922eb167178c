import type { Rrset, Zone } from './zones.ts';

/** Signatures over one rrset. */
export interface Signatures {
  /** RRSIG rdata in wire form. */
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch from which they are made anew: nothing signed is cached longer. */
  readonly renewAt: number;
  /** Made for this reply, not taken from a cache. */
  readonly isFresh: boolean;
}

/** Signs online for one zone, with one state of its keys. Throws when it cannot sign. */
export interface ZoneSigner {
  /** @param once nothing remembers the signatures, and none that were remembered are used */
  sign(rrset: Rrset, once: boolean): Signatures;
  /** NSEC rdata at `qname` for these types: the next name is the one right after it (RFC 9824 §2). */
  nsec(qname: Uint8Array, types: readonly number[]): Uint8Array;
}

/** `unsigned` is a setting of the operator. A zone that cannot find its signer does not exist. */
export type Signing =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'signed'; readonly signer: ZoneSigner };

/**
 * A zone together with its signer. A query that waits keeps both, so a reload in the meantime cannot take the signer away
 * from it.
 */
export interface ServedZone extends Zone {
  readonly signing: Signing;
}

export function unsignedZone(zone: Zone): ServedZone {
  return { ...zone, signing: { kind: 'unsigned' } };
}

export function signedZone(zone: Zone, signer: ZoneSigner): ServedZone {
  return { ...zone, signing: { kind: 'signed', signer } };
}
