import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliveryResource, Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { TIERS } from '../../../../src/base/limits.ts';
import { deletedReads, namespaceBars, resetParts, tierRows, triedWithinHour } from './usage-parts.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');

describe('metered reads', () => {
  const metered = (total: number, ...counts: readonly number[]): Usage['metered'] => ({
    since: '2026-11-01T00:00:00.000Z',
    until: '2026-11-22T12:00:00.000Z',
    estimated: true,
    total_authenticated_queries: total,
    by_namespace: counts.map((count, index) => ({ name: `n${index}`, count })),
    tier: 'free',
    tier_allowance: 100_000,
  });

  it('are bars, the longest of full width', () => {
    assert.deepEqual(
      namespaceBars(metered(15, 10, 5)).map(({ share }) => share),
      [1, 0.5],
    );
    assert.deepEqual(namespaceBars(metered(0)), []);
    assert.deepEqual(namespaceBars(metered(0, 0))[0]?.share, 0);
  });

  it('include those of deleted namespaces, which have no bar', () => {
    assert.equal(deletedReads(metered(20, 10, 5)), 5);
    // A count may be newer than the total.
    assert.equal(deletedReads(metered(14, 10, 5)), 0);
  });
});

describe('tiers', () => {
  it('are ordered, and one is the own', () => {
    const rows = tierRows(TIERS, 'team');
    assert.deepEqual(
      rows.map(({ name, isOwn }) => [name, isOwn]),
      [
        ['free', false],
        ['pro', false],
        ['team', true],
        ['enterprise', false],
      ],
    );
    assert.equal(tierRows(TIERS, 'other').filter(({ isOwn }) => isOwn).length, 0);
  });
});

describe('deliveries of the last hour', () => {
  function delivery(minutesAgo: number, more: Partial<DeliveryResource> = {}): DeliveryResource {
    const at = new Date(NOW - minutesAgo * 60_000).toISOString();
    const none = { response_code: null, error: null, duration_ms: 5, next_attempt_at: null } as const;
    const rest = { id: 'd', event: 'record.upserted', seq: 1, status: 'succeeded', attempts: 1 } as const;
    return { ...rest, ...none, created_at: at, last_attempt_at: at, ...more };
  }

  it('are those that were tried, without tests', () => {
    const list = [
      delivery(1),
      delivery(2, { event: 'webhook.test' }),
      delivery(3, { last_attempt_at: null }),
      delivery(59),
      delivery(61),
    ];
    assert.deepEqual(triedWithinHour(list, true, NOW), { count: 2, isAtLeast: false });
  });

  it('may be more than were read', () => {
    assert.deepEqual(triedWithinHour([delivery(1), delivery(2)], true, NOW), { count: 2, isAtLeast: true });
    assert.deepEqual(triedWithinHour([delivery(1)], false, NOW), { count: 1, isAtLeast: false });
    assert.deepEqual(triedWithinHour([], false, NOW), { count: 0, isAtLeast: false });
  });
});

describe('the time until a budget is whole', () => {
  it('is seconds, then minutes', () => {
    assert.deepEqual(resetParts(90), { value: 90, unit: 'seconds' });
    assert.deepEqual(resetParts(91), { value: 2, unit: 'minutes' });
    assert.deepEqual(resetParts(3_600), { value: 60, unit: 'minutes' });
  });
});
