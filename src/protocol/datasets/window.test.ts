import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compareStarts, overlap, selectWindow, type Window } from './item.ts';
import { compareVersions, isPublishedVersion, parseDay } from './query.ts';

const NOW = 1_800_000_000;

/** The selected window's start and TTL, or null. */
function select(
  windows: readonly Window[],
  asOf: number | null,
  nowMs = NOW * 1000,
): [number | null, number] | null {
  const selection = selectWindow(windows, asOf, nowMs);
  return selection.kind === 'none' ? null : [selection.window.from, selection.ttl];
}

describe('windows', () => {
  it('begin with their start and end before their end', () => {
    const windows = [
      { from: 100, to: 200 },
      { from: 200, to: 300 },
    ];
    for (const [asOf, from] of [
      [99, null],
      [100, 100],
      [199, 100],
      [200, 200],
      [299, 200],
      [300, null],
    ] as const) {
      assert.equal(select(windows, asOf)?.[0] ?? null, from, String(asOf));
    }
  });

  it('that are open have no start, or no end', () => {
    assert.deepEqual(select([{ from: null, to: 100 }], parseDay('0001-01-01')), [null, 604_800]);
    assert.deepEqual(select([{ from: 100, to: null }], parseDay('9999-12-31')), [100, 3600]);
    assert.deepEqual(select([{ from: 100, to: null }], 9_999_999_999), [100, 3600]);
    assert.deepEqual(select([{ from: null, to: null }], null), [null, 3600]);
    assert.equal(select([], null), null);
  });

  it('are not served before they begin, whatever instant is asked', () => {
    const future = [{ from: NOW, to: null }];
    const before = NOW * 1000 - 1;
    for (const asOf of [null, NOW, NOW + 5, 9_999_999_999]) {
      assert.equal(select(future, asOf, before), null);
      assert.deepEqual(selectWindow(future, asOf, before), { kind: 'none', until: NOW });
    }
    assert.deepEqual(select(future, null, NOW * 1000), [NOW, 3600]);
    assert.deepEqual(select([{ from: 0, to: NOW + 10_000 }], NOW + 9999), [0, 3600], 'it has begun');
  });

  it('that are ambiguous give no answer until time resolves it', () => {
    const windows = [
      { from: 0, to: NOW + 5 },
      { from: 10, to: null },
    ];
    assert.deepEqual(selectWindow(windows, null, NOW * 1000), { kind: 'none', until: NOW + 5 });
    assert.deepEqual(select(windows, 5), [0, 5]);
    assert.deepEqual(select(windows, null, (NOW + 5) * 1000), [10, 3600]);
  });

  it('give an hour, a week once they ended more than an hour ago, and never more than is left', () => {
    for (const [to, ms, ttl] of [
      [NOW + 3601, 0, 3600],
      [NOW + 3600, 0, 3600],
      [NOW + 3600, 1, 3599],
      [NOW + 1, 0, 1],
      [NOW + 1, 999, 0],
      [NOW, 0, 3600],
      [NOW - 3600, 0, 3600],
      [NOW - 3600, 1, 604_800],
      [NOW - 3601, 0, 604_800],
    ] as const) {
      const asOf = to - 1;
      assert.deepEqual(select([{ from: 0, to }], asOf, NOW * 1000 + ms), [0, ttl], `${to - NOW} ${ms}`);
    }
  });

  it('stay selected until the boundary that is told, and no cache holds an answer past an end', () => {
    const instant = fc.integer({ min: NOW - 20, max: NOW + 20 });
    const window = fc
      .tuple(fc.option(instant), fc.option(instant))
      .filter(([from, to]) => from === null || to === null || from < to)
      .map(([from, to]) => ({ from, to }));
    fc.assert(
      fc.property(fc.array(window, { maxLength: 5 }), fc.option(instant), instant, (windows, asOf, now) => {
        const first = selectWindow(windows, asOf, now * 1000);
        const end = first.until ?? now + 50;
        for (let later = now; later < end; later++) {
          const next = selectWindow(windows, asOf, later * 1000);
          assert.equal(next.kind, first.kind);
          if (next.kind === 'window' && first.kind === 'window') assert.equal(next.window, first.window);
        }
        const to = first.kind === 'window' ? first.window.to : null;
        if (first.kind === 'window' && to !== null && to > now) assert.ok(now + first.ttl <= to);
      }),
    );
  });

  it('overlap when they share an instant', () => {
    const bound = fc.option(fc.integer({ min: 0, max: 9 }));
    const window = fc
      .tuple(bound, bound)
      .filter(([from, to]) => from === null || to === null || from < to)
      .map(([from, to]) => ({ from, to }));
    const holds = ({ from, to }: Window, at: number): boolean => (from ?? -1) <= at && at < (to ?? 11);
    fc.assert(
      fc.property(window, window, (a, b) => {
        const [first, second] = [a, b].sort(compareStarts) as [Window, Window];
        const shared = Array.from({ length: 12 }, (_, i) => i - 1).some((at) => holds(a, at) && holds(b, at));
        assert.equal(overlap(first, second), shared);
      }),
    );
  });
});

describe('versions', () => {
  it('are ordered by their numbers', () => {
    const ascending = [
      '0.0.0',
      '0.0.9',
      '0.0.10',
      '0.1.0',
      '0.9.9',
      '1.0.0',
      '1.2.3',
      '1.10.0',
      '2.0.0',
      '10.0.0',
    ];
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries())
        assert.equal(Math.sign(compareVersions(a, b)), Math.sign(i - j));
    }
    assert.ok(compareVersions('999999999999.0.0', '999999999998.9.9') > 0);
  });

  it('are published in one spelling, of at most 16 characters', () => {
    for (const good of ['0.0.0', '1.2.3', '10.20.30', '999999999999.0.0'])
      assert.ok(isPublishedVersion(good), good);
    for (const bad of [
      '',
      '1',
      '1.2',
      '1.2.3.4',
      '01.2.3',
      '1.02.3',
      '1.2.00',
      '1.2.3-rc1',
      'v1.2.3',
      ' 1.2.3',
      '1.2.3\n',
      '9999999999999.0.0',
    ])
      assert.ok(!isPublishedVersion(bad), bad);
  });
});
