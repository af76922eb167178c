import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Ended, QUARANTINE, report } from '../../scripts/run-tests.ts';
import type { TestEnd } from '../../scripts/test-events.ts';

const END: TestEnd = {
  kind: 'end',
  test: 'one',
  at: 'a.test.ts:1',
  ms: 1,
  top: true,
  outcome: 'passed',
  reason: '',
  megabytes: 40,
};

function ended(change: Partial<Ended>, ...ends: readonly Partial<TestEnd>[]): Ended {
  return {
    share: { name: 'src', files: ['a.test.ts'] },
    output: 'much\n✖ failing tests:\n\n  Error: because\n',
    events: ends.map((end) => ({ ...END, ...end })),
    fault: null,
    lingered: false,
    seconds: 2,
    ...change,
  };
}

const BAD = ended({}, {}, { test: 'two', outcome: 'failed' });

describe('the report of npm test', () => {
  it('ends with the failures, their errors and the counts', () => {
    const { lines, passed } = report([BAD]);
    assert.equal(passed, false);
    assert.deepEqual(lines.slice(-3), [
      'failed: two (a.test.ts:1)',
      '\n\n  Error: because',
      '\n1 passed, 1 failed, 0 skipped',
    ]);
  });

  it('passes with a failure in quarantine, and tells it with its error', () => {
    const { lines, passed } = report([BAD], [{ test: 'two', since: '2026-01-01', why: 'not known' }]);
    assert.equal(passed, true);
    assert.deepEqual(lines.slice(2), [
      'failed in quarantine: two',
      'failed: two (a.test.ts:1)',
      '\n\n  Error: because',
      '\n1 passed, 0 failed, 0 skipped, 1 in quarantine',
    ]);
  });

  it('has nobody in quarantine at a release', () => assert.deepEqual(QUARANTINE, []));

  it('names what stood still in one line, and counts what did not run behind it', () => {
    const still = ended(
      {},
      {},
      { test: 'two', outcome: 'stood still', ms: 120_000 },
      { test: 'three', outcome: 'not run' },
      { test: 'four', outcome: 'not run' },
    );
    const { lines, passed } = report([still]);
    assert.equal(passed, false);
    assert.deepEqual(lines.slice(2), [
      'failed: two (a.test.ts:1): stood still, 120 s',
      'not run: 2 tests of share src behind it',
      '\n\n  Error: because',
      '\n1 passed, 1 failed, 0 skipped, 2 not run',
    ]);
  });

  it('fails when a share fails beside its tests, and when nothing ran', () => {
    assert.equal(report([ended({ fault: 'stood still' }, {})]).passed, false);
    assert.equal(report([ended({})]).passed, false);
  });
});
