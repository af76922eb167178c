/** The signing keys of the zone. Made once in a process of the system: making them takes longer than a seed. */
import { generateKeySet, type KeySetData, keySetData } from '../../../src/dns/dnssec/key-set.ts';
import { ZONE } from './packets.ts';

let made: KeySetData | null = null;

export function zoneKeys(): KeySetData {
  made ??= keySetData(generateKeySet(ZONE, Date.UTC(2029, 11, 1)));
  return made;
}
