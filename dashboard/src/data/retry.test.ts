import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, ConnectionError } from '../../../sdk/src/uqrp-sdk.ts';
import { retryAt } from './retry.ts';

function refusal(status: number, retryAfter: number | null = null): ApiError {
  return new ApiError({ status, code: 'unknown', messages: [], requestId: null, retryAfter });
}

describe('repetition of failed reads', () => {
  it('waits as long as Retry-After says', () => {
    assert.deepEqual(retryAt(refusal(429, 7), 1), { waitMs: 7000, arrived: true });
  });

  it('repeats after failures of the server and of the way, with backoff up to 30 seconds', () => {
    assert.deepEqual(retryAt(refusal(503), 3), { waitMs: 4000, arrived: true });
    assert.deepEqual(retryAt(new ConnectionError(null), 1), { waitMs: 1000, arrived: false });
    assert.deepEqual(retryAt(new ConnectionError(null), 20), { waitMs: 30_000, arrived: false });
  });

  it('does not repeat what will fail again', () => {
    for (const status of [400, 401, 403, 404, 422]) assert.equal(retryAt(refusal(status), 1).waitMs, null);
    assert.equal(retryAt(new TypeError('a fault of ours'), 1).waitMs, null);
  });
});
