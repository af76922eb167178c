import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputError, UsageError } from '../base/errors.ts';
import { givenApi, storedRecord } from './rest.ts';

const ORIGIN = 'https://uqrp.example.com';
const failure = (status: number, body: unknown, retryAfter: string | null = null): string => {
  try {
    storedRecord(
      { status, retryAfter, body: typeof body === 'string' ? body : JSON.stringify(body) },
      ORIGIN,
    );
  } catch (error) {
    assert.ok(error instanceof InputError);
    return error.message;
  }
  return assert.fail('it was taken for a stored record');
};

describe('put over REST', () => {
  it('takes an origin or the URL of an API, without user, query or fragment', () => {
    for (const [given, base] of [
      [ORIGIN, `${ORIGIN}/api/v1`],
      [`${ORIGIN}/`, `${ORIGIN}/api/v1`],
      [`${ORIGIN}/api/v1/`, `${ORIGIN}/api/v1`],
      ['http://[::1]:8080/below/api/v1', 'http://[::1]:8080/below/api/v1'],
    ] as const) {
      assert.equal(givenApi(given), base);
    }
    for (const bad of ['uqrp.example.com', 'ftp://a', 'http://u:p@a', 'http://a/?b', 'http://a/#b', '']) {
      assert.throws(() => givenApi(bad), UsageError, bad);
    }
  });

  it('reads the record of the reply', () => {
    const body = JSON.stringify({ records: [{ id: '1', key: 'a.acme.v1' }], deleted: [] });
    assert.deepEqual(storedRecord({ status: 200, retryAfter: null, body }, ORIGIN), {
      id: '1',
      key: 'a.acme.v1',
    });
  });

  it('says what the server refused, about one record, and when to try again', () => {
    assert.equal(
      failure(422, { errors: ['records[0].data is long', 'records[0].key is bad'] }),
      'data is long\nkey is bad',
    );
    assert.equal(failure(403, { error: 'Namespace is suspended' }), 'Namespace is suspended');
    assert.equal(failure(429, { error: 'Too many requests' }, '7'), 'Too many requests. Try again in 7 s.');
    assert.match(failure(401, { error: 'Unauthorized' }), /does not accept UQRP_TOKEN: Unauthorized$/);
    assert.equal(failure(422, { error: 'a\u001b[2Jb' }), 'a\\u{1b}[2Jb');
  });

  it('says that an answer is not one of uqrp', () => {
    for (const [status, body] of [
      [200, '<html>'],
      [200, '{"records":[]}'],
      [200, '{"error":"x"}'],
      [301, ''],
      [502, 'null'],
    ] as const) {
      assert.match(failure(status, body), new RegExp(`is no REST server of uqrp: .* HTTP status ${status}$`));
    }
  });
});
