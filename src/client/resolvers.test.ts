import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { dsSeenBy, resolversOf } from './resolvers.ts';

const DIGEST = Buffer.alloc(32, 0xab);

/** A resolver over TCP that gives the answer for each name: DS records, none, or an rcode. */
async function inResolver(
  answers: Readonly<Record<string, number | 'SERVFAIL'>>,
  scenario: (server: string) => Promise<void>,
): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (octets: Buffer) => {
      // Two octets of length come first (RFC 1035 §4.2.2).
      const query = decode(octets.subarray(2));
      const { name } = query.questions[0]!;
      const count = answers[name];
      const ds = { type: 'DS', name, data: { keyTag: 7, algorithm: 13, digestType: 2, digest: DIGEST } };
      const reply = encode({
        type: 'response',
        id: query.id,
        // RD and RA, and the code of SERVFAIL.
        flags: 0x0180 | (count === 'SERVFAIL' ? 2 : 0),
        questions: query.questions,
        answers: Array.from({ length: typeof count === 'number' ? count : 0 }, () => ds),
      });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.end(Buffer.concat([length, reply]));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await scenario(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

test('the DS of a zone are those that a resolver gives over TCP; an error or silence is no answer', () =>
  inResolver({ 'a.example': 1, 'none.example': 0, 'broken.example': 'SERVFAIL' }, async (server) => {
    assert.deepEqual(await dsSeenBy(server, 'a.example'), [`7 13 2 ${DIGEST.toString('hex').toUpperCase()}`]);
    assert.deepEqual(await dsSeenBy(server, 'none.example'), []);
    assert.equal(await dsSeenBy(server, 'broken.example'), null);
    assert.equal(await dsSeenBy('127.0.0.1:1', 'a.example'), null);
  }));

test('configured resolvers replace those of the system', () => {
  assert.deepEqual(resolversOf(['192.0.2.1:5353']), ['192.0.2.1:5353']);
  assert.ok(resolversOf([]).every((address) => address !== ''));
});
