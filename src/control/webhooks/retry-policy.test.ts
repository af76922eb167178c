import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELIVERY_ERRORS, type DeliveryError } from '../../protocol/webhooks.ts';
import { decideRetry } from './attempts.ts';
import type { AttemptResult } from './send-attempt.ts';

const SCHEDULE = [0, 5, 300];
const NOW = 1_000_000;
const RIGHT: AttemptResult = { error: null, responseCode: 204, durationMs: 12, retryAfter: null };
const wrong = (error: DeliveryError, more: Partial<AttemptResult> = {}): AttemptResult => ({
  error,
  responseCode: null,
  durationMs: 12,
  retryAfter: null,
  ...more,
});

describe('a retry decision', () => {
  it('follows from the attempt and the failures before it', () => {
    const table: readonly [AttemptResult, attempt: number, failuresBefore: number, ...expected: unknown[]][] =
      [
        // result, attempt, failures before -> status, next attempt, failures, rests until, disabled
        [RIGHT, 1, 0, 'succeeded', null, 0, 0, false],
        [RIGHT, 3, 19, 'succeeded', null, 0, 0, false],
        [wrong('timeout'), 1, 0, 'pending', NOW + 5000, 1, NOW + 1000, false],
        [wrong('timeout'), 2, 5, 'pending', NOW + 300_000, 6, NOW + 32_000, false],
        [wrong('timeout'), 3, 6, 'failed', null, 7, NOW + 60_000, false],
        [wrong('http_status', { retryAfter: 8 }), 1, 0, 'pending', NOW + 8000, 1, NOW + 1000, false],
        [wrong('http_status', { retryAfter: 90 }), 1, 0, 'pending', NOW + 10_000, 1, NOW + 1000, false],
        // Gone is a failure like any other.
        [wrong('http_status', { responseCode: 410 }), 1, 0, 'pending', NOW + 5000, 1, NOW + 1000, false],
        [wrong('redirect', { responseCode: 302 }), 1, 18, 'pending', NOW + 5000, 19, NOW + 60_000, false],
        [wrong('redirect', { responseCode: 302 }), 1, 19, 'failed', null, 20, NOW + 60_000, true],
        [wrong('timeout'), 3, 40, 'failed', null, 41, NOW + 60_000, true],
      ];
    for (const [result, attempt, failuresBefore, ...expected] of table) {
      const decision = decideRetry(result, {
        attempt,
        failuresBefore,
        schedule: SCHEDULE,
        random: 0.5,
        now: NOW,
      });
      const { delivery, failures, restsUntil, isDisabled } = decision;
      const { error, responseCode, durationMs } = result;
      assert.deepEqual(
        [delivery.status, delivery.nextAttemptAt, failures, restsUntil, isDisabled],
        expected,
        `${error} ${attempt} ${failuresBefore}`,
      );
      assert.deepEqual(
        [delivery.error, delivery.responseCode, delivery.durationMs],
        [error, responseCode, durationMs],
      );
    }
  });

  it('is a failure whatever the error', () => {
    for (const error of DELIVERY_ERRORS) {
      const input = { attempt: 1, failuresBefore: 3, schedule: SCHEDULE, random: 0, now: NOW };
      assert.equal(decideRetry(wrong(error), input).failures, 4, error);
    }
  });
});
