import { formatAddress, parseAddress } from '../../../core/network/address.ts';
import { parseIpLabel } from '../geoip/ip-label.ts';

/** An address with a prefix length. */
export interface Network {
  /** 32 or 128. */
  readonly width: number;
  readonly prefix: number;
  /** First address, with host bits zero. */
  readonly first: bigint;
  readonly last: bigint;
}

export interface Address {
  readonly width: number;
  readonly value: bigint;
}

const WITH_PREFIX = /^(.+)[-/](0|[1-9][0-9]{0,2})$/;

/**
 * Parses `10-0-0-0-8` or `2001-db8---32`: an address and a prefix length as they are written, with hyphens for dots, colons
 * and the slash. Host bits may be set. Null outside the grammar.
 */
export function parseNetwork(label: string): Network | null {
  const match = WITH_PREFIX.exec(label);
  const address = match === null ? null : parseHost(match[1]!);
  if (match === null || address === null) return null;
  const { width, value } = address;
  const prefix = Number(match[2]);
  if (prefix > width) return null;
  const hosts = (1n << BigInt(width - prefix)) - 1n;
  const first = value - (value & hosts);
  return { width, prefix, first, last: first + hosts };
}

/** `10-1-2-3` or `2001-db8--1`; a `b32-` or `hex-` label may hold the address as it is written. */
export function parseHost(label: string): Address | null {
  const octets = parseAddress(parseIpLabel(`ip-${label}`) ?? label);
  return octets === null
    ? null
    : { width: octets.length * 8, value: BigInt(`0x${Buffer.from(octets).toString('hex')}`) };
}

export function addressText(value: bigint, width: number): string {
  return formatAddress(Buffer.from(value.toString(16).padStart(width / 4, '0'), 'hex'));
}

export function contains({ width, first, last }: Network, address: Address): boolean {
  return address.width === width && address.value >= first && address.value <= last;
}

/** Addresses of hosts: of IPv4 without the network's and the broadcast address, where it has these (RFC 3021). */
export function hostsOf({ width, prefix, first, last }: Network): readonly [min: bigint, max: bigint] {
  return width === 32 && prefix < 31 ? [first + 1n, last - 1n] : [first, last];
}
