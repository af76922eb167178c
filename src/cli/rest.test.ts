import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { InputError, UsageError } from '../base/errors.ts';
import { loadConfig } from '../ops/config/config.ts';
import { openRest } from './rest.ts';

const CONFIG = loadConfig({});
const TOKEN = 'a'.repeat(64);

/** What `put` says of a server that answers so, with `ORIGIN` for the server. */
async function saidOf(answer: RequestListener, { path = '' } = {}): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const rest = openRest(`http://127.0.0.1:${port}${path}`, CONFIG, TOKEN);
  try {
    const { id, key } = await rest.write((api) => api.records.put('a.acme.v1', { data: 'eA==' }));
    return `${id} ${key}`;
  } catch (error) {
    assert.ok(error instanceof InputError);
    assert.ok(!error.message.includes(TOKEN));
    return error.message.replaceAll(rest.origin, 'ORIGIN');
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const DOUBT = '. The write may have been done: read the record.';

const reply =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };

describe('put over REST', () => {
  it('takes an origin or the URL of an API, without user, query or fragment', async () => {
    const asked: RequestListener = ({ url, headers }, response) => {
      const record = { id: url, key: headers.authorization === `Bearer ${TOKEN}` ? 'allowed' : '' };
      response.end(JSON.stringify({ records: [record], deleted: [] }));
    };
    for (const [path, url] of [
      ['', '/api/v1/records/bulk'],
      ['/', '/api/v1/records/bulk'],
      ['/api/v1/', '/api/v1/records/bulk'],
      ['/below/api/v1', '/below/api/v1/records/bulk'],
    ] as const) {
      assert.equal(await saidOf(asked, { path }), `${url} allowed`);
    }
    for (const bad of ['uqrp.example.com', 'ftp://a', 'http://u:p@a', 'http://a/?b', 'http://a/#b', '']) {
      assert.throws(() => openRest(bad, CONFIG, TOKEN), UsageError, bad);
    }
  });

  it('says what the server refused, about one record, and when to try again', async () => {
    const invalid = {
      errors: ['records[0].data is long', 'records[0].key is bad'],
      code: 'validation_error',
    };
    assert.equal(await saidOf(reply(422, invalid)), 'data is long\nkey is bad');
    const suspended = { error: 'Namespace is suspended', code: 'authorization_error' };
    assert.equal(await saidOf(reply(403, suspended)), 'Namespace is suspended');
    const busy = { error: 'Too many requests', code: 'rate_limit_exceeded' };
    assert.equal(
      await saidOf(reply(429, busy, { 'retry-after': '7' })),
      'Too many requests. Try again in 7 s.',
    );
    const unknown = { error: 'Unauthorized', code: 'authentication_error' };
    assert.equal(await saidOf(reply(401, unknown)), 'ORIGIN does not accept UQRP_TOKEN: Unauthorized');
    const hostile = { error: 'a\u001b[2Jb', code: 'validation_error' };
    assert.equal(await saidOf(reply(422, hostile)), 'a\\u{1b}[2Jb');
  });

  it('says that an answer is not one of uqrp', async () => {
    for (const [status, body] of [
      [200, '<html>'],
      [301, ''],
      [404, '<html>'],
      [502, 'null'],
    ] as const) {
      const said = await saidOf(reply(status, body, { location: 'http://127.0.0.1:1/' }));
      const doubt = status === 502 ? DOUBT : '';
      assert.equal(said, `ORIGIN is no REST server of uqrp: it answered with HTTP status ${status}${doubt}`);
    }
    for (const body of ['{"records":[]}', '{"error":"x"}', 'null', '[]']) {
      assert.equal(await saidOf(reply(200, body)), 'ORIGIN is no REST server of uqrp');
    }
  });

  it('says that an answer broke off, or has no end, and that the write may have been done', async () => {
    const cut: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{', () => response.destroy());
    };
    assert.equal(await saidOf(cut), `no reply from ORIGIN: ECONNRESET${DOUBT}`);
    const endless: RequestListener = (_, response) => {
      const chunk = Buffer.alloc(65_536);
      const more = (): boolean => {
        while (response.write(chunk));
        return response.once('drain', more).writable;
      };
      more();
    };
    assert.equal(await saidOf(endless), `no reply from ORIGIN: REPLY_TOO_LONG${DOUBT}`);
    assert.match(await saidOf(reply(200, 'x'.repeat(4_194_304))), /HTTP status 200$/);
    assert.match(await saidOf(reply(200, 'x'.repeat(4_194_305))), /REPLY_TOO_LONG\./);
  });
});
