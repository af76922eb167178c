import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeListingCursor, encodeListingCursor } from './query-parameters.ts';

const LISTING = { namespace: 'acme', resource: undefined };
const CURSOR = encodeListingCursor({ c: 5, i: 'some-id' }, LISTING);

describe('listing cursor', () => {
  it('gives its position back to the same listing', () => {
    const { c, i } = decodeListingCursor(CURSOR, { ...LISTING })!;
    assert.deepEqual({ c, i }, { c: 5, i: 'some-id' });
  });

  it('is refused by a listing with other filters', () => {
    assert.equal(decodeListingCursor(CURSOR, { namespace: 'acme', resource: 'doc' }), null);
  });

  for (const [title, text] of [
    ['nothing', ''],
    ['characters outside base64url', `${CURSOR}=`],
    ['no JSON', Buffer.from('{').toString('base64url')],
    ['JSON that is no object', Buffer.from('[1]').toString('base64url')],
    ['a position without a fingerprint', Buffer.from('{"c":5}').toString('base64url')],
    ['more than 512 characters', encodeListingCursor({ i: 'x'.repeat(400) }, LISTING)],
  ] as const) {
    it(`refuses ${title}`, () => assert.equal(decodeListingCursor(text, LISTING), null));
  }
});
