import { randomInt } from 'node:crypto';
import { fnvEnd, fnvStep } from '../../base/fnv.ts';
import { type PeerAddress, readAddress } from '../../base/network/address.ts';
import { QUEUE_SHARES } from './handler.ts';

/** Octets that name a source: a whole IPv4 address, or an IPv6 /56. */
const SOURCE_OCTETS = 7;
const IPV4_OCTETS = 4;
const octets = new Uint8Array(16);
/** Random in each thread, so that an attacker cannot choose addresses that share with a victim. */
const START = randomInt(2 ** 32);

/** The queue share of an IPv4 address or IPv6 /56. The query path sees this number and no address. */
export function queueShare(address: PeerAddress): number {
  const length = readAddress(address, octets) === IPV4_OCTETS ? IPV4_OCTETS : SOURCE_OCTETS;
  let hash = START;
  for (let i = 0; i < length; i++) hash = fnvStep(hash, octets[i]!);
  return fnvEnd(hash) % QUEUE_SHARES;
}
