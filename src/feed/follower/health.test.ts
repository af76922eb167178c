import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChangeFormatError } from '../../protocol/changes/change-codec.ts';
import { createFailureReports, faultOf, OtherStoreError } from './health.ts';

describe('reports of a feed that fails', () => {
  it('come once for each cause, and then after 1, 2, 4 ... minutes', () => {
    let now = 5_000;
    const reports = createFailureReports(() => now);
    const due: number[] = [];
    for (let second = 0; second <= 1_000; second++) {
      now = 5_000 + second * 1_000;
      if (reports.isDue('source')) due.push(second);
    }
    assert.deepEqual(due, [0, 60, 120, 240, 480, 960]);
    assert.equal(reports.isDue('view'), true);
    assert.equal(reports.isDue('view'), false);
    reports.recovered();
    assert.equal(reports.isDue('view'), true);
  });

  it('name the cause', () => {
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    assert.equal(faultOf(full, 'view'), 'disk_full');
    assert.equal(faultOf(full, 'source'), 'disk_full');
    assert.equal(faultOf(new Error('any'), 'source'), 'source');
    assert.equal(faultOf(new Error('any'), 'view'), 'view');
    assert.equal(faultOf(new OtherStoreError(), 'source'), 'other_store');
    assert.equal(faultOf(new ChangeFormatError(7, 'version'), 'source'), 'format');
  });
});
