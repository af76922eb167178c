import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { watchCommits } from './sqlite-store.ts';

/** @param watches how many watches the system gives */
function world({ watches = Number.POSITIVE_INFINITY, isLocked = (): boolean => false } = {}) {
  const timers = createManualTimers();
  const open = new Set<() => void>();
  const heard: number[] = [];
  let version = 1;
  let given = 0;
  const stop = watchCommits({
    file: '/data/uqrp.sqlite',
    version() {
      if (isLocked()) throw new Error('database is locked');
      return version;
    },
    onCommit: () => heard.push(timers.now),
    timers,
    watchFile(path, written) {
      assert.equal(path, '/data/uqrp.sqlite-wal');
      if (given++ >= watches) throw new Error('ENOSPC');
      open.add(written);
      return { close: () => open.delete(written) };
    },
  });
  return {
    timers,
    heard,
    stop,
    open,
    /** Another process commits. */
    commit: () => version++,
    /** The system tells that the file was written, by whichever process. */
    written: () => [...open].map((tell) => tell()),
  };
}

describe('commits of other processes', () => {
  it('are told of at once when the file is written', async () => {
    const { timers, heard, commit, written, stop, open } = world();
    await timers.advance(50);
    commit();
    written();
    assert.deepEqual(heard, [50]);
    stop();
    assert.deepEqual([open.size, timers.pending()], [0, []]);
  });

  it('are told of within a second when the watch tells of nothing', async () => {
    const { timers, heard, commit, stop } = world();
    commit();
    await timers.advance(1_000);
    assert.deepEqual(heard, [1_000]);
    stop();
  });

  it('are told of within 100 ms when there is no watch, from the start or after a while', async () => {
    for (const watches of [0, 1]) {
      const { timers, heard, commit, written, stop } = world({ watches });
      await timers.advance(500);
      written();
      commit();
      await timers.advance(100);
      assert.deepEqual(heard, [600]);
      stop();
    }
  });

  it('are told of although our own commits write the file without a pause', async () => {
    const { timers, heard, commit, written, stop } = world();
    for (let ms = 0; ms < 1_000; ms += 10) {
      written();
      if (ms === 450) commit();
      await timers.advance(10);
    }
    assert.deepEqual(heard, [500]);
    assert.deepEqual(timers.pending().length, 1);
    stop();
  });

  it('are told of when the file can be read again', async () => {
    let isLocked = false;
    const { timers, heard, commit, written, stop } = world({ isLocked: () => isLocked });
    commit();
    isLocked = true;
    written();
    await timers.advance(50);
    isLocked = false;
    await timers.advance(50);
    assert.deepEqual(heard, [100]);
    stop();
  });
});
