import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { startStoreProbe } from './probe.ts';

describe('probe of the store', () => {
  it('reports a lost store within 5 seconds, also when a ping takes its full time, and its return within 2', async () => {
    const timers = createManualTimers();
    const changes: [number, boolean][] = [];
    /** Milliseconds that a ping takes, and whether it succeeds. */
    let answer = { ms: 0, ok: true };
    const ping = (): Promise<void> => {
      const { ms, ok } = answer;
      return new Promise((resolve, reject) => {
        timers.after(ms, () => (ok ? resolve() : reject(new Error('gone'))));
      });
    };
    const probe = startStoreProbe({ ping }, (isUp) => changes.push([timers.now, isUp]), timers);
    await timers.advance(10_000);
    assert.deepEqual([probe.isUp(), changes], [true, []]);
    answer = { ms: 1_200, ok: false };
    await timers.advance(5_000);
    assert.equal(probe.isUp(), false);
    assert.equal(changes.length, 1, 'one report of one change');
    answer = { ms: 0, ok: true };
    await timers.advance(2_000);
    assert.equal(probe.isUp(), true);
    assert.deepEqual(
      changes.map(([, isUp]) => isUp),
      [false, true],
    );
    await probe.stop();
  });

  it('passes over a single failure', async () => {
    const timers = createManualTimers();
    let fails = 1;
    const ping = async (): Promise<void> => {
      if (fails-- > 0) throw new Error('once');
    };
    const probe = startStoreProbe({ ping }, () => assert.fail('nothing changed'), timers);
    await timers.advance(5_000);
    assert.equal(probe.isUp(), true);
    await probe.stop();
  });
});
