import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it, test } from 'node:test';
import { DNS_LIMITS } from '../../../test/support/dns/fakes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { HttpReply } from '../../dns/doh/request.ts';
import { createRateMemory, makeRateLimits } from '../../dns/shared/rate-limit.ts';
import { dnsOverRest, serveDns } from './dns-over-rest.ts';

const REPLY: HttpReply = { status: 200, headers: {}, body: new Uint8Array(0) };
const QUERY = { kind: 'schema', query: null } as const;

const onFault = (): never => assert.fail('a fault');

function service() {
  const waiting: ((reply: HttpReply | null) => void)[] = [];
  const pool = { ask: () => new Promise<HttpReply | null>((resolve) => waiting.push(resolve)) };
  const { answer } = dnsOverRest({ pool, admit: null, onFault });
  const ask = async (address: string) => answer(QUERY, () => address);
  return { ask, waiting };
}

test('one address has so many queries in work, and no more', async () => {
  const { ask, waiting } = service();
  const first = Array.from({ length: LIMITS.restQueriesPerAddress }, () => ask('192.0.2.1'));
  assert.equal(waiting.length, LIMITS.restQueriesPerAddress);
  const { status, headers } = await ask('192.0.2.1');
  assert.deepEqual([status, headers['retry-after']], [429, '1']);
  const other = ask('192.0.2.2');
  for (const resolve of waiting) resolve(REPLY);
  for (const reply of await Promise.all([...first, other])) assert.equal(reply.status, 200);
  const again = ask('192.0.2.1');
  waiting.at(-1)!(null);
  assert.deepEqual([(await again).status, (await again).headers['retry-after']], [503, '1']);
});

test('all addresses together have so many, and no more', async () => {
  const { ask, waiting } = service();
  const all = Array.from({ length: LIMITS.restQueries }, (_, i) => ask(`192.0.2.${i}`));
  assert.equal(waiting.length, LIMITS.restQueries);
  const refused = await ask('198.51.100.1');
  assert.deepEqual(
    [refused.status, Buffer.from(refused.body).toString(), refused.headers['retry-after']],
    [503, '{"error":"Too many queries are in work"}', '1'],
  );
  waiting[0]!(REPLY);
  await all[0];
  const next = ask('198.51.100.1');
  for (const resolve of waiting) resolve(REPLY);
  assert.equal((await next).status, 200);
});

test('the addresses of an IPv6 /64 share their places: a client has them all', async () => {
  const { ask, waiting } = service();
  const all = Array.from({ length: LIMITS.restQueriesPerAddress }, (_, i) =>
    ask(`2001:db8::${i.toString(16)}`),
  );
  assert.equal((await ask('2001:db8::ffff')).status, 429);
  const other = ask('2001:db8:0:1::1');
  for (const resolve of waiting) resolve(REPLY);
  for (const reply of await Promise.all([...all, other])) assert.equal(reply.status, 200);
});

describe('a body over the limit, on the port of the REST API', () => {
  const server = createServer((request, response) => {
    serveDns(request, response, '192.0.2.1', { answer: () => REPLY, onFault });
  });
  let port: number;
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(() => server.close());

  /** A POST, its body, and another request behind it. */
  async function talk(headers: string, body: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /dns-query HTTP/1.1\r\nHost: x\r\nContent-Type: application/dns-message\r\n${headers}\r\n\r\n${body}`,
    );
    socket.write('GET /schema?q=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    return Buffer.concat(await socket.toArray()).toString('latin1');
  }
  const statuses = (text: string): readonly string[] =>
    Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status!);

  it('is read and discarded: the connection goes on, and no proxy loses the 413', async () => {
    for (const length of [LIMITS.dohBody + 1, LIMITS.discardedBody]) {
      const answer = await talk(`Content-Length: ${length}`, ' '.repeat(length));
      assert.deepEqual(statuses(answer), ['413', '200'], String(length));
    }
  });

  it('closes the connection when it is far too large, or has no length', async () => {
    for (const [headers, body] of [
      [`Content-Length: ${LIMITS.discardedBody + 1}`, ''],
      [
        'Transfer-Encoding: chunked',
        `${(LIMITS.dohBody + 1).toString(16)}\r\n${' '.repeat(LIMITS.dohBody + 1)}\r\n`,
      ],
    ] as const) {
      const answer = await talk(headers, body);
      assert.deepEqual(statuses(answer), ['413'], headers);
      assert.match(answer, /^connection: close/im);
    }
  });
});

test('an address has one budget for both ports', () => {
  const settings = { ...DNS_LIMITS, memory: createRateMemory(), clock: () => 1_800_000_000_000 };
  const [worker, main] = [makeRateLimits(settings), makeRateLimits(settings)];
  const pool = { ask: async () => REPLY };
  const { admit } = dnsOverRest({ pool, admit: main.admit, onFault });
  for (let i = 0; i < LIMITS.dohRequestsPerMinute; i++) assert.equal(worker.admit('192.0.2.1'), 0);
  assert.equal(admit?.('192.0.2.1'), 60);
  assert.equal(admit?.('192.0.2.2'), 0);
});
