import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { contentFormat, FORMATS } from '../../protocol/query/envelope.ts';
import type { HostedRecord } from '../view.ts';
import { namespaceKey, recordTableKey } from './record-keys.ts';
import { decodeRecord, decodeToken, encodeRecord, encodeToken } from './record-values.ts';

describe('values of the view', () => {
  const record = fc.record(
    {
      data: fc.uint8Array({ maxLength: LIMITS.recordData }),
      plain: fc.boolean(),
      format: fc.oneof(
        fc
          .constantFrom('application/json', 'text/plain', 'image/svg+xml', 'x/y')
          .map((type) => contentFormat(type, FORMATS)),
        fc.stringMatching(/^[a-z]{1,7}$/),
      ),
      ttlSeconds: fc.oneof(fc.constantFrom(0, 300, LIMITS.ttlSecondsMax), fc.nat()),
      expiresAt: fc.oneof(
        fc.constantFrom(null, 0, LIMITS.expiresAtMax),
        fc.integer({ min: 0, max: LIMITS.expiresAtMax }),
      ),
    },
    { noNullPrototype: true },
  );

  it('decodes every record unchanged', () => {
    fc.assert(
      fc.property(record, (of) => {
        const back = decodeRecord(Buffer.from(encodeRecord(of)));
        assert.notEqual(back, 'withheld');
        assert.deepEqual(
          { ...(back as HostedRecord), data: Uint8Array.from((back as HostedRecord).data) },
          of,
        );
      }),
    );
  });

  it('uses one byte for the head of a common record, and at most 20 for any', () => {
    const of = { data: new Uint8Array(300), plain: true, format: 'json', ttlSeconds: 300, expiresAt: null };
    assert.equal(encodeRecord(of).length, 301);
    const rare = { ...of, format: 'unheard', ttlSeconds: 1, expiresAt: LIMITS.expiresAtMax };
    assert.equal(encodeRecord(rare).length, 319);
  });

  it('decodes tokens and cursors unchanged', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z][a-z0-9-]{1,30}[a-z0-9]$/),
        fc.maxSafeNat(),
        (namespace, number) => {
          const token = { namespace, expiresAt: number };
          assert.deepEqual(decodeToken(Buffer.from(encodeToken(token))), token);
        },
      ),
    );
  });
});

it('a name that no query can contain has no key', () => {
  const most = `${'a'.repeat(250)}.v1`;
  for (const name of ['', 'v1', '.v1', `a${most}`]) assert.equal(recordTableKey(name), null, name);
  assert.equal(recordTableKey(most)?.length, 253);
  assert.equal(namespaceKey('a'.repeat(64)), null);
  assert.equal(namespaceKey('a'.repeat(63))?.length, 64);
});
