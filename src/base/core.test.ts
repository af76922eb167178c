import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hostedEnvelope } from '../dns/query/resolve.ts';
import { decodeBase32, decodeBase64, encodeBase32, encodeBase64 } from '../protocol/encodings.ts';
import { namespaceNameFaults, RESERVED_NAMES } from '../protocol/names/namespace-name.ts';
import {
  contentFormat,
  ENVELOPE_ERRORS,
  type EnvelopeErrorCode,
  errorEnvelope,
  FORMATS,
  parseEnvelope,
} from '../protocol/query/envelope.ts';
import { decodeParam } from '../protocol/query/params.ts';
import { queryTokenDigest, spellQueryToken } from '../protocol/query/query-token.ts';
import { LIMITS } from './limits.ts';

test('strict Base64: what decodes, and what does not', () => {
  for (const text of ['', 'TQ==', 'TWE=', 'TWFu', '+/+/', 'AAAA']) {
    assert.equal(encodeBase64(decodeBase64(text)!), text);
  }
  for (const text of [
    'TQ',
    'TQ=',
    'TR==',
    'TWF=',
    'TWFu\n',
    ' TWFu',
    '-_-_',
    'T===',
    '====',
    'TWFuT',
    'TWE=TWE=',
  ]) {
    assert.equal(decodeBase64(text), null, text);
  }
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.deepEqual(decodeBase64(Buffer.from(bytes).toString('base64')), Uint8Array.from(bytes));
      assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'));
    }),
  );
});

test('base32 agrees with the vectors of RFC 4648 section 10', () => {
  const vectors = [
    ['', '', ''],
    ['f', 'my', 'co'],
    ['fo', 'mzxq', 'cpng'],
    ['foo', 'mzxw6', 'cpnmu'],
    ['foob', 'mzxw6yq', 'cpnmuog'],
    ['fooba', 'mzxw6ytb', 'cpnmuoj1'],
    ['foobar', 'mzxw6ytboi', 'cpnmuoj1e8'],
  ] as const;
  for (const [text, standard, hex] of vectors) {
    assert.equal(encodeBase32(Buffer.from(text), 'standard'), standard);
    assert.equal(encodeBase32(Buffer.from(text), 'hex'), hex);
    assert.deepEqual(Buffer.from(decodeBase32(standard.toUpperCase(), 'standard')!), Buffer.from(text));
  }
  for (const bad of ['m', 'mzx', 'mz1q', 'mzxw6y', 'mz', 'my='])
    assert.equal(decodeBase32(bad, 'standard'), null, bad);
});

test('params labels decode by their prefix', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['london', 'london'],
    ['b32-mzxw6', 'foo'],
    ['B32-MZXW6', 'foo'],
    ['hex-c3a9', 'é'],
    ['b64-w6k', 'é'],
    ['hex-c3', null],
    ['hex-', null],
    ['hex-0', null],
    ['b64-w6', null],
    ['b64-!', null],
    ['b32-1', null],
    ['b32-', null],
  ];
  for (const [label, expected] of cases) assert.equal(decodeParam(label), expected, label);
});

test('the largest record fits the largest envelope exactly', () => {
  const text = hostedEnvelope({
    data: Buffer.alloc(LIMITS.recordData),
    plain: false,
    format: 'formats',
    ttlSeconds: LIMITS.ttlSecondsMax,
  });
  assert.equal(text.length, LIMITS.txtValue);
});

test('envelopes read back as written, with d last and whole', () => {
  const data = Buffer.from('a;b=c;d=e');
  const parsed = parseEnvelope(
    hostedEnvelope({ data, plain: false, format: 'text', ttlSeconds: 60 }).toString('latin1'),
  );
  assert.deepEqual([...(parsed?.fields.keys() ?? [])], ['v', 's', 't', 'e', 'f', 'ttl', 'd']);
  assert.deepEqual(Buffer.from(parsed?.data ?? []), data);
  assert.deepEqual(
    parseEnvelope('v=svc1;s=ok;t=data;e=plain;f=json;d=a;b=1;c')?.data,
    Uint8Array.from(Buffer.from('a;b=1;c')),
  );
  assert.equal(parseEnvelope('hello'), null);
  assert.equal(parseEnvelope('v=svc1;oops'), null);
});

test('error envelopes carry code, status and a static text', () => {
  assert.equal(errorEnvelope('E004'), 'v=svc1;s=notfound;t=error;code=E004;msg=not found');
  assert.equal(errorEnvelope('E010', 7), 'v=svc1;s=ratelimit;t=error;code=E010;msg=rate limit;retry_after=7');
  for (const code of Object.keys(ENVELOPE_ERRORS) as EnvelopeErrorCode[]) {
    assert.equal(parseEnvelope(errorEnvelope(code))?.fields.get('code'), code);
  }
});

test('media types map to formats of 1 to 7 letters', () => {
  for (const [type, format] of [
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/problem+json', 'json'],
    ['image/svg+xml', 'svg'],
    ['text/plain', 'text'],
    ['application/octet-stream', 'bin'],
    ['constructor', 'bin'],
    ['', 'bin'],
  ] as const) {
    assert.equal(contentFormat(type, FORMATS), format, type);
  }
});

test('namespace names: both sides of every rule', () => {
  const good = ['abc', 'a1b', 'a-b', 'a'.repeat(32), 'acme', 'authx', 'a--b'];
  const bad = [
    'ab',
    'a'.repeat(33),
    '1ab',
    '-ab',
    'ab-',
    'aBc',
    'a_b',
    'a.b',
    'äbc',
    '',
    'auth-x',
    'a b',
    'abc\n',
  ];
  for (const name of good) assert.deepEqual(namespaceNameFaults(name), [], name);
  for (const name of bad) assert.match(namespaceNameFaults(name)[0] ?? '', /^name /, name);
  for (const name of RESERVED_NAMES) assert.notDeepEqual(namespaceNameFaults(name), [], name);
});

test('finding L20 of the audit: every fault of a namespace name is told at once', () => {
  assert.equal(namespaceNameFaults('a-').length, 2);
  assert.equal(namespaceNameFaults('Auth-').length, 1);
  assert.equal(namespaceNameFaults('auth-').length, 2);
  assert.equal(namespaceNameFaults('').length, 1);
});

test('finding L1 of the audit: the largest technology companies, their products and code hosts are reserved', () => {
  const asked =
    'ebay tesla yahoo bing reddit pinterest snapchat qualcomm broadcom tsmc lenovo nokia siemens ericsson atlassian shopify ' +
    'mongodb palantir gmail chrome chatgpt xbox outlook gitee launchpad gogs huggingface replit rubygems npm red-hat';
  for (const name of asked.split(' '))
    assert.deepEqual(namespaceNameFaults(name), ['name is reserved'], name);
  // Names in the tables that nobody could use anyway would be a fault of the tables.
  for (const name of RESERVED_NAMES) {
    assert.ok(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/.test(name) && name.length <= 32, name);
  }
});

test('a query token has 56 letters, fits a label, and hashes without regard to case', () => {
  const token = spellQueryToken(Buffer.alloc(32, 0xa7));
  assert.match(token, /^svcq[0-9a-v]{52}$/);
  assert.equal(`auth-${token}`.length, 61);
  assert.equal(queryTokenDigest(token), queryTokenDigest(token.toUpperCase()));
  assert.match(queryTokenDigest(token), /^[0-9a-f]{64}$/);
  assert.throws(() => spellQueryToken(Buffer.alloc(31)), RangeError);
});
