import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { faultOfDelivery } from '../../../test/support/http/openapi/delivery-check.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import { deliveryBody, eventOf } from './events.ts';

const HEAD = { seq: 900, at: 1_763_600_000_123, owner: 'c0ffee00-0000-7000-8000-000000000000' } as const;
const TIMES = { createdAt: 1_763_600_000_000, updatedAt: 1_763_600_060_001 } as const;

const RECORD = {
  type: 'record.upserted',
  key: 'berlin.doc.acme.v1',
  namespace: 'acme',
  resource: 'doc',
  version: 'v1',
  data: 'AP8Q/+4=',
  contentType: 'text/plain; charset="ü"',
  ttlSeconds: 300,
  expiresAt: 1_999_999_999_999,
} as const;

const NAMESPACE = {
  type: 'namespace.upserted',
  namespace: 'acme',
  id: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d',
  publicRead: true,
  suspended: true,
  recordsCount: 3,
  ...TIMES,
} as const;

const DIGEST = 'd1'.repeat(32);

const change = (body: ChangeBody, more: Partial<Pick<Change, 'cause' | 'owner'>> = {}): Change =>
  ({ ...HEAD, cause: 'direct', ...more, ...body }) as Change;

const bodyOf = (one: Change, seq: number): string | null => {
  const event = eventOf(one);
  return event === null ? null : Buffer.from(deliveryBody(event, seq, one.at)).toString();
};

describe('delivery bodies, byte for byte', () => {
  const start = (event: string, seq: number): string =>
    `{"event":"${event}","seq":${seq},"created_at":"2025-11-20T00:53:20.123Z","data":`;
  const table: [string, Change, number, string][] = [
    [
      'a record',
      change(RECORD),
      1,
      `${start('record.upserted', 1)}{"key":"berlin.doc.acme.v1","namespace":"acme","resource":"doc","version":"v1",` +
        '"content_type":"text/plain; charset=\\"ü\\"","ttl_seconds":300,"data":"AP8Q/+4="}}',
    ],
    [
      'a record whose payload is erased',
      change({ ...RECORD, data: null }),
      2,
      `${start('record.upserted', 2)}{"key":"berlin.doc.acme.v1","namespace":"acme","resource":"doc","version":"v1",` +
        '"content_type":"text/plain; charset=\\"ü\\"","ttl_seconds":300,"data":null}}',
    ],
    [
      'a record that was deleted',
      change({ type: 'record.deleted', key: 'berlin.doc.acme.v1', namespace: 'acme' }),
      3,
      `${start('record.deleted', 3)}{"key":"berlin.doc.acme.v1","namespace":"acme"}}`,
    ],
    [
      'a record that was deleted with its namespace',
      change({ type: 'record.deleted', key: 'berlin.doc.acme.v1', namespace: 'acme' }, { cause: 'cascade' }),
      4,
      `${start('record.deleted', 4)}{"key":"berlin.doc.acme.v1","namespace":"acme"}}`,
    ],
    [
      'finding M6 of the audit: a namespace that everyone may read, and that is suspended',
      change(NAMESPACE),
      9_007_199_254_740_991,
      `${start('namespace.upserted', 9_007_199_254_740_991)}{"id":"7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d","name":"acme",` +
        '"records_count":3,"max_ttl":60,"created_at":"2025-11-20T00:53:20.000Z","updated_at":"2025-11-20T00:54:20.001Z",' +
        '"public_read":true,"suspended":true}}',
    ],
    [
      'a private namespace whose owner chose a TTL',
      change({ ...NAMESPACE, publicRead: false, suspended: false, maxTtl: 3600 }),
      7,
      `${start('namespace.upserted', 7)}{"id":"7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d","name":"acme",` +
        '"records_count":3,"max_ttl":3600,"created_at":"2025-11-20T00:53:20.000Z","updated_at":"2025-11-20T00:54:20.001Z"}}',
    ],
    [
      'a namespace that keeps history, as REST shows it',
      change({
        ...NAMESPACE,
        suspended: false,
        history: { versions: 20, days: 90, since: TIMES.updatedAt },
      }),
      8,
      `${start('namespace.upserted', 8)}{"id":"7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d","name":"acme",` +
        '"records_count":3,"max_ttl":60,"created_at":"2025-11-20T00:53:20.000Z","updated_at":"2025-11-20T00:54:20.001Z",' +
        '"history":{"versions":20,"days":90,"since":"2025-11-20T00:54:20.001Z"},"public_read":true}}',
    ],
    [
      'a namespace that was deleted',
      change({ type: 'namespace.deleted', namespace: 'acme', id: NAMESPACE.id }),
      6,
      `${start('namespace.deleted', 6)}{"namespace":"acme"}}`,
    ],
  ];
  for (const [what, one, seq, expected] of table) {
    it(what, () => {
      assert.equal(bodyOf(one, seq), expected);
      assert.equal(faultOfDelivery(expected), null);
    });
  }

  it('another body is not the one that docs/openapi.json describes', () => {
    const [, one, seq] = table[0]!;
    const body = JSON.parse(bodyOf(one, seq)!);
    for (const [more, fault] of [
      [{ seq: '1' }, 'body/seq must be integer'],
      [{ owner: 'a' }, 'body must NOT have additional properties'],
      [{ data: { ...body.data, key: undefined } }, "body/data must have required property 'key'"],
    ] as const) {
      assert.equal(faultOfDelivery(JSON.stringify({ ...body, ...more })), fault);
    }
  });
});

describe('what is not sent to a customer', () => {
  const table: [string, Change][] = [
    ['a record that expired', change({ ...RECORD, type: 'record.deleted' }, { cause: 'expiry' })],
    [
      'a token that was minted',
      change({ type: 'token.minted', namespace: 'acme', digest: DIGEST, expiresAt: 9 }),
    ],
    ['a token that was revoked', change({ type: 'token.revoked', namespace: 'acme', digest: DIGEST })],
    ['a record without an owner', change(RECORD, { owner: null })],
    ['a namespace without an owner', change(NAMESPACE, { owner: null })],
  ];
  for (const [what, one] of table) {
    it(what, () => assert.equal(eventOf(one), null));
  }
});

/** Marks that occur in no other field. */
const secret = fc.stringMatching(/^[0-9a-f]{8}$/).map((hex) => `secret-${hex}`);
const text = fc.string({ maxLength: 40 });
const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
const count = fc.nat();

const anyBody: fc.Arbitrary<ChangeBody> = fc.oneof(
  fc.record({
    type: fc.constant('record.upserted' as const),
    key: text,
    namespace: text,
    resource: text,
    version: text,
    data: fc.option(text),
    contentType: text,
    ttlSeconds: count,
    expiresAt: fc.option(time),
  }),
  fc.record({ type: fc.constant('record.deleted' as const), key: text, namespace: text }),
  fc.record({
    type: fc.constant('namespace.upserted' as const),
    namespace: text,
    id: fc.uuid(),
    publicRead: fc.boolean(),
    suspended: fc.boolean(),
    recordsCount: count,
    createdAt: time,
    updatedAt: time,
  }),
  fc.record({ type: fc.constant('namespace.deleted' as const), namespace: text, id: fc.uuid() }),
  fc.record({
    type: fc.constant('token.minted' as const),
    namespace: text,
    digest: secret,
    expiresAt: count,
  }),
  fc.record({ type: fc.constant('token.revoked' as const), namespace: text, digest: secret }),
);

const anyChange: fc.Arbitrary<Change> = fc
  .record({
    seq: count,
    at: time,
    owner: fc.option(secret),
    cause: fc.constantFrom('direct' as const, 'cascade' as const, 'expiry' as const),
    body: anyBody,
  })
  .map(({ body, ...head }) => ({ ...head, ...body }));

const flagsOf = ({ publicRead, suspended }: { publicRead: boolean; suspended: boolean }): string =>
  `${publicRead ? ',public_read' : ''}${suspended ? ',suspended' : ''}`;

it('any change: one of the four or nothing, no customer, no digest, no place in the log', () => {
  const seen = new Set<string>();
  const KEYS: Readonly<Record<string, string>> = {
    'record.upserted': 'key,namespace,resource,version,content_type,ttl_seconds,data',
    'record.deleted': 'key,namespace',
    'namespace.upserted': 'id,name,records_count,max_ttl,created_at,updated_at',
    'namespace.deleted': 'namespace',
  };
  fc.assert(
    // An unknown field is not sent either.
    fc.property(anyChange, secret, count, (one, added, seq) => {
      const body = bodyOf(Object.assign({ ...one }, { added }), seq);
      if (body === null) return;
      assert.doesNotMatch(body, /secret-/);
      assert.equal(faultOfDelivery(body), null);
      const parsed = JSON.parse(body) as { event: string; seq: number; created_at: string; data: object };
      assert.deepEqual(Object.keys(parsed), ['event', 'seq', 'created_at', 'data']);
      assert.equal(parsed.event, one.type);
      assert.equal(parsed.seq, seq);
      assert.equal(Date.parse(parsed.created_at), one.at);
      const flags = one.type === 'namespace.upserted' ? flagsOf(one) : '';
      assert.equal(Object.keys(parsed.data).join(), KEYS[parsed.event] + flags);
      seen.add(parsed.event);
    }),
    { numRuns: 1_000 },
  );
  assert.deepEqual([...seen].sort(), Object.keys(WEBHOOK_EVENTS).sort());
});
