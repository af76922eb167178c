import fc from 'fast-check';
import type { Change } from '../../../src/core/change.ts';
import { LIMITS } from '../../../src/core/limits.ts';

/** Changes of every type, with values at their bounds more often than by chance. */
const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const id = fc.oneof(
  fc.uuid(),
  fc.string({ minLength: 1, maxLength: 64 }).filter((text) => text.isWellFormed()),
);
const time = fc.oneof(
  fc.constantFrom(0, LIMITS.expiresAtMax),
  fc.integer({ min: 0, max: LIMITS.expiresAtMax }),
);
const digest = fc.stringMatching(/^[0-9a-f]{64}$/);
const data = fc.oneof(
  fc.constantFrom(null, new Uint8Array(0), new Uint8Array(LIMITS.recordData)),
  fc.uint8Array({ maxLength: 40 }),
);

const head = fc.record(
  {
    seq: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    at: time,
    owner: fc.option(id),
    cause: fc.constantFrom('direct' as const, 'cascade' as const, 'expiry' as const),
  },
  { noNullPrototype: true },
);

const record = fc
  .record({
    params: fc.array(label, { maxLength: 3 }),
    resource: label,
    namespace: label,
    version: fc.stringMatching(/^v[1-9][0-9]{0,3}$/),
  })
  .map(({ params, ...end }) => ({
    ...end,
    key: [...params, end.resource, end.namespace, end.version].join('.'),
  }));

const upsert = fc
  .record({
    record,
    data,
    contentType: fc.oneof(
      fc.constantFrom('text/plain', 'x'.repeat(LIMITS.contentType)),
      fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.isWellFormed()),
    ),
    ttlSeconds: fc.oneof(fc.constantFrom(0, LIMITS.ttlSecondsMax), fc.nat()),
    expiresAt: fc.option(time),
  })
  .map(({ record: of, data: bytes, contentType, ttlSeconds, expiresAt }) => ({
    type: 'record.upserted' as const,
    ...of,
    data: bytes === null ? null : Buffer.from(bytes).toString('base64'),
    contentType,
    ttlSeconds,
    expiresAt,
  }));

const body = fc.oneof(
  upsert,
  record.map(({ key, namespace }) => ({ type: 'record.deleted' as const, key, namespace })),
  fc
    .record({
      namespace: label,
      id,
      publicRead: fc.boolean(),
      suspended: fc.boolean(),
      recordsCount: fc.maxSafeNat(),
      createdAt: time,
      updatedAt: time,
    })
    .map((of) => ({ type: 'namespace.upserted' as const, ...of })),
  fc
    .record({
      type: fc.constantFrom('namespace.closing' as const, 'namespace.deleted' as const),
      namespace: label,
      id,
    })
    .map(({ type, ...of }) => ({ type, ...of })),
  fc
    .record({ namespace: label, digest, expiresAt: time })
    .map((of) => ({ type: 'token.minted' as const, ...of })),
  fc.record({ namespace: label, digest }).map((of) => ({ type: 'token.revoked' as const, ...of })),
);

export const arbitraryChange: fc.Arbitrary<Change> = fc
  .tuple(head, body)
  .map(([fixed, rest]) => ({ ...fixed, ...rest }));
