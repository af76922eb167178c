import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { RRTYPE } from '../../../src/protocol/dns/codes.ts';
import { decodeMessage, encodeMessage } from '../../../src/protocol/dns/message/message.ts';
import { nameToText } from '../../../src/protocol/dns/name.ts';
import { txtChunks } from '../../../src/protocol/dns/rdata/rdata.ts';

/** TXT values of a name, or a response code; null: no reply. */
export type TxtAnswer = readonly (string | Uint8Array)[] | number | null;

export interface TxtServer {
  readonly port: number;
  close(): void;
}

/** A name server that answers over UDP from a function of the name. */
export async function startTxtServer(answerOf: (name: string) => TxtAnswer): Promise<TxtServer> {
  const socket = createSocket('udp4');
  socket.on('message', (octets, peer) => {
    const query = decodeMessage(octets)!;
    const { qname } = query.question[0]!;
    const said = answerOf(nameToText(qname));
    if (said === null) return;
    const values = typeof said === 'number' ? [] : said;
    const answer = values.map((value) => {
      const rdata = txtChunks(typeof value === 'string' ? Buffer.from(value) : value);
      return { owner: qname, type: RRTYPE.TXT, class: 1, ttl: 60, rdata };
    });
    const rcode = typeof said === 'number' ? said : 0;
    const reply = encodeMessage({ ...query, qr: true, aa: true, rcode, answer, additional: [], edns: null });
    socket.send(reply, peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, close: () => socket.close() };
}
