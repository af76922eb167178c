import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { openWorld, type World } from '../../../test/support/http/world.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { serveDashboard } from './dashboard.ts';
import type { DocumentPages } from './documents.ts';
import { readDashboard, textFile } from './files.ts';
import type { FrontFacts } from './front.ts';

const FACTS: FrontFacts = {
  isOn: true,
  version: '0.2.0',
  isPublic: false,
  zones: ['uqrp.net', 'example.net'],
  isSigned: true,
  dns: () => ({ host: 'localhost', port: 5300 }),
  services: new Map(),
  documents: [],
};
const LANDING =
  '<!doctype html><html data-zones="{{zones}}" data-dns="{{dns}}"><title>{{title}}</title>{{head}}<p>get.x.{{zone}} {{dig}} {{octets}} {{signed}}';
const HTML = `<!doctype html><html lang="en"><title>uqrp</title>${'<p>text</p>'.repeat(50)}`;
/** Without a session cookie the page says so. */
const GUEST_HTML = HTML.replace('<html ', '<html data-session="none" ');
const SCRIPT = 'console.log(1);'.repeat(100);
const PAGE = 'text/html,*/*;q=0.8';
const NOT_FOUND = '{"error":"Route not found","code":"not_found"}';

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** By `node:http`: `fetch` would follow redirects, decode bodies and set headers of its own. */
function get(port: number, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers, method, agent: false }, (answer) => {
      void answer.toArray().then((chunks: Buffer[]) => {
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks) });
      }, reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** What `dashboard/build.ts` leaves, and what must not be served. */
function build(): string {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-dist-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), HTML);
  writeFileSync(join(folder, 'landing.html'), LANDING);
  writeFileSync(join(folder, 'assets', 'card-AB12CD34.png'), 'picture');
  writeFileSync(join(folder, 'manifest.json'), '{}');
  writeFileSync(join(folder, 'assets', 'main-AB12CD34.js'), SCRIPT);
  writeFileSync(join(folder, 'assets', 'main-AB12CD34.js.map'), '{}');
  writeFileSync(join(folder, 'assets', 'logo.svg'), '<svg/>');
  symlinkSync('/etc/hostname', join(folder, 'assets', 'host-AB12CD34.js'));
  return folder;
}

describe('the dashboard on the port of the API', () => {
  const folder = build();
  let database: Awaited<ReturnType<typeof sqliteDatabase>>;
  let store: Store;
  const worlds: World[] = [];
  let built: number;
  let missing: number;

  async function open(
    from: string,
    publicHost = 'localhost',
    facts = FACTS,
    documents: DocumentPages | null = null,
  ): Promise<number> {
    let port = 0;
    const publicUrl = (): string => `http://${publicHost}:${port}`;
    const world = await openWorld(store, {
      serveOther: serveDashboard(readDashboard(from), publicUrl, facts, documents),
    });
    worlds.push(world);
    await world.app.listen({ host: '127.0.0.1', port: 0 });
    port = (world.app.server.address() as AddressInfo).port;
    return port;
  }
  before(async () => {
    database = await sqliteDatabase();
    store = await database.open();
    built = await open(folder);
    missing = await open(join(folder, 'nothing'));
  });
  after(async () => {
    for (const world of worlds) await world.close();
    await store.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('sends the document at every page, for no credential and no budget, with its policy', async () => {
    for (const path of ['/sign-in', '/records?namespace=acme', '/namespaces/acme', '/services/none']) {
      const { status, headers, body } = await get(built, path);
      assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], path);
      assert.equal(body.toString(), GUEST_HTML);
    }
    const { headers } = await get(built, '/');
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    assert.equal(headers['cache-control'], 'no-cache');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['permissions-policy'], 'publickey-credentials-get=(self)');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers.vary, 'accept, accept-encoding, cookie');
  });

  it('tells the page whether a session cookie came, with another tag for each', async () => {
    const guest = await get(built, '/sign-in');
    for (const cookie of ['uqrp_session=x', 'a=b; __Host-uqrp_session=x']) {
      const { body, headers } = await get(built, '/sign-in', { cookie });
      assert.equal(body.toString(), HTML);
      assert.notEqual(headers.etag, guest.headers.etag);
    }
    for (const cookie of ['uqrp_session=', 'not_uqrp_session=x', 'uqrp_session'])
      assert.equal((await get(built, '/sign-in', { cookie })).body.toString(), GUEST_HTML);
  });

  it('compresses, with one tag for each coding, and answers 304 and HEAD', async () => {
    const path = '/sign-in';
    const plain = await get(built, path);
    for (const [coding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const accept = { 'accept-encoding': coding };
      const first = await get(built, path, accept);
      assert.equal(first.headers['content-encoding'], coding);
      assert.ok(first.body.length < plain.body.length);
      assert.equal(decode(first.body).toString(), GUEST_HTML);
      assert.notEqual(first.headers.etag, plain.headers.etag);
      const again = await get(built, path, { ...accept, 'if-none-match': String(first.headers.etag) });
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, first.headers.etag]);
      const other = await get(built, path, { 'if-none-match': String(first.headers.etag) });
      assert.equal(other.status, 200);
      const head = await get(built, path, accept, 'HEAD');
      assert.deepEqual([head.status, head.body.length], [200, 0]);
      assert.deepEqual(
        ['content-length', 'content-encoding', 'etag', 'vary'].map((name) => head.headers[name]),
        ['content-length', 'content-encoding', 'etag', 'vary'].map((name) => first.headers[name]),
      );
    }
  });

  it('lets names with a hash be kept, and has other names asked for again', async () => {
    const script = await get(built, '/assets/main-AB12CD34.js', { 'accept-encoding': 'br' });
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(script.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal(script.headers.vary, 'accept-encoding');
    assert.equal(brotliDecompressSync(script.body).toString(), SCRIPT);
    const logo = await get(built, '/assets/logo.svg');
    assert.deepEqual([logo.status, logo.headers['cache-control']], [200, 'no-cache']);
  });

  it('leaves all else to the API: its 404, no files of other types, no links, no writes', async () => {
    for (const [method, path, accept] of [
      ['GET', '/index.html', PAGE],
      ['GET', '/landing.html', PAGE],
      ['GET', '/sitemap.xml', PAGE],
      ['GET', '/manifest.json', PAGE],
      ['GET', '/assets/main-AB12CD34.js.map', PAGE],
      ['GET', '/assets/host-AB12CD34.js', PAGE],
      ['GET', '/assets/../index.html', PAGE],
      ['GET', '/api/v1/nothing', PAGE],
      ['GET', '/dns-query', PAGE],
      ['GET', '/schema', PAGE],
      ['GET', '/nothing', '*/*'],
      ['GET', '/records', 'application/json'],
      ['POST', '/', PAGE],
      ['DELETE', '/records', PAGE],
    ] as const) {
      const { status, headers, body } = await get(built, path, { accept }, method);
      assert.deepEqual([status, body.toString()], [404, NOT_FOUND], `${method} ${path}`);
      assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    }
    assert.equal(
      (await get(built, '/nothing', { accept: PAGE, host: 'localhost' })).body.toString(),
      GUEST_HTML,
    );
    assert.equal((await get(built, '/api/v1/me', { accept: PAGE })).status, 401);
  });

  it('sends a browser from the address to localhost, with path and query', async () => {
    const path = '/playground?name=get.x&type=TXT';
    const { status, headers } = await get(built, path, { accept: PAGE });
    assert.deepEqual([status, headers.location], [302, `http://localhost:${built}${path}`]);
    assert.equal(headers['cache-control'], 'no-store');
    const forwarded = await get(built, path, { accept: PAGE, 'x-forwarded-for': '192.0.2.1' });
    assert.equal(forwarded.status, 200);
    assert.equal((await get(built, path, { accept: PAGE, host: `localhost:${built}` })).status, 200);
  });

  it('sends nobody to localhost from behind a proxy without headers of its own, which speaks HTTP/1.0', async () => {
    const socket = connect(built, '127.0.0.1');
    socket.end(`GET / HTTP/1.0\r\nHost: 127.0.0.1:${built}\r\nAccept: ${PAGE}\r\n\r\n`);
    assert.match(Buffer.concat(await socket.toArray()).toString('latin1'), /^HTTP\/1\.[01] 200 /);
  });

  it('stays at the address when that is the public origin: a sign-in succeeds only there', async () => {
    assert.equal((await get(await open(folder, '127.0.0.1'), '/', { accept: PAGE })).status, 200);
  });

  it('says how to build it when it is not built; the API runs', async () => {
    const { status, headers, body } = await get(missing, '/', { accept: PAGE, host: 'localhost' });
    assert.deepEqual([status, headers['content-type']], [503, 'text/html; charset=utf-8']);
    assert.match(body.toString(), /node dashboard\/build\.ts/);
    assert.equal(headers.etag, undefined);
    assert.equal((await get(missing, '/api/v1/meta')).status, 200);
  });

  it('sends documents to everybody, with its policy, also where there is no page for visitors', async () => {
    const file = textFile('<h1>Protocol</h1>', 'text/html; charset=utf-8');
    const documents: DocumentPages = {
      paths: ['/docs/protocol'],
      heldOctets: () => 0,
      find: (path) => {
        if (path === '/docs/API') return Promise.resolve({ status: 302, to: '/docs/api' });
        if (path === '/docs/protocol') return Promise.resolve({ status: 200, file });
        return Promise.resolve(path.startsWith('/docs/') ? { status: 404, file } : null);
      },
    };
    const port = await open(folder, 'localhost', { ...FACTS, isOn: false }, documents);
    const page = await get(port, '/docs/protocol', { accept: '*/*' });
    assert.deepEqual([page.status, page.body.toString()], [200, '<h1>Protocol</h1>']);
    assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; script-src 'self';/);
    assert.equal(page.headers['cache-control'], 'no-cache');
    const again = await get(port, '/docs/protocol', { 'if-none-match': String(page.headers.etag) });
    assert.equal(again.status, 304);
    const other = await get(port, '/docs/API');
    assert.deepEqual([other.status, other.headers.location], [302, '/docs/api']);
    assert.equal((await get(port, '/docs/nothing', { accept: PAGE })).status, 404);
    assert.equal((await get(port, '/docs/protocol', { accept: PAGE }, 'POST')).status, 404);
    assert.equal((await get(built, '/docs/protocol')).status, 503);
  });

  it('is counted under its own names', async () => {
    const routes = new Set(worlds[0]!.observations.map(({ route }) => route));
    assert.ok(routes.has('/*') && routes.has('/assets/*') && routes.has('unmatched'));
  });
});

describe('the files of the dashboard', () => {
  it('are refused above their limit of octets', () => {
    const folder = build();
    const rest =
      LIMITS.dashboardOctets - HTML.length - LANDING.length - SCRIPT.length - '<svg/>picture'.length;
    writeFileSync(join(folder, 'assets', 'large.js'), Buffer.alloc(rest));
    assert.equal(readDashboard(folder)?.files.size, 4);
    writeFileSync(join(folder, 'assets', 'large.js'), Buffer.alloc(rest + 1));
    assert.throws(() => readDashboard(folder), /have more than 8388608 octets/);
    rmSync(folder, { recursive: true });
  });
});
