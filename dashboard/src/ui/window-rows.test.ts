import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rowWindow } from './window-rows.ts';

const ROW = { rowHeight: 40, height: 400 };

describe('rows in the document', () => {
  it('are all of a short list', () => {
    assert.deepEqual(rowWindow({ ...ROW, top: 0, rows: 5 }), { from: 0, until: 5 });
    assert.deepEqual(rowWindow({ ...ROW, top: 0, rows: 0 }), { from: 0, until: 0 });
  });

  it('are the visible ones and some around them', () => {
    assert.deepEqual(rowWindow({ ...ROW, top: 40_000, rows: 50_000 }), { from: 992, until: 1019 });
  });

  it('cover the end, also when the list has become shorter than the scroll position', () => {
    assert.equal(rowWindow({ ...ROW, top: 1_999_600, rows: 50_000 }).until, 50_000);
    const { from, until } = rowWindow({ ...ROW, top: 40_000, rows: 30 });
    assert.ok(from <= 30 - 10 && until === 30);
  });
});
