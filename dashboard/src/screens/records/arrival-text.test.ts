import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Arrival, NodeArrival } from './arrival.ts';
import { arrivalParts } from './arrival-text.ts';

const node = (name: string, more: Partial<NodeArrival> = {}): NodeArrival => ({
  ...{ node: name, ms: null, isAtMost: false, late: false },
  ...more,
});
const text = (arrival: Partial<Arrival>): string =>
  arrivalParts({ written: 12, inView: [], answered: 38, ended: null, ...arrival }).join(' · ');

describe('what is said of a write', () => {
  it('names the node only where there are several', () => {
    const here = node('here', { ms: 31 });
    assert.equal(
      text({ inView: [here], ended: 'done' }),
      'saved 12 ms · on this node 31 ms · answered 38 ms',
    );
    const lon1 = node('lon1', { ms: 420, isAtMost: true });
    assert.equal(
      text({ inView: [here, lon1], ended: 'done' }),
      'saved 12 ms · on here 31 ms · on lon1 within 420 ms · answered 38 ms',
    );
  });

  it('says which nodes are awaited and which are late', () => {
    const inView = [node('lon1'), node('ams1'), node('old1', { late: true })];
    assert.equal(text({ inView }), 'saved 12 ms · old1 is late · answered 38 ms · waiting for lon1, ams1');
  });

  it('does not say that an answer never came when a node alone was slow', () => {
    const inView = [node('here', { ms: 31 }), node('lon1')];
    assert.match(text({ inView, ended: 'late' }), /answered 38 ms · not on lon1 after 20 s$/);
    assert.match(text({ answered: null, ended: 'late' }), /^saved 12 ms · not answered after 20 s$/);
  });
});
