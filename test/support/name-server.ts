import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import packet from 'dns-packet';

/** Header bits (RFC 1035 §4.1.1) and NXDOMAIN. */
const RD = 0x0100;
const RA = 0x0080;
const NXDOMAIN = 3;

/** Addresses of a host at its nth question of a type, IPv4 and IPv6 mixed; empty: the name has none; null: it does not exist. */
export type Answers = (host: string, nth: number) => readonly string[] | null;

export interface NameServer {
  readonly port: number;
  /** How often the host was asked for, all types together. */
  asked(host: string): number;
  close(): void;
}

/** A recursive name server as the outbound door sees it: answers A and AAAA over UDP from a function. */
export async function startNameServer(address: string, port: number, answers: Answers): Promise<NameServer> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  socket.on('message', (query, peer) => {
    const { id, questions } = packet.decode(query);
    const [question] = questions;
    if (question === undefined) return;
    const name = question.name.toLowerCase();
    const count = (key: string): number => {
      const nth = (counts.get(key) ?? 0) + 1;
      counts.set(key, nth);
      return nth;
    };
    count(name);
    const nth = count(`${name} ${question.type}`);
    const found = answers(name, nth);
    const family = question.type === 'A' ? '.' : ':';
    const records = (found ?? [])
      .filter((one) => one.includes(family) && (family === ':' || !one.includes(':')))
      .map((data) => ({ type: question.type, name: question.name, ttl: 0, data }));
    const reply = packet.encode({
      type: 'response',
      id,
      flags: RD | RA | (found === null ? NXDOMAIN : 0),
      questions,
      answers: records,
    });
    socket.send(reply, peer.port, peer.address);
  });
  socket.bind(port, address);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    asked: (host) => counts.get(host) ?? 0,
    close: () => socket.close(),
  };
}
