import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliveryResource, Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { TIERS } from '../../../../src/base/limits.ts';
import {
  deletedReads,
  limitsOf,
  monthOfReads,
  namespaceBars,
  paceOf,
  resetParts,
  tierRows,
  triedWithinHour,
} from './usage-parts.ts';

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

describe('the reads of a month', () => {
  const of = (until: string, days: readonly number[], allowance = 3_000) => ({
    period: { since: '2026-11-01T00:00:00.000Z', until: '2026-12-01T00:00:00.000Z' },
    metered: {
      ...({
        since: '2026-11-01T00:00:00.000Z',
        until,
        estimated: true,
        by_namespace: [],
        tier: 'free',
      } as const),
      total_authenticated_queries: days.reduce((sum, count) => sum + count, 0),
      tier_allowance: allowance,
      by_day: days.map((count, day) => ({ date: `2026-11-0${day + 1}`, count })),
    },
  });

  it('have a bar for each day, those to come too, and a line at an even share unless it is far above', () => {
    const { chart, evenShare } = monthOfReads(of('2026-11-03T12:00:00.000Z', [30, 0, 20]));
    assert.deepEqual([chart.times.length, chart.times[1]! - chart.times[0]!], [30, 86_400]);
    assert.deepEqual(chart.series[0]?.values.slice(0, 4), [30, 0, 20, 0]);
    assert.deepEqual([evenShare, chart.level], [100, 100]);
    assert.equal(monthOfReads(of('2026-11-03T12:00:00.000Z', [25])).chart.level, 100);
    assert.equal(monthOfReads(of('2026-11-03T12:00:00.000Z', [24])).chart.level, undefined);
  });

  it('lead somewhere from the second day on', () => {
    assert.equal(paceOf(of('2026-11-01T23:59:59.000Z', [30])), null);
    assert.equal(paceOf(of('2026-11-02T00:00:00.000Z', [30])), 0.3);
    assert.equal(paceOf(of('2026-11-16T00:00:00.000Z', [3_000])), 2);
  });
});

describe('limits', () => {
  it('of nothing are left out, and writes where they are not limited', () => {
    const usage = {
      records: { used: 1, limit: 2 },
      webhooks: { used: 0, limit: 0 },
      metered: { total_authenticated_queries: 5, tier_allowance: 10 },
      writes: null,
    } as unknown as Usage;
    assert.deepEqual(limitsOf(usage), [
      { name: 'records', used: 1, limit: 2 },
      { name: 'reads', used: 5, limit: 10 },
    ]);
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
