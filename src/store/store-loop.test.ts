import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { QUIET_MS, storeLoop } from './store-loop.ts';

const BUSY_MS = 500;

/**
 * A loop whose passes are recorded by their time.
 * @param next what the passes return; the last one is repeated. @param during a pass, by its number; it may commit
 */
function run(next: (number | null)[], during: (pass: number, commit: () => void) => void = () => {}) {
  const timers = createManualTimers();
  const ending = new AbortController();
  const listeners = new Set<() => void>();
  const passes: number[] = [];
  const commit = (): void => {
    for (const listener of listeners) listener();
  };
  const ended = storeLoop({
    store: {
      onCommit(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    signal: ending.signal,
    busyMs: BUSY_MS,
    timers,
    async pass() {
      passes.push(timers.now);
      during(passes.length, commit);
      return next[Math.min(passes.length, next.length) - 1] ?? null;
    },
    onError: (error) => assert.fail(String(error)),
  });
  return {
    timers,
    passes,
    commit,
    async stop() {
      ending.abort();
      await ended;
      assert.equal(listeners.size, 0);
    },
  };
}

describe('a loop over work in the store', () => {
  it('sleeps while nothing commits, and finds a commit of which no notice came', async () => {
    const loop = run([null]);
    await loop.timers.advance(QUIET_MS + 1);
    assert.deepEqual(loop.passes, [0, QUIET_MS]);
    await loop.stop();
  });

  it('wakes for the work that it knows of, and not later when the clock was set forward', async () => {
    const loop = run([3_000, 86_400_000]);
    await loop.timers.advance(3_000 + QUIET_MS);
    assert.deepEqual(loop.passes, [0, 3_000, 3_000 + QUIET_MS]);
    await loop.stop();
  });

  it('runs at once after a commit, and then at intervals however many commits there are', async () => {
    const loop = run([null]);
    await loop.timers.advance(2_000);
    for (let ms = 0; ms < 1_200; ms += 10) {
      loop.commit();
      await loop.timers.advance(10);
    }
    assert.deepEqual(loop.passes, [0, 2_000, 2_500, 3_000]);
    await loop.stop();
  });

  it('loses no commit that comes during a pass or in the pause after it', async () => {
    const during = run([null], (pass, commit) => {
      if (pass === 1) commit();
    });
    await during.timers.advance(BUSY_MS);
    assert.deepEqual(during.passes, [0, BUSY_MS]);
    await during.stop();

    const after = run([null]);
    await after.timers.advance(BUSY_MS - 1);
    after.commit();
    await after.timers.advance(1);
    assert.deepEqual(after.passes, [0, BUSY_MS]);
    await after.stop();
  });
});
