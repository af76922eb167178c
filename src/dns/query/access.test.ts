import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueryName } from '../../protocol/names/query-name.ts';
import { queryTokenDigest, spellQueryToken } from '../../protocol/query/query-token.ts';
import type { HostedView } from '../../view/view.ts';
import { type AccessSettings, checkAccess } from './resolve.ts';

const NOW = Date.UTC(2026, 0, 1);
const spelled = (seed: string): string => spellQueryToken(Buffer.alloc(32, seed));
const tokens = new Map([
  [queryTokenDigest(spelled('good')), { namespace: 'acme', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('expired')), { namespace: 'acme', expiresAt: NOW }],
  [queryTokenDigest(spelled('other')), { namespace: 'other', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('closed')), { namespace: 'closed', expiresAt: NOW + 1 }],
]);
const namespaces = new Map([
  ['acme', { id: 'id-of-acme', publicRead: false, suspended: false }],
  ['other', { id: 'id-of-other', publicRead: false, suspended: false }],
  ['open', { id: 'id-of-open', publicRead: true, suspended: false }],
  ['closed', { id: 'id-of-closed', publicRead: true, suspended: true }],
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
