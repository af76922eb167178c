import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import {
  type Ask,
  DNS,
  gather,
  get,
  post,
  type Scene,
  tls,
  withDoh,
} from '../../../test/support/dns/doh/doh-clients.ts';
import { labelOf, query, until } from '../../../test/support/dns/fakes.ts';
import { LIMITS } from '../../base/limits.ts';
import { queueShare } from '../shared/listener.ts';

// The connections open in hooks of a suite, because hooks at the top of a file run before the tests of all other files.
describe('both versions of HTTP', () => {
  let shared: Scene;
  let release: () => void;
  let finished: Promise<void>;

  before(async () => {
    const done = Promise.withResolvers<void>();
    release = done.resolve;
    await new Promise<void>((ready) => {
      finished = withDoh({}, async (scene) => {
        shared = scene;
        ready();
        await done.promise;
      });
    });
  });

  after(async () => {
    release();
    await finished;
  });

  test('http/1.1: a target with scheme and host is the same request as without them', async () => {
    const ask = shared.clients['http/1.1'];
    const { status, body } = await ask({ path: 'https://dns.example/resolve?name=echo' });
    assert.deepEqual([status, JSON.parse(body.toString())], [200, { Status: 0, label: 'echo' }]);
    assert.equal((await ask({ path: 'https://dns.example' })).status, 404);
  });

  test('http/1.1: an Expect that the server does not know is ignored', async () => {
    const ask = { path: '/resolve?name=echo', headers: { expect: 'x' } };
    assert.equal((await shared.clients['http/1.1'](ask)).status, 200);
  });

  for (const version of ['h2', 'http/1.1'] as const) {
    test(`${version}: a DNS message by GET and by POST`, async () => {
      for (const label of ['hot', 'echo', 'fail', 'big']) {
        for (const ask of [{ path: get(label) }, post(label)]) {
          const { status, headers, body } = await shared.clients[version](ask);
          assert.equal(status, 200);
          assert.equal(headers['content-type'], DNS);
          assert.equal(headers['content-length'], String(body.length));
          assert.equal(headers['cache-control'], 'no-store');
          assert.equal(labelOf(body), label);
          assert.equal(body.length, label === 'big' ? 65_535 : query(0, label).length);
        }
      }
    });

    const table: [name: string, ask: Ask, status: number, body: object | null][] = [
      ['JSON', { path: '/resolve?name=echo' }, 200, { Status: 0, label: 'echo' }],
      ['JSON of a failure', { path: '/resolve?name=fail' }, 200, { Status: 2, label: 'fail' }],
      ['JSON under the other path', { path: '/dns-query?name=echo' }, 200, { Status: 0, label: 'echo' }],
      ['JSON without a name', { path: '/resolve' }, 400, { error: 'Parameter name is required' }],
      ['a reply that cannot be rendered', { path: '/resolve?name=odd' }, 500, { error: 'Internal error' }],
      ['a handler that throws', { path: '/resolve?name=throw' }, 500, { error: 'Internal error' }],
      ['a handler that rejects', { path: get('reject') }, 500, { error: 'Internal error' }],
      ['neither dns nor name', { path: '/dns-query' }, 400, { error: 'Parameter dns or name is required' }],
      ['an empty message', { path: '/dns-query?dns=' }, 400, { error: 'Not a DNS query' }],
      [
        'a message of 11 octets',
        { path: '/dns-query?dns=AAAAAAAAAAAAAAA' },
        400,
        { error: 'Not a DNS query' },
      ],
      ['silence', { path: get('mute') }, 400, { error: 'Not a DNS query' }],
      ['an empty body', { ...post('echo'), body: Buffer.alloc(0) }, 400, { error: 'Not a DNS query' }],
      ['another path', { path: '/' }, 404, { error: 'Not found' }],
      ['another path, POST', { ...post('echo'), path: '/dns-query/' }, 404, { error: 'Not found' }],
      ['schema', { path: '/schema?q=x' }, 200, { title: 'x' }],
      ['schema without q', { path: '/schema' }, 400, { error: 'q is required' }],
      ['DELETE', { method: 'DELETE', path: '/dns-query' }, 405, { error: 'Method not allowed' }],
      ['POST of JSON', { method: 'POST', path: '/resolve?name=echo' }, 405, { error: 'Method not allowed' }],
      [
        'another media type',
        { ...post('echo'), headers: { 'content-type': 'application/json' } },
        415,
        { error: `Content-Type must be ${DNS}` },
      ],
      ['no media type', { ...post('echo'), headers: {} }, 415, { error: `Content-Type must be ${DNS}` }],
      ['8,192 octets of target', { path: `/dns-query?a=${'b'.repeat(8179)}` }, 400, null],
      ['a DNS message of 45,000 octets', { path: `/dns-query?dns=${'A'.repeat(60_000)}` }, 414, null],
      [
        '8,193 octets of target',
        { path: `/dns-query?a=${'b'.repeat(8180)}` },
        414,
        { error: 'URI too long' },
      ],
    ];
    test(`${version}: requests and what becomes of them`, async () => {
      for (const [name, ask, status, expected] of table) {
        const { status: got, headers, body } = await shared.clients[version](ask);
        assert.equal(got, status, name);
        assert.equal(headers['content-type'], 'application/json', name);
        assert.equal(headers['content-length'], String(body.length), name);
        assert.equal(headers['access-control-allow-origin'], '*', name);
        assert.equal(headers['x-content-type-options'], 'nosniff', name);
        assert.equal(headers['referrer-policy'], 'no-referrer', name);
        if (status !== 200) assert.equal(headers['cache-control'], 'no-store', name);
        if (expected !== null) assert.deepEqual(JSON.parse(body.toString()), expected, name);
      }
    });

    test(`${version}: a schema may be kept for an hour, one that was asked for with a token not at all`, async () => {
      for (const [q, cache] of [
        ['get.a.b.v1', 'max-age=3600'],
        ['get.author-x.b.v1', 'max-age=3600'],
        ['get.auth-q1w2.a.b.v1', 'no-store'],
        ['get.AUTH-q1w2.a.b.v1', 'no-store'],
      ] as const) {
        const { status, headers } = await shared.clients[version]({ path: `/schema?q=${q}` });
        assert.deepEqual([status, headers['cache-control']], [200, cache], q);
      }
    });

    test(`${version}: wire on request of the JSON API, and a tolerated media type parameter`, async () => {
      const wire = await shared.clients[version]({ path: `/resolve?name=echo&ct=${DNS}` });
      assert.equal(wire.headers['content-type'], DNS);
      assert.equal(labelOf(wire.body), 'echo');
      const headers = { 'content-type': 'Application/DNS-Message; charset=utf-8' };
      assert.equal((await shared.clients[version]({ ...post('echo'), headers })).status, 200);
    });

    test(`${version}: 405 says what is allowed, OPTIONS too, HEAD is GET without the body`, async () => {
      const ask = shared.clients[version];
      for (const [path, allow] of [
        ['/dns-query', 'GET, HEAD, POST, OPTIONS'],
        ['/resolve', 'GET, HEAD, OPTIONS'],
        ['/schema', 'GET, HEAD, OPTIONS'],
      ] as const) {
        assert.equal((await ask({ method: 'PUT', path })).headers.allow, allow);
        const preflight = await ask({
          method: 'OPTIONS',
          path,
          headers: { origin: 'https://page.example' },
        });
        assert.equal(preflight.status, 204);
        assert.equal(preflight.headers['access-control-allow-methods'], allow);
        assert.equal(preflight.headers['access-control-allow-origin'], '*');
        assert.equal(preflight.headers['content-length'], undefined);
      }
      const head = await ask({ method: 'HEAD', path: get('echo') });
      assert.equal(head.status, 200);
      assert.equal(head.body.length, 0);
      assert.equal(head.headers['content-length'], String(query(0, 'echo').length));
    });

    test(`${version}: a body at the limit, and one octet more, with and without its length announced`, async () => {
      const ask = shared.clients[version];
      const padded = (octets: number): Buffer => Buffer.concat([query(0, 'echo')], octets);
      const announced = (octets: number): Ask => ({
        ...post('echo'),
        headers: { 'content-type': DNS, 'content-length': String(octets) },
        body: padded(octets),
      });
      assert.equal((await ask(announced(65_535))).status, 200);
      assert.equal((await ask(announced(65_536))).status, 413);
      assert.equal((await ask({ ...post('echo'), body: padded(65_535) })).status, 200);
      assert.equal((await ask({ ...post('echo'), body: padded(65_536) })).status, 413);
      assert.equal((await ask({ path: get('echo') })).status, 200);
    });
  }

  test('a hundred streams at once, answered as their answers come', async () => {
    await withDoh({}, async ({ options, clients }) => {
      const waiting = Array.from({ length: 50 }, () => clients.h2({ path: get('wait') }));
      const rest = await Promise.all(Array.from({ length: 50 }, () => clients.h2({ path: get('hot') })));
      assert.ok(rest.every(({ status }) => status === 200));
      options.handler.gate.open();
      assert.ok((await Promise.all(waiting)).every(({ status }) => status === 200));
      assert.equal(options.observe.count('doh reply 0'), 100);
      assert.deepEqual(options.handler.shares, Array(50).fill(queueShare('127.0.0.1')));
    });
  });

  test('requests pipelined over HTTP/1.1 are asked and answered one after the other', async () => {
    await withDoh({}, async ({ options, listener, clients }) => {
      const socket = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
      const paths = ['/resolve?name=wait', '/resolve?name=hot', '/resolve?name=echo'];
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
      await until(() => options.handler.asked.length === 1);
      await clients['http/1.1']({ path: get('hot') });
      assert.equal(options.handler.asked.length, 2);
      options.handler.gate.open();
      await until(() => text.split('"label"').length === 4);
      assert.deepEqual(text.match(/(?<="label":")\w+/g), ['wait', 'hot', 'echo']);
      socket.destroy();
    });
  });

  test('of an HTTP/1.1 connection 16 requests wait at a time; the 17th ends it, and those behind the first are not asked', async () => {
    await withDoh({}, async ({ options, listener }) => {
      const open = (requests: number): [socket: TLSSocket, text: () => string] => {
        const socket = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
        let text = '';
        socket.on('data', (chunk) => (text += chunk)).on('error', () => {});
        socket.write('GET /resolve?name=wait HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(requests));
        return [socket, () => text];
      };
      const [patient, text] = open(LIMITS.httpPipeline);
      await until(() => options.handler.asked.length === 1);
      const [greedy] = open(200);
      await until(() => greedy.destroyed);
      assert.ok(options.handler.asked.length <= 2);
      options.handler.gate.open();
      await until(() => text().split('"label"').length === 1 + LIMITS.httpPipeline);
      patient.destroy();
    });
  });

  test('HTTP/1.1 without a Host, or with two, gets an error in JSON, and its connection goes on', async () => {
    await withDoh({}, async ({ options, listener }) => {
      const cases: [version: string, hosts: string, status: number][] = [
        ['1.1', '', 400],
        ['1.1', 'Host: localhost\r\nhost: localhost\r\n', 400],
        ['1.0', 'Host: a\r\nHost: b\r\n', 400],
        ['1.0', '', 200],
      ];
      for (const [version, hosts, status] of cases) {
        const socket = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
        const asked = options.handler.asked.length;
        socket.write(`GET /resolve?name=hot HTTP/${version}\r\n${hosts}Connection: keep-alive\r\n\r\n`);
        socket.write('GET /resolve?name=hot HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        const [first = '', second = ''] = (await gather(socket)).toString().split(/(?<=\})(?=HTTP)/);
        assert.match(first, new RegExp(`^HTTP/1.1 ${status} `), version + hosts);
        assert.match(second, /^HTTP\/1.1 200 /);
        assert.equal(options.handler.asked.length - asked, status === 200 ? 2 : 1);
        if (status === 200) continue;
        assert.match(first, /\r\naccess-control-allow-origin: \*\r\n/);
        assert.match(first, /\r\ncache-control: no-store\r\n/);
        assert.ok(first.endsWith('\r\n\r\n{"error":"Host must be given once"}'), first);
        assert.match(first, /\r\ncontent-type: application\/json\r\n/);
      }
    });
  });

  test('what is no HTTP/1.1 gets an error in JSON and a closed connection', async () => {
    await withDoh({}, async ({ listener }) => {
      const cases: [sent: string, status: number][] = [
        ['\0\0\0\0\r\n\r\n', 400],
        [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(100_000)}`, 431],
        [`GET /${'a'.repeat(100_000)}`, 431],
      ];
      for (const [sent, status] of cases) {
        const socket = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
        socket.write(sent);
        const answer = (await gather(socket)).toString();
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
        assert.match(answer, /\r\naccess-control-allow-origin: \*\r\n/);
        assert.match(answer, /\{"error":"[^"]+"\}$/);
      }
    });
  });
});
