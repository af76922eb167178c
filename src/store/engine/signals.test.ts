import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_MARKS, StoreSignals } from './signals.ts';

it('signals tell of a commit whose notice was lost once a reader finds a later head', () => {
  let isWatching = false;
  const signals = new StoreSignals(() => {
    isWatching = true;
    return () => {
      isWatching = false;
    };
  });
  const told: string[] = [];
  const stops = [
    signals.onChange((seq) => told.push(`change ${seq}`)),
    signals.onWork('deliveries', () => told.push('work')),
    signals.onCommit(() => told.push('commit')),
  ];
  assert.equal(isWatching, true);
  signals.found(7);
  assert.deepEqual(told, [], 'the first head is where it begins');
  signals.tell({ ...NO_MARKS, seq: 8 });
  assert.deepEqual(told.splice(0), ['change 8', 'commit']);
  signals.found(8);
  signals.found(7);
  assert.deepEqual(told, []);
  signals.found(9);
  assert.deepEqual(told.splice(0), ['change 9', 'work', 'commit']);
  for (const stop of stops) stop();
  assert.equal(isWatching, false);
});
