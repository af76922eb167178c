import { formatAddress, parseAddress } from '../base/network/address.ts';
import { constant, malformedAnswer } from './answers.ts';
import { parseIpLabel } from './geoip.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

export const CIDR_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'cidr',
    title: 'CIDR block',
    description:
      'What a network holds, and whether an address before it is in it; IPv4 and IPv6. Names have hyphens for dots, colons and the slash: 10.0.0.0/8 is 10-0-0-0-8, 2001:db8::/32 is 2001-db8---32, ::1 is 0--1. The answer never changes: it has no ts.',
    properties: {
      net: { type: 'string', description: 'The network, host bits zero', example: '10.0.0.0/8' },
      mask: { type: 'string', description: 'Its mask, IPv4 only', example: '255.0.0.0' },
      first: { type: 'string', description: 'First address', example: '10.0.0.0' },
      last: { type: 'string', description: 'Last address', example: '10.255.255.255' },
      min: { type: 'string', description: 'First address of a host', example: '10.0.0.1' },
      max: { type: 'string', description: 'Last address of a host', example: '10.255.255.254' },
      n: {
        type: 'string',
        description: 'Count of all addresses, up to 2^128',
        example: '16777216',
        pattern: '^[1-9]\\d*$',
      },
      ip: { type: 'string', description: 'The address asked about', example: '10.1.2.3' },
      in: { type: 'string', description: 'Whether it is in', example: 'yes', enum: ['yes', 'no'] },
    },
    optional: ['mask', 'ip', 'in'],
  }),
  template: 'get.{network}.cidr.public.v1',
  placeholders: {
    network: {
      type: 'string',
      examples: ['10-0-0-0-8', '192-0-2-77-28', '2001-db8---32', '10-1-2-3.10-0-0-0-8'],
    },
  },
  examples: [
    'get.10-0-0-0-8.cidr.public.v1',
    'get.10-1-2-3.10-0-0-0-8.cidr.public.v1',
    'get.2001-db8---32.cidr.public.v1',
  ],
  exampleResponse:
    'v=svc1;s=ok;t=data;net=10.0.0.0/8;mask=255.0.0.0;first=10.0.0.0;last=10.255.255.255;min=10.0.0.1;max=10.255.255.254;n=16777216',
  ttl: 86_400,
  errors: [],
};

/** An address with a prefix length. */
interface Network {
  /** 32 or 128. */
  readonly width: number;
  readonly prefix: number;
  /** First address, with host bits zero. */
  readonly first: bigint;
  readonly last: bigint;
}

interface Address {
  readonly width: number;
  readonly value: bigint;
}

const WITH_PREFIX = /^(.+)[-/](0|[1-9][0-9]{0,2})$/;

/**
 * Parses `10-0-0-0-8` or `2001-db8---32`: an address and a prefix length as they are written, with hyphens for dots, colons
 * and the slash. Host bits may be set. Null outside the grammar.
 */
function parseNetwork(label: string): Network | null {
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
function parseHost(label: string): Address | null {
  const octets = parseAddress(parseIpLabel(`ip-${label}`) ?? label);
  return octets === null
    ? null
    : { width: octets.length * 8, value: BigInt(`0x${Buffer.from(octets).toString('hex')}`) };
}

function addressText(value: bigint, width: number): string {
  return formatAddress(Buffer.from(value.toString(16).padStart(width / 4, '0'), 'hex'));
}

function contains({ width, first, last }: Network, address: Address): boolean {
  return address.width === width && address.value >= first && address.value <= last;
}

/** Addresses of hosts: of IPv4 without the network's and the broadcast address, where it has these (RFC 3021). */
function hostsOf({ width, prefix, first, last }: Network): readonly [min: bigint, max: bigint] {
  return width === 32 && prefix < 31 ? [first + 1n, last - 1n] : [first, last];
}

/** `get.[<address>.]<network>.cidr.public.v1` */
export function makeCidr(): Service {
  return {
    resource: 'cidr',
    operation: 'get',
    enabled: true,
    about: CIDR_ABOUT,
    answer(params) {
      const label = params.at(-1);
      if (label === undefined) return malformedAnswer('parameter');
      const network = params.length > 2 ? null : parseNetwork(label);
      const host = params.length === 2 ? parseHost(params[0]!) : undefined;
      if (network === null || host === null) return malformedAnswer('address');
      const { width, prefix, first, last } = network;
      const [min, max] = hostsOf(network);
      const fields = {
        net: `${addressText(first, width)}/${prefix}`,
        mask: width === 32 ? addressText(maskOf(prefix), width) : undefined,
        first: addressText(first, width),
        last: addressText(last, width),
        min: addressText(min, width),
        max: addressText(max, width),
        n: (last - first + 1n).toString(),
        ip: host && addressText(host.value, host.width),
        in: host && (contains(network, host) ? 'yes' : 'no'),
      };
      return constant(fields, CIDR_ABOUT.ttl);
    },
  };
}

/** @param prefix of IPv4 */
function maskOf(prefix: number): bigint {
  return (1n << 32n) - (1n << BigInt(32 - prefix));
}
