import fc from 'fast-check';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { Change } from '../../../../src/protocol/change.ts';
import { attestationKeyId } from '../../../../src/protocol/datasets/attestation.ts';
import { EARLIEST, LATEST } from '../../../../src/protocol/datasets/query.ts';

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

const instant = fc.oneof(
  fc.constantFrom(EARLIEST, LATEST),
  fc.integer({ min: EARLIEST, max: LATEST }),
  fc.constant(null),
);
const text = (max: number) =>
  fc.oneof(fc.constantFrom('', 'é'.repeat(max / 2)), fc.stringMatching(/^[a-z "]*$/));
const facts = fc
  .record(
    {
      from: instant,
      to: instant,
      issuer: text(LIMITS.datasetText),
      brand: text(LIMITS.datasetText),
      cc: fc.stringMatching(/^[A-Za-z]{2}$/),
      type: text(LIMITS.datasetText),
    },
    { noNullPrototype: true },
  )
  .filter(({ from, to }) => from === null || to === null || from < to);
const item = fc.record(
  {
    item: label.filter((key) => !key.includes('-t-')),
    windows: fc.array(facts, { minLength: 1, maxLength: 3 }),
  },
  { noNullPrototype: true },
);
const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const numbers = fc.nat({ max: 9999 });
const manifest = fc.record(
  {
    slug: fc.stringMatching(/^[a-z][a-j]{0,38}$/),
    version: fc.tuple(numbers, numbers, numbers).map((parts) => parts.join('.')),
    license: fc.constantFrom('CC0-1.0', 'l'.repeat(LIMITS.datasetLicense)),
    provenance: fc.constantFrom('é', 'p'.repeat(LIMITS.datasetProvenance)),
    url: fc.webUrl().filter((url) => url.length <= LIMITS.datasetUrl && !url.includes(';')),
    sha256: hex(64),
    att: fc.constant('attested' as const),
    attsig: fc
      .uint8Array({ minLength: 64, maxLength: 64 })
      .map((octets) => Buffer.from(octets).toString('base64')),
    attkid: hex(16),
    atts: fc.integer({ min: 0, max: LATEST }),
  },
  { noNullPrototype: true },
);
const versionId = fc.uuid();
const ofPublic = <T extends object>(type: T) => ({ ...type, namespace: 'public' as const });

const note = fc.oneof(
  fc.constantFrom('a\n', 'a'.repeat(LIMITS.logText), `— ${'é'.repeat(LIMITS.logText / 2 - 2)}`),
  fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.isWellFormed()),
);

const datasetBody = fc.oneof(
  fc
    .record({ versionId, items: fc.array(item, { minLength: 1, maxLength: 4 }) })
    .map((of) => ofPublic({ type: 'dataset.items' as const, ...of })),
  fc.record({ versionId, manifest }).map((of) => ofPublic({ type: 'dataset.published' as const, ...of })),
  versionId.map((of) => ofPublic({ type: 'dataset.withdrawn' as const, versionId: of })),
  fc.record({ versionId, proof: note }).map((of) => ofPublic({ type: 'log.proof' as const, ...of })),
  note.map((checkpoint) => ofPublic({ type: 'log.checkpoint' as const, checkpoint })),
  fc
    .record({
      publicKey: fc.uint8Array({ minLength: 32, maxLength: 32 }),
      since: fc.integer({ min: 0, max: LATEST }),
      end: fc.option(fc.integer({ min: 0, max: LATEST })),
    })
    .map(({ publicKey, since, end }) =>
      ofPublic({
        type: 'dataset.key' as const,
        kid: attestationKeyId(publicKey),
        publicKey: Buffer.from(publicKey).toString('base64'),
        since,
        end,
      }),
    ),
);

const body = fc.oneof(
  upsert,
  record.map(({ key, namespace }) => ({ type: 'record.deleted' as const, key, namespace })),
  fc
    .record(
      {
        namespace: label,
        id,
        publicRead: fc.boolean(),
        suspended: fc.boolean(),
        maxTtl: fc.integer({ min: 1, max: LIMITS.openTtlMax }),
        recordsCount: fc.maxSafeNat(),
        createdAt: time,
        updatedAt: time,
      },
      {
        requiredKeys: [
          'namespace',
          'id',
          'publicRead',
          'suspended',
          'recordsCount',
          'createdAt',
          'updatedAt',
        ],
        noNullPrototype: true,
      },
    )
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

export const arbitraryChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 7, arbitrary: fc.tuple(head, body).map(([fixed, rest]) => ({ ...fixed, ...rest })) },
  {
    weight: 4,
    arbitrary: fc.tuple(head, datasetBody).map(([fixed, rest]) => ({ ...fixed, owner: null, ...rest })),
  },
);
