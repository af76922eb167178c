import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { decode, encode } from 'dns-packet';

/** What a resolver says of a zone: DS records in presentation form (`7 13 2 AB...`), or an error. */
export type DsAnswer = readonly string[] | 'SERVFAIL';

/** A resolver that is asked over TCP for DS records, and says what `answer` gives. */
export async function startDsResolver(
  answer: (zone: string) => DsAnswer,
): Promise<{ readonly address: string; stop(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (octets: Buffer) => {
      // Two octets of length come first (RFC 1035 §4.2.2).
      const query = decode(octets.subarray(2));
      const { name } = query.questions[0]!;
      const said = answer(name);
      const reply = encode({
        type: 'response',
        id: query.id,
        // RD and RA, and the code of SERVFAIL.
        flags: 0x0180 | (said === 'SERVFAIL' ? 2 : 0),
        questions: query.questions,
        answers: said === 'SERVFAIL' ? [] : said.map((line) => dsRecord(name, line)),
      });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.end(Buffer.concat([length, reply]));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}

function dsRecord(name: string, line: string): object {
  const [keyTag, algorithm, digestType, digest] = line.split(' ');
  return {
    type: 'DS',
    name,
    data: {
      keyTag: Number(keyTag),
      algorithm: Number(algorithm),
      digestType: Number(digestType),
      digest: Buffer.from(digest!, 'hex'),
    },
  };
}
