import { randomInt } from 'node:crypto';
import { type PeerAddress, readAddress } from '../../../core/address.ts';
import { fnvEnd, fnvStep } from '../../../core/fnv.ts';
import { QUEUE_SHARES } from './handler.ts';

/** Octets of an address that name its source: all of IPv4, and the /56 of IPv6. */
const SOURCE_OCTETS = 7;
const IPV4_OCTETS = 4;
const octets = new Uint8Array(16);
/** Random in each thread, so that nobody can choose addresses that share with a victim. */
const START = randomInt(2 ** 32);

/**
 * The share of the waiting queue that a peer uses, 0 to QUEUE_SHARES - 1: the same for one IPv4 address or IPv6 /56. The query
 * path gets this number in place of the address, so that it can be fair and still know no address.
 */
export function queueShare(address: PeerAddress): number {
  const length = readAddress(address, octets) === IPV4_OCTETS ? IPV4_OCTETS : SOURCE_OCTETS;
  let hash = START;
  for (let i = 0; i < length; i++) hash = fnvStep(hash, octets[i]!);
  return fnvEnd(hash) % QUEUE_SHARES;
}
