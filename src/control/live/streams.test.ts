import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { openEventStreams } from './streams.ts';

it('nothing is sent before the credential was checked again, however long that takes', async () => {
  const timers = createManualTimers();
  const streams = openEventStreams({
    store: { onWork: () => () => {} },
    timers,
    onError: (error) => assert.fail(String(error)),
  });
  const checked = Promise.withResolvers<boolean>();
  const calls: string[] = [];
  const stop = streams.open({
    output: { isReady: () => true, write: () => true, cutOff() {} },
    sender: {
      begin() {
        calls.push('begin');
        return () => calls.push('stop');
      },
      tick: () => calls.push('tick'),
    },
    renew: () => checked.promise,
    end: () => calls.push('end'),
  });
  await timers.advance(3_000);
  assert.deepEqual(calls, []);
  checked.resolve(true);
  await timers.advance(1_000);
  assert.deepEqual(calls, ['begin', 'tick']);
  stop();
  await timers.advance(1_000);
  assert.deepEqual(calls, ['begin', 'tick', 'stop']);
  await streams.close();
});
