import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import { openFlagSource } from './store-source.ts';

it('an evaluation waits for the changes that its process has heard of, and for none of a log that was set back (failover)', async () => {
  let epoch = 'before';
  let hear: (seq: number) => void = () => {};
  const nothing = { rows: [], count: 0 };
  const unused = (): never => assert.fail('not used');
  const source = openFlagSource({
    store: {
      engine: 'sqlite',
      read: { engine: 'sqlite', execute: async () => nothing },
      write: unused,
      changes: {
        bounds: unused,
        since: unused,
        openSnapshot: unused,
        onChange(listener) {
          hear = listener;
          return () => {};
        },
        heardAt: () => 0,
      },
      onWork: () => () => {},
      onCommit: unused,
      scrub: unused,
      ping: unused,
      close: unused,
    },
    clock: () => 0,
    timers: createManualTimers(),
    changeReader: {
      follow: unused,
      place: () => 5,
      epoch: () => epoch,
      reached: () => new Promise(() => {}),
      close: unused,
    },
    apiKey: unused,
    onError: unused,
  });
  const asked = async (): Promise<boolean> => {
    let isAnswered = false;
    void source.token({ kind: 'token', digest: 'd' }).then(() => {
      isAnswered = true;
    });
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    return isAnswered;
  };
  assert.equal(await asked(), true);
  hear(9);
  assert.equal(await asked(), false, 'of change 9 the evaluation has to know');
  epoch = 'after';
  assert.equal(await asked(), true);
  hear(6);
  assert.equal(await asked(), false);
  source.close();
});
