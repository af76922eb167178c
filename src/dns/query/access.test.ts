import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueryName } from '../../protocol/names/query-name.ts';
import { FOREVER, type Outcome } from '../../protocol/query/outcome.ts';
import { queryTokenDigest, spellQueryToken } from '../../protocol/query/query-token.ts';
import type { HostedRecord, HostedView } from '../../view/view.ts';
import { type AccessSettings, checkAccess, resolve } from './resolve.ts';

const NOW = Date.UTC(2026, 0, 1);
const spelled = (seed: string): string => spellQueryToken(Buffer.alloc(32, seed));
const tokens = new Map([
  [queryTokenDigest(spelled('good')), { namespace: 'acme', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('expired')), { namespace: 'acme', expiresAt: NOW }],
  [queryTokenDigest(spelled('other')), { namespace: 'other', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('closed')), { namespace: 'closed', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('lasting')), { namespace: 'acme', expiresAt: NOW + 1e9 }],
  [queryTokenDigest(spelled('demo')), { namespace: 'playground', expiresAt: NOW + 1 }],
]);
const namespaces = new Map([
  ['acme', { id: 'id-of-acme', publicRead: false, suspended: false }],
  ['other', { id: 'id-of-other', publicRead: false, suspended: false }],
  ['open', { id: 'id-of-open', publicRead: true, suspended: false }],
  ['closed', { id: 'id-of-closed', publicRead: true, suspended: true }],
  ['playground', { id: 'id-of-playground', publicRead: false, suspended: false }],
  ['playground-dev', { id: 'id-of-playground-dev', publicRead: false, suspended: true }],
]);

/** The access to a query, and what was read from the view: a digest is 64 hexadecimal digits. */
function accessTo(name: string, settings: AccessSettings = { sync: true, demo: false }) {
  const reads: string[] = [];
  const view: HostedView = {
    namespace(label) {
      reads.push('namespace');
      return namespaces.get(label) ?? null;
    },
    token(digest) {
      assert.match(digest, /^[0-9a-f]{64}$/);
      reads.push('token');
      return tokens.get(digest) ?? null;
    },
    record: () => assert.fail('the check reads no record'),
    hasExpired: () => assert.fail(),
    maxTtl: () => assert.fail(),
    anyBelow: () => assert.fail('the check reads no record'),
    refresh() {},
  };
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query');
  return { access: checkAccess(parsed.query, view, settings, NOW), reads };
}

const REFUSED: readonly (readonly [what: string, name: string, settings?: AccessSettings])[] = [
  ['no token, the namespace exists', 'get.temp.acme.v1'],
  ['no token, the namespace does not exist', 'get.temp.nobody.v1'],
  ['an unknown token, the namespace exists', `get.auth-${spelled('unknown')}.temp.acme.v1`],
  ['an unknown token, the namespace does not exist', `get.auth-${spelled('unknown')}.temp.nobody.v1`],
  ['a token of another namespace', `get.auth-${spelled('other')}.temp.acme.v1`],
  ['a token of another namespace, this one does not exist', `get.auth-${spelled('other')}.temp.nobody.v1`],
  ['an expired token', `get.auth-${spelled('expired')}.temp.acme.v1`],
  ['a suspended namespace, no token', 'get.temp.closed.v1'],
  ['a suspended namespace, its token', `get.auth-${spelled('closed')}.temp.closed.v1`],
  ['a demo namespace that is off', 'get.hello.playground.v1'],
  ['a demo namespace that is off, a token of it', `get.auth-${spelled('demo')}.hello.playground.v1`],
  ['a suspended demo namespace', 'get.hello.playground-dev.v1', { sync: true, demo: true }],
  ['no token, while demo namespaces are on', 'get.temp.acme.v1', { sync: true, demo: true }],
  [
    'no namespace of this name, while demo namespaces are on',
    'get.temp.nobody.v1',
    { sync: true, demo: true },
  ],
  ['an open namespace without synchronisation', 'get.temp.open.v1', { sync: false, demo: false }],
];

test('a refusal costs the same whether or not the namespace and the token exist: one look at each', () => {
  for (const [what, name, settings] of REFUSED) {
    const { access, reads } = accessTo(name, settings);
    assert.equal(access.kind, 'refused', what);
    assert.deepEqual(reads, ['namespace', 'token'], what);
  }
});

test('what is not refused', () => {
  assert.deepEqual(accessTo(`get.auth-${spelled('good')}.temp.acme.v1`).access, {
    kind: 'private',
    namespaceId: 'id-of-acme',
    until: NOW + 1,
  });
  assert.equal(accessTo('get.temp.open.v1').access.kind, 'open');
  assert.equal(accessTo('get.berlin.weather.public.v1').access.kind, 'public');
  assert.equal(accessTo('get.hello.playground.v1', { sync: true, demo: true }).access.kind, 'demo');
});

/** The outcome of a query to a view that has one record, or none. */
function outcomeOf(name: string, record: HostedRecord | null): Outcome {
  const view: HostedView = {
    namespace: (label) => namespaces.get(label) ?? null,
    token: (digest) => tokens.get(digest) ?? null,
    record: () => record,
    hasExpired: () => false,
    maxTtl: () => 60,
    anyBelow: () => assert.fail(),
    refresh() {},
  };
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query');
  const { outcome } = resolve(
    parsed.query,
    { view, access: { sync: true, demo: true }, services: new Map() },
    NOW,
    'uqrp.net',
  );
  assert.ok(!(outcome instanceof Promise));
  return outcome;
}

const stored = (text: string, expiresAt: number | null = null): HostedRecord => ({
  data: Buffer.from(text),
  plain: true,
  format: 'text',
  ttlSeconds: 300,
  expiresAt,
});

test('what a token opens ends with the token, also where there is nothing, or where the record lives longer', () => {
  const name = `get.auth-${spelled('good')}.temp.acme.v1`;
  for (const [record, kind] of [
    [stored('brief'), 'answer'],
    [stored('brief', NOW + 5_000), 'answer'],
    [stored('brief', NOW), 'empty'],
    [null, 'empty'],
  ] as const) {
    const outcome = outcomeOf(name, record);
    assert.ok(outcome.kind === kind);
    assert.equal(outcome.until, NOW + 1);
  }
});

test('a demo namespace answers with its stored record, or else with that of every demo namespace', () => {
  const textOf = (name: string, record: HostedRecord | null): string => {
    const outcome = outcomeOf(name, record);
    return outcome.kind === 'answer' ? Buffer.from(outcome.text).toString() : outcome.kind;
  };
  assert.match(
    textOf('get.hello.playground.v1', stored('of the playground')),
    /^v=svc1;s=ok;t=data;.*=of the playground$/,
  );
  assert.match(textOf('get.hello.playground.v1', null), /d=SGVsbG8gZnJvbSBETlMu$/);
  const [first, second] = [textOf('get.flags.playground.v1', null), textOf('get.flags.playground.v2', null)];
  assert.match(first, /d=/);
  assert.ok(second.length > first.length, 'the second version has one flag more');
  assert.equal(textOf('get.x.hello.playground.v1', null), 'empty');
});

test("the TTL of an open answer is the namespace's, or what is left of the record; that of a private one is 0", () => {
  const ttlOf = (name: string, expiresAt: number | null): readonly number[] => {
    const outcome = outcomeOf(name, stored('brief', expiresAt));
    assert.ok(outcome.kind === 'answer');
    return [outcome.ttl, outcome.until - NOW];
  };
  const [open, own] = ['get.temp.open.v1', `get.auth-${spelled('lasting')}.temp.acme.v1`];
  assert.deepEqual(ttlOf(open, null), [60, FOREVER - NOW]);
  assert.deepEqual(ttlOf(open, NOW + 100_000), [60, 40_001]);
  assert.deepEqual(ttlOf(open, NOW + 60_000), [60, 1]);
  assert.deepEqual(ttlOf(open, NOW + 5_500), [5, 501]);
  assert.deepEqual(ttlOf(open, NOW + 500), [0, 500]);
  assert.deepEqual(ttlOf(own, null), [0, 1e9]);
  assert.deepEqual(ttlOf(own, NOW + 5_500), [0, 5_500]);
});
