import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { acceptsOf, isForwarded, isPage, localhostOrigin, PAGES } from './dashboard.ts';
import { bestCoding } from './files.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('a browser gets a page at every path without a dot that is no program’s', () => {
  assert.equal(acceptsOf(BROWSER), 'page');
  for (const path of [
    '/',
    '/records',
    '/namespaces/acme',
    '/webhooks/0190',
    '/api',
    '/nothing/of/this',
    '//x',
  ])
    assert.equal(isPage(path, 'page'), true, path);
  const others = [
    '/favicon.ico',
    '/assets/x',
    '/api/',
    '/api/v1',
    '/api/v1/records',
    '/dns-query',
    '/resolve',
  ];
  for (const path of [
    ...others,
    '/schema',
    '/livez',
    '/readyz',
    '/metrics',
    '/metrics/x',
    'http://x/',
    '*',
    '',
  ])
    assert.equal(isPage(path, 'page'), false, path);
});

test('a client that takes anything gets a page where there is one; one that wants JSON never does', () => {
  for (const accept of [undefined, '*/*', 'text/*;q=0.5', 'application/json, */*']) {
    assert.equal(acceptsOf(accept), 'any');
  }
  assert.equal(acceptsOf('application/json'), 'other');
  assert.equal(acceptsOf(''), 'other');
  for (const path of ['/', '/sign-in', '/query-log', '/api', '/namespaces/acme']) {
    assert.equal(isPage(path, 'any'), true, path);
    assert.equal(isPage(path, 'other'), false, path);
  }
  for (const path of ['/nothing', '/wp-admin', '//', '/api/v1', '/Records'])
    assert.equal(isPage(path, 'any'), false, path);
});

test('the pages are those of the dashboard’s routes', {
  skip: !existsSync(routesFile()) && 'no routes yet',
}, () => {
  const paths = [...readFileSync(routesFile(), 'utf8').matchAll(/path: '\/([^'/]*)/g)].map(
    ([, first]) => first!,
  );
  assert.deepEqual([...new Set(paths)].toSorted(), [...PAGES].toSorted());
});

function routesFile(): URL {
  return new URL('../../../dashboard/src/app/routes.ts', import.meta.url);
}

test('the smallest coding that a client takes', () => {
  const cases: [header: string | undefined, coding: string][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP', 'gzip'],
    ['x-gzip;q=0.5', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['br; q=0.000 ,gzip ; q=0', 'identity'],
    ['br;q=0.001', 'br'],
    ['*', 'identity'],
    ['brotli', 'identity'],
  ];
  for (const [header, coding] of cases) assert.equal(bestCoding(header), coding, String(header));
});

test('a loopback address in Host leads to localhost, for a client of this machine alone', () => {
  const here = { remoteAddress: '127.0.0.1', isForwarded: false };
  for (const [host, origin] of [
    ['127.0.0.1:8080', 'http://localhost:8080'],
    ['127.0.0.1', 'http://localhost'],
    ['127.8.9.1:1', 'http://localhost:1'],
    ['[::1]:8080', 'http://localhost:8080'],
    ['localhost:8080', null],
    ['192.0.2.1:8080', null],
    ['[2001:db8::1]:8080', null],
    ['127.0.0.1.example', null],
    ['127.0.0.1:8080@evil.example', null],
    ['127.0.0.1:x', null],
    ['999.0.0.1', null],
    ['', null],
    [undefined, null],
  ] as const)
    assert.equal(localhostOrigin({ ...here, host }, origin ?? 'http://localhost:8080'), origin, String(host));
  const host = '127.0.0.1:8080';
  const own = 'http://localhost:8080';
  assert.equal(localhostOrigin({ host, remoteAddress: '::1', isForwarded: false }, own), own);
  assert.equal(localhostOrigin({ host, remoteAddress: '192.0.2.7', isForwarded: false }, own), null);
  assert.equal(localhostOrigin({ host, remoteAddress: undefined, isForwarded: false }, own), null);
  assert.equal(localhostOrigin({ host, remoteAddress: '127.0.0.1', isForwarded: true }, own), null);
  for (const other of ['http://127.0.0.1:8080', 'https://localhost:8080', 'http://localhost:8081'])
    assert.equal(localhostOrigin({ ...here, host }, other), null, other);
  assert.equal(localhostOrigin({ ...here, host: '127.0.0.1' }, 'http://localhost:80'), 'http://localhost');
  assert.equal(localhostOrigin({ ...here, host: '127.0.0.1:65536' }, own), null);
});

test('a request came through a proxy when it has what proxies add, or is of HTTP/1.0', () => {
  assert.equal(isForwarded({ headers: { host: '127.0.0.1:8080' }, httpVersionMinor: 1 }), false);
  assert.equal(isForwarded({ headers: { host: '127.0.0.1:8080' }, httpVersionMinor: 0 }), true);
  for (const name of ['via', 'forwarded', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-proto'])
    assert.equal(isForwarded({ headers: { [name]: 'x' }, httpVersionMinor: 1 }), true, name);
});
