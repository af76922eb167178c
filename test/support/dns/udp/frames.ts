/** Ethernet frames with UDP, made and read apart from native/frame.h, which they test. */
import { isIPv6 } from 'node:net';

export interface Datagram {
  readonly from: string;
  readonly to: string;
  readonly fromPort: number;
  readonly toPort: number;
  readonly payload: Uint8Array;
}

export interface FrameOptions {
  /** MAC addresses, 6 octets. */
  readonly toMac: Uint8Array;
  readonly fromMac: Uint8Array;
}

const IPV6_TYPE = 0x86dd;

/** Octets of a literal address. */
export function octetsOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const zeros = new Array<number>(8 - words(head).length - words(tail).length).fill(0);
  return Buffer.from([...words(head), ...zeros, ...words(tail)].flatMap((word) => [word >> 8, word & 255]));
}

/** The Internet checksum (RFC 1071). Over octets that hold a right one it is 0. */
function checksum(octets: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < octets.length; i += 2) sum += (octets[i]! << 8) | (octets[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

function u16(...values: number[]): Buffer {
  return Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));
}

function udpChecksum(from: Uint8Array, to: Uint8Array, udp: Uint8Array): number {
  return checksum(Buffer.concat([from, to, u16(0, 17, 0, udp.length), udp]));
}

export function frameOf(
  { from, to, fromPort, toPort, payload }: Datagram,
  { toMac, fromMac }: FrameOptions,
): Buffer {
  const [source, target] = [octetsOf(from), octetsOf(to)];
  const udp = Buffer.concat([u16(fromPort, toPort, 8 + payload.length, 0), payload]);
  udp.writeUInt16BE(udpChecksum(source, target, udp) || 0xffff, 6);
  if (isIPv6(from)) {
    const head = Buffer.concat([u16(0x6000, 0, udp.length), Buffer.of(17, 64), source, target]);
    return Buffer.concat([toMac, fromMac, u16(IPV6_TYPE), head, udp]);
  }
  const head = Buffer.concat([u16(0x4500, 20 + udp.length, 7, 0), Buffer.of(64, 17), u16(0), source, target]);
  return Buffer.concat([toMac, fromMac, u16(0x0800), withSum(head), udp]);
}

/** An IPv4 header with a right checksum. */
export function withSum(head: Buffer): Buffer {
  head.writeUInt16BE(0, 10);
  head.writeUInt16BE(checksum(head), 10);
  return head;
}

export interface ReadFrame extends Datagram, FrameOptions {
  /** Whether the checksums of IP and UDP are right and all lengths agree with the frame. */
  readonly isWhole: boolean;
}

/** A UDP datagram of a frame; null: it holds none. */
export function readFrame(frame: Buffer): ReadFrame | null {
  const type = frame.readUInt16BE(12);
  const six = type === IPV6_TYPE;
  const ip = frame.subarray(14);
  if ((!six && type !== 0x0800) || (six ? ip[6] : ip[9]) !== 17) return null;
  const head = six ? 40 : 20;
  const [source, target] = six
    ? [ip.subarray(8, 24), ip.subarray(24, 40)]
    : [ip.subarray(12, 16), ip.subarray(16, 20)];
  const udp = ip.subarray(head);
  const length = udp.readUInt16BE(4);
  const text = (octets: Buffer): string => (six ? octets.toString('hex') : octets.join('.'));
  const announced = six ? ip.readUInt16BE(4) : ip.readUInt16BE(2) - head;
  return {
    toMac: frame.subarray(0, 6),
    fromMac: frame.subarray(6, 12),
    from: text(source),
    to: text(target),
    fromPort: udp.readUInt16BE(0),
    toPort: udp.readUInt16BE(2),
    payload: udp.subarray(8, length),
    isWhole:
      announced === udp.length &&
      length === udp.length &&
      (six || checksum(ip.subarray(0, 20)) === 0) &&
      udpChecksum(source, target, udp) === 0,
  };
}
