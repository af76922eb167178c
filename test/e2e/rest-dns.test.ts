import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import packet from 'dns-packet';
import { LIMITS } from '../../src/base/limits.ts';
import { listeners } from '../support/observed.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { type Steering, steering } from '../support/steered-worker.ts';
import { certificate, eventually } from './client.ts';

const DNS = 'application/dns-message';
const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const query = (name = NAME): Buffer =>
  packet.encode({
    id: 0,
    type: 'query',
    flags: 256,
    questions: [{ type: 'TXT', name }],
    // With a client cookie, whose answer depends on the peer's address.
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 1232,
        flags: 0,
        options: [{ code: 10, data: Buffer.alloc(8, 1) }],
      },
    ] as never,
  });
const post = (body: Uint8Array, type = DNS): Asked => ({
  method: 'POST',
  path: '/dns-query',
  headers: { 'content-type': type, 'content-length': String(body.length) },
  body,
});
const get = (path: string, method = 'GET'): Asked => ({ method, path });

const SAME: Readonly<Record<string, Asked>> = {
  'a query by GET': get(`/dns-query?dns=${query().toString('base64url')}`),
  'a query by HEAD': get(`/dns-query?dns=${query().toString('base64url')}`, 'HEAD'),
  'a query by POST': post(query()),
  'JSON at /dns-query': get(`/dns-query?name=${NAME}&type=TXT`),
  'JSON at /resolve': get(`/resolve?name=${NAME}&type=TXT&do=1`),
  'a name that does not exist': get('/resolve?name=get.nothing.none.v1.uqrp.net&type=TXT'),
  'a zone of others': get('/resolve?name=example.com'),
  'a schema': get('/schema?q=info.units.public.v1'),
  'no schema': get('/schema?q=info.nothing.public.v1'),
  'the query of the schema missing': get('/schema'),
  'a preflight': get('/dns-query', 'OPTIONS'),
  'a method that is not allowed': get('/resolve', 'DELETE'),
  'not base64url': get('/dns-query?dns=AA=='),
  'no query': get('/dns-query'),
  'a message that is no query': post(Buffer.from('xx')),
  'another type': post(query(), 'application/json'),
  'a body that is announced too large': {
    ...post(Buffer.alloc(0)),
    headers: { 'content-type': DNS, 'content-length': String(LIMITS.dohBody + 1) },
  },
  'a long target': get(`/resolve?name=${'a'.repeat(8192)}`),
  'a parameter that is wrong': get('/resolve?name=a..b'),
};

describe('DNS on the port of the REST API', () => {
  let server: Uqrp;
  let steer: Steering;
  let customer: Account;
  before(async () => {
    steer = steering();
    server = await startUqrp({ ...steer.env, UQRP_WORKERS: '2' });
    customer = account(server);
    await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    const record = { key: 'large.acme.v1', data: Buffer.alloc(LIMITS.recordData, 65).toString('base64') };
    assert.equal((await customer.call('POST', '/records', { record })).status, 201);
  });
  after(async () => {
    steer.release();
    await server.remove();
    steer.remove();
  });

  function send({ method, path, headers = {}, body }: Asked, isTls = false): Promise<Got> {
    const host = '127.0.0.1';
    const asked = isTls
      ? tlsRequest({
          host,
          port: server.ports.doh,
          method,
          path,
          headers,
          ca: certificate(server),
          agent: false,
        })
      : plainRequest({ host, port: server.ports.http, method, path, headers, agent: false });
    return new Promise((resolve, reject) => {
      asked.on('error', reject).on('response', (answer) => {
        void answer.toArray().then((chunks: Buffer[]) => {
          const { date: _date, connection: _connection, 'keep-alive': _alive, ...rest } = answer.headers;
          resolve({
            status: answer.statusCode!,
            headers: rest,
            body: Buffer.concat(chunks).toString('latin1'),
          });
        }, reject);
      });
      asked.end(body);
    });
  }

  for (const [title, asked] of Object.entries(SAME)) {
    it(`answers as the DoH port: ${title}`, async () => {
      const [rest, doh] = [await send(asked), await send(asked, true)];
      assert.deepEqual(comparable(rest), comparable(doh));
      assert.equal(rest.headers['access-control-allow-origin'], '*');
    });
  }

  it('gives a server cookie for the address of the client', async () => {
    const { body } = await send(post(query()));
    const { additionals } = packet.decode(Buffer.from(body, 'latin1'));
    const options = (additionals![0] as unknown as { options: { code: number; data: Buffer }[] }).options;
    assert.equal(options.find(({ code }) => code === 10)?.data.length, 24);
  });

  it('carries an answer of full size', async () => {
    await eventually(async () => {
      const { body } = await send(get('/resolve?name=get.large.acme.v1.uqrp.net&type=TXT'));
      return body.length > LIMITS.recordData;
    });
  });

  it('is kept open by a client that asks again, also after an error', async () => {
    const socket = connect(server.ports.http, '127.0.0.1');
    const line = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    // In one packet: answers come in order.
    socket.write(
      line('/resolve') +
        line(`/resolve?name=${NAME}&type=TXT`) +
        line('/api/v1/me') +
        line('/schema?q=info.units.public.v1'),
    );
    await eventually(async () => text.match(/HTTP\/1\.1 /g)?.length === 4 && text.endsWith('}'));
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
      ['400', '200', '401', '200'],
    );
    socket.end();
    await once(socket, 'close');
  });

  it('is counted by resource, and never by name', async () => {
    const metrics = (await send(get('/metrics'))).body;
    for (const route of ['/dns-query', '/resolve', '/schema'])
      assert.ok(metrics.includes(`{route="${route}",`), route);
    assert.ok(!/km-to-mi|acme/.test(metrics));
  });

  it('goes on while workers end and are replaced: no answer is lost', async () => {
    let isDone = false;
    let asked = 0;
    const client = async (): Promise<void> => {
      for (; !isDone; asked++) {
        const { status, body } = await send(
          get(`/resolve?name=get.${asked}-km-to-mi.units.public.v1.uqrp.net&type=TXT`),
        );
        assert.equal(status, 200, body);
      }
    };
    const load = Promise.all([client(), client(), client()]);
    try {
      for (const worker of [0, 1]) {
        steer.hold();
        steer.kill(worker);
        await Promise.race([load, eventually(async () => steer.isHeld(worker))]);
        const at = asked;
        await Promise.race([load, eventually(async () => asked > at + 30)]);
        steer.release();
        // A worker counts as alive once all its ports listen and its message has reached the main thread.
        const { dns, dot, doh } = server.ports;
        const isWhole = async (): Promise<boolean> => [dns, dot, doh].every((port) => listeners(port) === 2);
        await Promise.race([load, eventually(isWhole)]);
        await send(get('/readyz'));
      }
    } finally {
      isDone = true;
      steer.release();
    }
    await load;
  });

  it('answers what is in work at a stop, and then closes', async () => {
    const body = query();
    const namespace = JSON.stringify({ namespace: { name: 'begun' } });
    const open = [
      await begin('/dns-query', DNS, body),
      await begin('/dns-query', DNS, body),
      await begin('/api/v1/namespaces', 'application/json', Buffer.from(namespace), {
        authorization: `Bearer ${customer.token}`,
      }),
    ];
    const stopped = server.stop();
    // No further connection is taken: the stop is under way, and these requests are whole only now.
    await eventually(async () => listeners(server.ports.http) === 0);
    const [query1, query2, created] = await Promise.all(open.map((finish) => finish()));
    for (const answer of [query1!, query2!]) {
      // The threads that answer may have stopped by then.
      assert.match(answer, /^HTTP\/1\.1 (200|503) .*\r\n\r\n./s);
    }
    assert.match(created!, /^HTTP\/1\.1 201 .*"name":"begun"/s);
    await stopped;
  });

  /** Sends a request without its last octet. It is in work: the server has said that it wants the body. @returns sends the rest */
  async function begin(
    path: string,
    type: string,
    body: Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<() => Promise<string>> {
    const socket = connect(server.ports.http, '127.0.0.1');
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    const fields = {
      host: 'localhost',
      'content-type': type,
      'content-length': String(body.length),
      expect: '100-continue',
      ...headers,
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const go = 'HTTP/1.1 100 Continue\r\n\r\n';
    await eventually(async () => text.startsWith(go));
    socket.write(body.subarray(0, -1));
    return async () => {
      socket.write(body.subarray(-1));
      await closed;
      return text.slice(go.length);
    };
  }
});

/** A cookie has its time in seconds, and each worker makes signatures of its own: they are random (P-256). */
function comparable({ status, headers, body }: Got): Got {
  const at = body.indexOf('\x00\x0a\x00\x18\x01\x01\x01\x01\x01\x01\x01\x01');
  const text = at < 0 ? body : body.slice(0, at + 12);
  return { status, headers, body: text.replaceAll(/[A-Za-z0-9+/]{86}==/g, 'SIGNATURE') };
}
