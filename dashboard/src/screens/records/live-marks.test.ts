import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChangeResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { asOwn, ownership } from '../../data/own-writes.ts';
import { type LiveMarks, markCounts, withChanges } from './live-marks.ts';

function change(event: ChangeResource['event'], key?: string): ChangeResource {
  return { cursor: 'c', event, at: 'now', namespace: 'acme', ...(key !== undefined && { key }) };
}

/** A page that shows `a` and `b`, would show `n…`, and writes `own`. */
const RULES = {
  isShown: (key: string) => key === 'a' || key === 'b',
  fits: (key: string) => key.startsWith('n'),
  isOwn: ({ key }: ChangeResource) => key === 'own',
};

function kinds(marks: LiveMarks): Record<string, string> {
  return Object.fromEntries([...marks].map(([key, { kind }]) => [key, kind]));
}

describe('marks of records that others change', () => {
  it('say what became of what is shown, and what is new', () => {
    const marks = withChanges(
      new Map(),
      [
        change('record.upserted', 'a'),
        change('record.deleted', 'b'),
        change('record.upserted', 'n1'),
        change('record.upserted', 'x'),
        change('namespace.upserted'),
      ],
      RULES,
    );
    assert.deepEqual(kinds(marks), { a: 'changed', b: 'deleted', n1: 'new' });
    assert.deepEqual(
      [...markCounts(marks)],
      [
        ['changed', 1],
        ['deleted', 1],
        ['new', 1],
      ],
    );
  });

  it('follow the last change: made again after a deletion, expired, gone before it was seen', () => {
    const first = withChanges(
      new Map(),
      [change('record.deleted', 'a'), change('record.upserted', 'n1'), change('record.upserted', 'n2')],
      RULES,
    );
    const then = withChanges(
      first,
      [change('record.upserted', 'a'), change('record.expired', 'b'), change('record.deleted', 'n2')],
      RULES,
    );
    assert.deepEqual(kinds(then), { a: 'changed', n1: 'new', b: 'expired' });
    const shown = { ...RULES, isShown: () => true };
    assert.deepEqual(kinds(withChanges(then, [change('record.upserted', 'n1')], shown)).n1, 'new');
  });

  it('are none for what this page writes, while it writes and a moment longer', async () => {
    const before = withChanges(new Map(), [change('record.upserted', 'a')], RULES);
    assert.deepEqual(kinds(withChanges(before, [change('record.upserted', 'own')], RULES)), { a: 'changed' });
    const mine = { ...RULES, isOwn: () => true };
    assert.deepEqual(kinds(withChanges(before, [change('record.upserted', 'a')], mine)), {});
    const of = (event: ChangeResource['event'], etag?: string) =>
      ownership({ ...change(event, 'k'), ...(etag !== undefined && { etag }) });
    assert.equal(of('record.upserted', '"1"'), 'none');
    await asOwn('record.upserted', ['k'], async () => {
      assert.equal(of('record.upserted', '"1"'), 'likely');
      assert.equal(of('record.deleted'), 'none');
      return { etag: '"1"' };
    });
    assert.deepEqual([of('record.upserted', '"1"'), of('record.upserted', '"2"')], ['sure', 'none']);
    await asOwn('record.deleted', ['k'], async () => undefined);
    assert.deepEqual([of('record.deleted'), of('record.upserted', '"2"')], ['sure', 'none']);
    await assert.rejects(asOwn('record.upserted', ['k'], () => Promise.reject(new Error('refused'))));
    // Whether a write without an answer was done is not known.
    assert.equal(of('record.upserted', '"2"'), 'likely');
  });

  it('are none for an own write whose change comes late: after the next write of its key, or when the feed is open again', async () => {
    const of = (event: ChangeResource['event'], etag?: string) =>
      ownership({ ...change(event, 'late'), ...(etag !== undefined && { etag }) });
    await asOwn('record.upserted', ['late'], async () => ({ etag: '"1"' }));
    await asOwn('record.deleted', ['late'], async () => undefined);
    await asOwn('record.upserted', ['late'], async () => {
      assert.deepEqual([of('record.upserted', '"1"'), of('record.deleted')], ['sure', 'sure']);
      return { etag: '"2"' };
    });
    const now = performance.now.bind(performance);
    performance.now = () => now() + 60_000;
    try {
      assert.deepEqual(
        [of('record.upserted', '"1"'), of('record.upserted', '"2"'), of('record.upserted', '"3"')],
        ['sure', 'sure', 'none'],
      );
      assert.deepEqual([of('record.upserted'), of('record.deleted')], ['none', 'none']);
    } finally {
      // The one of its prototype is seen again.
      Reflect.deleteProperty(performance, 'now');
    }
  });
});
