import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseIpv4, parseIpv6 } from '../../src/base/network/address.ts';

/** Addresses and DS records at a host's nth query of a type, mixed. Empty: NODATA; null: the name does not exist. */
export type Answers = (host: string, nth: number) => readonly string[] | null;

export interface TestNameServer {
  readonly port: number;
  close(): void;
}

const A = 1;
const AAAA = 28;
const DS = 43;
const HEADER = 12;
/** QR, RD and RA, and the rcode of a name that does not exist (RFC 1035 §4.1.1). */
const RESPONSE = 0x8180;
const NXDOMAIN = 3;

/** A stand-in for a recursive name server: answers A, AAAA and DS over UDP from a function. */
export async function startNameServer(
  address: string,
  port: number,
  answers: Answers,
): Promise<TestNameServer> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  socket.on('message', (query, peer) => {
    const { name, end } = readName(query);
    const type = query.readUInt16BE(end);
    const key = `${name} ${type}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    socket.send(reply(query.subarray(0, end + 4), type, answers(name, nth)), peer.port, peer.address);
  });
  socket.bind(port, address);
  await once(socket, 'listening');
  return { port: socket.address().port, close: () => socket.close() };
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

/** `48775 13 2 5D7E...` (RFC 4034 §5.3); null for an address. */
function dsOf(text: string): Buffer | null {
  const [, tag, algorithm, digestType, digest] = /^(\d+) (\d+) (\d+) ([0-9A-F]+)$/i.exec(text) ?? [];
  if (digest === undefined) return null;
  const head = Buffer.from([Number(tag) >> 8, Number(tag) & 0xff, Number(algorithm), Number(digestType)]);
  return Buffer.concat([head, Buffer.from(digest, 'hex')]);
}

function reply(question: Buffer, type: number, found: readonly string[] | null): Buffer {
  const records = (found ?? []).flatMap((address) => {
    const rdata =
      type === A
        ? parseIpv4(address)
        : type === AAAA
          ? parseIpv6(address)
          : type === DS
            ? dsOf(address)
            : null;
    if (rdata === null) return [];
    // Pointer to the query's name, class IN, TTL 0 (RFC 1035 §4.1.3).
    const head = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 0, 0, rdata.length]);
    return [Buffer.concat([head, rdata])];
  });
  const message = Buffer.concat([question, ...records]);
  message.writeUInt16BE(RESPONSE | (found === null ? NXDOMAIN : 0), 2);
  message.writeUInt16BE(1, 4);
  message.writeUInt16BE(records.length, 6);
  message.writeUInt32BE(0, 8);
  return message;
}
