import { isIP } from 'node:net';

/** A literal address as one number, with its family. */
export interface Address {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** A block of addresses: those whose first `length` bits are those of `bits`. */
export interface Block extends Address {
  readonly length: number;
}

const WIDTH = { 4: 32, 6: 128 } as const;

/** Reads a literal in canonical IPv4 or any IPv6 spelling; null for all else, a zone index (`%eth0`) included. */
export function parseAddress(text: string): Address | null {
  const family = isIP(text);
  if (family === 4) return { family, bits: ipv4Bits(text) };
  if (family === 6 && !text.includes('%')) return { family, bits: ipv6Bits(text) };
  return null;
}

/** Reads `address/length`. @throws RangeError: blocks are ours, written in tables */
export function parseBlock(text: string): Block {
  const [literal = '', length = ''] = text.split('/');
  const address = parseAddress(literal);
  if (address === null || !/^\d{1,3}$/.test(length)) throw new RangeError('a block is address/length');
  return { ...address, length: Number(length) };
}

export function isWithin(address: Address, block: Block): boolean {
  if (address.family !== block.family) return false;
  const rest = BigInt(WIDTH[block.family] - block.length);
  return address.bits >> rest === block.bits >> rest;
}

/** Of text that `isIP` has accepted: four decimal octets. */
function ipv4Bits(text: string): bigint {
  return text.split('.').reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n);
}

/** Of text that `isIP` has accepted: groups of hex, at most one `::`, perhaps a dotted quad at the end. */
function ipv6Bits(text: string): bigint {
  const [head = '', tail] = text.split('::', 2);
  const before = groups(head);
  if (tail === undefined) return join(before);
  const after = groups(tail);
  const zeros = new Array<bigint>(8 - before.length - after.length).fill(0n);
  return join([...before, ...zeros, ...after]);
}

function groups(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const quad = ipv4Bits(group);
    return [quad >> 16n, quad & 0xffffn];
  });
}

function join(groups: readonly bigint[]): bigint {
  return groups.reduce((bits, group) => (bits << 16n) | group, 0n);
}
