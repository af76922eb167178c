import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import packet from 'dns-packet';

/** RD and RA (RFC 1035 §4.1.1): the reply of a server that resolves for others. */
const FLAGS = 0x0180;

export interface DnsAnswer {
  /** The name asked for where it is missing. */
  readonly name?: string;
  readonly type: 'A' | 'AAAA' | 'CNAME';
  readonly data: string;
}

/** The reply for a name and type: records, a response code, or none. */
export type DnsReply = readonly DnsAnswer[] | number | 'silence';

export interface DnsServer {
  /** As `makeResolve` takes it. */
  readonly address: string;
  /** What was asked, in order: `A host`. */
  readonly asked: string[];
  close(): void;
}

/** A name server on a port of its own that answers over UDP from a function of type and name. */
export async function startDnsServer(reply: (type: string, name: string) => DnsReply): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, peer) => {
    const { id, questions } = packet.decode(query);
    const { type = '', name = '' } = questions[0] ?? {};
    asked.push(`${type} ${name}`);
    const said = reply(type, name);
    if (said === 'silence') return;
    const records = typeof said === 'number' ? [] : said;
    const answers = records.map((record) => ({ name, ttl: 300, ...record }));
    const flags = FLAGS | (typeof said === 'number' ? said : 0);
    socket.send(packet.encode({ type: 'response', id, flags, questions, answers }), peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}
