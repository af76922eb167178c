/** Records for the parent: DS (RFC 4034 §5), CDS and CDNSKEY (RFC 7344). */

import { createHash } from 'node:crypto';
import { RRTYPE } from '../../../protocol/dns/codes.ts';
import { foldName, nameFromText, nameToText } from '../../../protocol/dns/name.ts';
import { concatOctets } from '../../../protocol/dns/octets.ts';
import { rdataToText } from '../../../protocol/dns/rdata/present.ts';
import type { KeySet, ZoneKey } from './key-set.ts';

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
