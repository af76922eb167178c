import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueryName } from '../../../core/names/query-name.ts';
import { queryTokenDigest, spellQueryToken } from '../../../core/query/query-token.ts';
import type { HostedView } from '../../hosted/view.ts';
import { type GateSettings, judge } from './access.ts';

const NOW = Date.UTC(2026, 0, 1);
const spelled = (seed: string): string => spellQueryToken(Buffer.alloc(32, seed));
const tokens = new Map([
  [queryTokenDigest(spelled('good')), { namespace: 'acme', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('expired')), { namespace: 'acme', expiresAt: NOW }],
  [queryTokenDigest(spelled('other')), { namespace: 'other', expiresAt: NOW + 1 }],
  [queryTokenDigest(spelled('closed')), { namespace: 'closed', expiresAt: NOW + 1 }],
]);
const namespaces = new Map([
  ['acme', { publicRead: false, suspended: false }],
  ['other', { publicRead: false, suspended: false }],
  ['open', { publicRead: true, suspended: false }],
  ['closed', { publicRead: true, suspended: true }],
]);

/** Judges, and tells what the view was asked for: a digest is 64 hexadecimal digits. */
function judged(name: string, settings: GateSettings = { sync: true, demo: false }) {
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
    record: () => assert.fail('the gate reads no record'),
    anyBelow: () => assert.fail('the gate reads no record'),
    refresh() {},
  };
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query');
  return { verdict: judge(parsed.query, view, settings, NOW), reads };
}

const REFUSED: readonly (readonly [what: string, name: string, settings?: GateSettings])[] = [
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
    const { verdict, reads } = judged(name, settings);
    assert.equal(verdict.kind, 'refused', what);
    assert.deepEqual(reads, ['namespace', 'token'], what);
  }
});

test('what is not refused', () => {
  assert.deepEqual(judged(`get.auth-${spelled('good')}.temp.acme.v1`).verdict, {
    kind: 'private',
    until: NOW + 1,
  });
  assert.equal(judged('get.temp.open.v1').verdict.kind, 'open');
  assert.equal(judged('get.berlin.weather.public.v1').verdict.kind, 'public');
  assert.equal(judged('get.hello.playground.v1', { sync: true, demo: true }).verdict.kind, 'demo');
});
