import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import type { DeliveryError } from '../../protocol/webhooks.ts';
import { afterAttempt, afterEnabling, afterNewUrl, readHealth, recentOf } from './health.ts';

const NOTHING = {
  failingSince: null,
  succeededAt: null,
  failedAt: null,
  error: null,
  responseCode: null,
  recent: [],
};

function after(
  text: string,
  at: number,
  error: DeliveryError | null,
  code: number | null = null,
  ms = 10,
): string {
  return afterAttempt(text, { error, responseCode: code, durationMs: ms }, at);
}

describe('what attempts say of an endpoint', () => {
  it('is nothing at first, and where the text is damaged', () => {
    for (const text of ['{}', '', '[]', 'null', '{"recent":"x","good":"1","error":"unheard"}']) {
      assert.deepEqual(readHealth(text), NOTHING, text);
    }
  });

  it('fails since the first failure in a row, and names the last one', () => {
    const first = after(after('{}', 100, null), 200, 'http_status', 500);
    const second = readHealth(after(first, 300, 'dns_failure'));
    assert.deepEqual(
      { ...second, recent: second.recent.map(({ ok }) => ok) },
      {
        failingSince: 200,
        succeededAt: 100,
        failedAt: 300,
        error: 'dns_failure',
        responseCode: null,
        recent: [true, false, false],
      },
    );
    const mended = readHealth(after(after(first, 300, 'timeout'), 400, null, 204));
    assert.deepEqual([mended.failingSince, mended.succeededAt, mended.failedAt], [null, 400, 300]);
  });

  it('is not proven after it was enabled, and keeps what failed last', () => {
    const text = afterEnabling(after(after('{}', 100, null), 200, 'tls_error'));
    assert.deepEqual(readHealth(text), { ...NOTHING, failedAt: 200, error: 'tls_error' });
    assert.equal(readHealth(after(text, 300, 'tls_error')).failingSince, 300);
  });

  it('fails at another URL since it failed at the one before, until a success', () => {
    const text = afterNewUrl(after(after('{}', 100, null), 200, 'tls_error'));
    assert.deepEqual(readHealth(text), { ...NOTHING, failingSince: 200, failedAt: 200, error: 'tls_error' });
    assert.equal(readHealth(after(text, 300, 'timeout')).failingSince, 200);
    assert.equal(readHealth(after(text, 300, null)).failingSince, null);
  });

  it('counts the last attempts alone', () => {
    let text = '{}';
    for (let at = 0; at < LIMITS.webhookRecent + 7; at++)
      text = after(text, at, at < 7 ? 'timeout' : null, null, at);
    const { recent } = readHealth(text);
    assert.equal(recent.length, LIMITS.webhookRecent);
    assert.deepEqual(recent[0], { ok: true, ms: 7 });
    assert.ok(text.length < 1024, `${text.length} letters`);
    assert.deepEqual(recentOf(readHealth(text)), { attempts: 100, succeeded: 100, p95_ms: 101 });
  });

  it('has a share and a duration of the window, and neither without attempts', () => {
    assert.deepEqual(recentOf(readHealth('{}')), { attempts: 0, succeeded: 0, p95_ms: null });
    const one = readHealth(after('{}', 1, 'timeout', null, 0));
    assert.deepEqual(
      [one.recent, recentOf(one)],
      [[{ ok: false, ms: 0 }], { attempts: 1, succeeded: 0, p95_ms: 0 }],
    );
  });
});
