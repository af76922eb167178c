import type { Rrset, Zone } from './zones.ts';

/** Signatures over one rrset. */
export interface Signatures {
  /** RRSIG rdata in wire form. */
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch at which new signatures replace these: no cache of this server keeps them longer. */
  readonly renewAt: number;
  /** Made for this reply, not taken from a cache. */
  readonly isFresh: boolean;
}

/** Signs online for one zone, with one state of its keys. Throws when it cannot sign. */
export interface ZoneSigner {
  /** @param once no cache of signatures is read or filled */
  sign(rrset: Rrset, once: boolean): Signatures;
  /** NSEC rdata at `qname` for these types: the next name is the one right after it (RFC 9824 §2). */
  nsec(qname: Uint8Array, types: readonly number[]): Uint8Array;
}

/** `unsigned` is a setting of the operator. No zone is signed without a signer. */
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
