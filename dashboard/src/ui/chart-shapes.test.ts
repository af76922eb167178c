import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { barsOf, type ChartData, lineOf, rangeOf, topOf } from './chart-shapes.ts';

const DATA: ChartData = {
  times: [100, 110],
  isStacked: true,
  series: [
    { name: 'hit', tone: 'good', values: [3, 0] },
    { name: 'miss', tone: 'bad', values: [1, 2] },
  ],
};

describe('shapes of a chart', () => {
  it('are as high as the highest sum of bars, or the highest point of lines', () => {
    assert.equal(topOf(DATA), 4);
    assert.equal(topOf({ ...DATA, isStacked: false }), 3);
    assert.equal(topOf({ times: [], series: [] }), 1);
  });

  it('are bars on top of each other, without those of no height', () => {
    assert.deepEqual(barsOf(DATA), [
      { x: 0, y: 25, width: 42.5, height: 75, tone: 'good' },
      { x: 0, y: 0, width: 42.5, height: 25, tone: 'bad' },
      { x: 50, y: 50, width: 42.5, height: 50, tone: 'bad' },
    ]);
  });

  it('are lines through the middles of the steps', () => {
    assert.equal(lineOf({ name: 'reads', tone: 'info', values: [0, 4] }, 4), '25,100 75,0');
  });

  it('give the times of a dragged range in either direction', () => {
    assert.deepEqual(rangeOf(DATA.times, 0.5, 0), [100, 110]);
    assert.deepEqual(rangeOf(DATA.times, -1, 2), [100, 120]);
  });
});
