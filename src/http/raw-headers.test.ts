import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { codeFor, newEmail, verify } from '../../test/support/control/accounts/sign-in-rig.ts';
import { type Customer, openWorld, PUBLIC_URL, type World } from '../../test/support/http/world.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import type { Store } from '../store/store.ts';

const NOT_VALID = [401, '{"error":"Credentials are not valid","code":"authentication_error"}'] as const;
const NOT_BEARER = [
  401,
  '{"error":"Authorization must be Bearer and a token","code":"authentication_error"}',
] as const;
const MISSING = [401, '{"error":"Credentials are missing","code":"authentication_error"}'] as const;
const MALFORMED = [400, '{"error":"Request is malformed","code":"validation_error"}'] as const;
const TOO_LARGE = [431, '{"error":"Headers are too large","code":"validation_error"}'] as const;
const TWO_HOSTS = [400, '{"error":"Host is given more than once","code":"validation_error"}'] as const;
const NO_HOST = [400, '{"error":"Host is missing","code":"validation_error"}'] as const;

describe('headers as they are on the wire', () => {
  let world: World;
  let store: Store;
  let database: Awaited<ReturnType<typeof sqliteDatabase>>;
  let port: number;
  let ann: Customer;
  let ben: Customer;
  let cookie: string;

  before(async () => {
    database = await sqliteDatabase();
    store = await database.open();
    world = await openWorld(store, {
      serveOther: async ({ url }, reply) => {
        if (!/^\/(?:\?|$)/.test(url)) return null;
        await reply.send(url);
        return '/';
      },
    });
    await world.app.listen({ host: '127.0.0.1', port: 0 });
    port = (world.app.server.address() as AddressInfo).port;
    [ann, ben] = [await world.customer(), await world.customer()];
    const email = newEmail();
    const { headers } = await verify(world, email, await codeFor(world, email), { cookie: true });
    cookie = String(headers['set-cookie']).split(';')[0]!;
  });
  after(async () => {
    await world.close();
    await store.close();
    await database.drop();
  });

  /** Sends a request line, header lines and a body as they are. */
  async function exchange(
    lines: readonly string[],
    line: string,
    sent = '',
  ): Promise<{ status: number; head: string; body: string }> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      Buffer.from(`${[line, ...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${sent}`, 'latin1'),
    );
    await closed;
    const [head = '', body = ''] = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n');
    return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), head, body };
  }

  /** Sends a request line and header lines as they are. @returns status and body */
  async function answerTo(
    lines: readonly string[],
    line = 'GET /api/v1/me HTTP/1.1',
  ): Promise<[number, string]> {
    const { status, body } = await exchange(lines, line);
    return [status, body];
  }

  async function assertAnswer(
    lines: readonly string[],
    expected: readonly [number, string],
    line?: string,
  ): Promise<void> {
    assert.deepEqual(await answerTo(lines, line), expected, lines.join(' | ').slice(0, 200));
  }

  /** The mail address of the user that a request counts for. */
  async function emailOf(lines: readonly string[]): Promise<string> {
    const [status, body] = await answerTo(lines);
    assert.equal(status, 200, body);
    return JSON.parse(body).email;
  }

  const bearer = ({ token }: { token: string }): string => `Authorization: Bearer ${token}`;
  const HOST = 'Host: x';

  test('two Authorization headers are no credential, whatever is in them and in which order', async () => {
    for (const pair of [
      [bearer(ann), bearer(ben)],
      [bearer(ann), bearer(ann)],
      [bearer(ann), 'Authorization: Bearer x'],
      ['Authorization: Bearer x', bearer(ann)],
      ['Authorization:', bearer(ann)],
      [bearer(ann), `aUTHORIZATION: Bearer ${ben.token}`],
      [bearer(ann), `Cookie: ${cookie}`, bearer(ann)],
    ]) {
      await assertAnswer([HOST, ...pair], pair[0] === 'Authorization:' ? NOT_BEARER : NOT_VALID);
    }
    assert.equal(await emailOf([HOST, bearer(ann)]), ann.email);
  });

  test('two Cookie headers are no credential, also when one has no session', async () => {
    for (const pair of [
      [`Cookie: ${cookie}`, `Cookie: ${cookie}`],
      [`Cookie: ${cookie}`, 'Cookie: theme=dark'],
      ['Cookie: theme=dark', `cookie: ${cookie}`],
      ['Cookie:', `Cookie: ${cookie}`],
    ]) {
      await assertAnswer([HOST, ...pair], MISSING);
    }
    assert.notEqual(await emailOf([HOST, `Cookie: theme=dark; ${cookie}`]), ann.email);
  });

  test('beside an Authorization header a cookie does not count, whether the header is valid or not', async () => {
    assert.equal(await emailOf([HOST, bearer(ann), `Cookie: ${cookie}`]), ann.email);
    assert.equal(await emailOf([HOST, `Cookie: ${cookie}`, `Cookie: ${cookie}`, bearer(ben)]), ben.email);
    const own = ['Sec-Fetch-Site: same-origin', `Origin: ${PUBLIC_URL}`];
    for (const header of ['Authorization:', 'Authorization: Bearer', 'Authorization: Basic eDp5']) {
      const expected = header.endsWith('Bearer') ? NOT_VALID : NOT_BEARER;
      await assertAnswer([HOST, header, `Cookie: ${cookie}`, ...own], expected);
    }
  });

  test('a header of 16 KB is refused, a long one below it is no credential', async () => {
    await assertAnswer([HOST, `Authorization: Bearer ${'a'.repeat(8_000)}`], NOT_VALID);
    await assertAnswer([HOST, `Cookie: ${cookie}${'x'.repeat(8_000)}`], MISSING);
    assert.equal(await emailOf([HOST, bearer(ann), `X-Long: ${'a'.repeat(8_000)}`]), ann.email);
    await assertAnswer([HOST, `Authorization: Bearer ${'a'.repeat(17_000)}`], TOO_LARGE);
    await assertAnswer([HOST, bearer(ann), `X-Long: ${'a'.repeat(17_000)}`], TOO_LARGE);
    await assertAnswer([HOST, bearer(ann), `X-${'l'.repeat(17_000)}: a`], TOO_LARGE);
    await assertAnswer([HOST, bearer(ann), ...Array<string>(2_000).fill('X-Many: a')], TOO_LARGE);
  });

  test('octets that no header may have', async () => {
    for (const header of [
      `Authorization: Bearer ${'a'}\u0000`,
      `X-Nul: a\u0000b`,
      'X-Nul\u0000: a',
      'X-Cr: a\rb',
      'X-Del: a\u007fb',
      'X-Name with space: a',
      'X-Colon : a',
      ' X-Fold: a',
      ': a',
      'no colon',
    ]) {
      await assertAnswer([HOST, header, bearer(ann)], MALFORMED);
    }
    // Octets from 0x80 on are allowed (RFC 9110 §5.5), and are in no credential.
    await assertAnswer([HOST, 'Authorization: Bearer \u00e9'], NOT_VALID);
  });

  test('lengths and hosts that a proxy could read in another way', async () => {
    const post = 'POST /api/v1/namespaces HTTP/1.1';
    const json = [HOST, bearer(ann), 'Content-Type: application/json'];
    for (const pair of [
      ['Content-Length: 0', 'Content-Length: 2'],
      ['Content-Length: 2', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Content-Length: 2'],
      ['Content-Length: +2'],
      ['Content-Length: 0x2'],
      ['Content-Length: -1'],
      ['Transfer-Encoding: identity, xchunked'],
    ]) {
      await assertAnswer([...json, ...pair], MALFORMED, post);
    }
    await assertAnswer([bearer(ann)], NO_HOST);
    await assertAnswer([HOST, 'Host: y', bearer(ann)], TWO_HOSTS);
    await assertAnswer([HOST, 'host: x', bearer(ann)], TWO_HOSTS);
  });

  test('a target with scheme and host is the same request as without them (RFC 9112 §3.2.2)', async () => {
    const record = JSON.stringify({ record: { key: `a.i.${(await ann.namespace()).name}.v1`, data: '' } });
    const json = [HOST, bearer(ann), 'Content-Type: application/json', `Content-Length: ${record.length}`];
    const headerOf = (head: string, name: string): string | undefined =>
      new RegExp(`^${name}: (.*)\r?$`, 'im').exec(head)?.[1];
    const ids: string[] = [];
    for (const origin of ['http://api.example', '', 'HTTPS://api.example:8443']) {
      const made = await exchange(
        [...json, 'Idempotency-Key: absolute'],
        `POST ${origin}/api/v1/records HTTP/1.1`,
        record,
      );
      assert.equal(made.status, 201, made.body);
      const { id } = JSON.parse(made.body);
      ids.push(id);
      assert.equal(headerOf(made.head, 'location'), `${PUBLIC_URL}/api/v1/records/${id}`);
    }
    assert.equal(new Set(ids).size, 1);
    await ann.record(`b.i.${(await ann.namespace()).name}.v1`);
    const page = await exchange(
      [HOST, bearer(ann)],
      'GET http://api.example/api/v1/records?limit=1 HTTP/1.1',
    );
    assert.match(
      headerOf(page.head, 'link') ?? '',
      /^<https:\/\/api\.example\.test\/api\/v1\/records\?limit=1&/,
    );
    const other = await exchange([HOST, 'Accept: text/html'], 'GET http://api.example HTTP/1.1');
    assert.deepEqual([other.status, other.body], [200, '/']);
    const query = await exchange([HOST], 'GET http://api.example?visitor HTTP/1.1');
    assert.deepEqual([query.status, query.body], [200, '/?visitor']);
    const wrong = await exchange([HOST, bearer(ann)], 'PUT http://api.example/api/v1/records/bulk HTTP/1.1');
    assert.equal(wrong.status, 405);
    assert.equal(headerOf(wrong.head, 'allow'), 'POST');
  });

  test('an Expect that the server does not know is ignored: the request is answered as without it', async () => {
    for (const header of ['Expect: x', 'Expect: 200-ok', 'Expect:']) {
      assert.equal(await emailOf([HOST, bearer(ann), header]), ann.email);
      await assertAnswer([HOST, header], MISSING);
    }
    const { head } = await exchange([HOST, bearer(ann), 'Expect: x'], 'GET /api/v1/me HTTP/1.1');
    assert.match(head, /^x-request-id: /im);
  });
});
