import { createSocket, type Socket } from 'node:dgram';
import { RRTYPE, rcodeName } from '../../../src/protocol/dns/codes.ts';
import { decodeMessage, encodeQuery } from '../../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../../src/protocol/dns/name.ts';
import { txtValue } from '../../../src/protocol/dns/rdata/rdata.ts';
import { envelopeText } from '../envelope-text.ts';

export interface UdpAnswer {
  readonly rcode: string;
  /** Of the answer's envelope, as text. */
  readonly payload: string | null;
}

/** Asks one node over one socket, so that many questions cost little. */
export interface UdpAsker {
  /** Null: no reply came in time. @param name below the zone `uqrp.net` */
  ask(name: string, waitMs?: number): Promise<UdpAnswer | null>;
  close(): void;
}

export function createUdpAsker(port: number): UdpAsker {
  const waiting = new Map<number, (answer: UdpAnswer) => void>();
  const socket: Socket = createSocket('udp4');
  let next = 0;
  // A node that is down: the question gets no reply.
  socket.on('error', () => {});
  socket.on('message', (packet) => {
    const reply = decodeMessage(packet);
    const take = reply === null ? undefined : waiting.get(reply.id);
    if (reply === null || take === undefined) return;
    const [record] = reply.answer;
    const text = record === undefined ? null : Buffer.from(txtValue(record.rdata) ?? []).toString('latin1');
    take({
      rcode: rcodeName(reply.rcode),
      payload: text === null ? null : envelopeText(text),
    });
  });
  return {
    ask: (name, waitMs = 1_000) =>
      new Promise((resolve) => {
        next = (next + 1) % 65_536;
        const id = next;
        const end = (answer: UdpAnswer | null): void => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(answer);
        };
        const timer = setTimeout(() => end(null), waitMs);
        waiting.set(id, end);
        const query = encodeQuery(nameFromText(`${name}.uqrp.net`)!, RRTYPE.TXT, {
          id,
          rd: false,
          edns: { payload: 1232, dnssecOk: false },
        });
        socket.send(query, port, '127.0.0.1');
      }),
    close: () => socket.close(),
  };
}
