import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { closeAll, closeTogether } from './close.ts';
import { backoffMs, createWaker, DEFAULT_BACKOFF, every, loop } from './loop.ts';
import { toWholeSecond, withinWholeSecond } from './timers.ts';

describe('backoff', () => {
  for (const [failures, ms] of [
    [1, 100],
    [2, 200],
    [7, 6400],
    [8, 10_000],
    [5000, 10_000],
  ] as const) {
    it(`waits ${ms} ms after ${failures} failures`, () => {
      assert.equal(backoffMs(failures), ms);
    });
  }
});

describe('loop', () => {
  function start(pass: () => Promise<number>) {
    const ending = new AbortController();
    const timers = createManualTimers();
    const waker = createWaker(ending.signal, timers);
    const failures: number[] = [];
    const ended = loop({
      signal: ending.signal,
      waker,
      pass,
      onError: (_error, count) => failures.push(count),
    });
    return { ending, timers, waker, failures, ended };
  }

  it('passes again after the time that the pass asked for', async () => {
    let passes = 0;
    const run = start(async () => {
      passes++;
      return 1000;
    });
    await run.timers.advance(999);
    assert.equal(passes, 1);
    await run.timers.advance(1);
    assert.equal(passes, 2);
    run.ending.abort();
    await run.ended;
  });

  it('passes at once after a wake-up, also after one that came during the pass', async () => {
    let passes = 0;
    const run = start(async () => {
      passes++;
      if (passes === 2) run.waker.wake();
      return 1000;
    });
    await run.timers.advance(0);
    run.waker.wake();
    await run.timers.advance(0);
    assert.equal(passes, 3);
    run.ending.abort();
    await run.ended;
  });

  it('retries with growing delays, reports failures, and counts from 1 again after a pass that succeeds', async () => {
    let fails = true;
    const run = start(async () => {
      if (fails) throw new Error('no database');
      return 1000;
    });
    await run.timers.advance(DEFAULT_BACKOFF.firstMs * 7);
    assert.deepEqual(run.failures, [1, 2, 3, 4]);
    fails = false;
    await run.timers.advance(DEFAULT_BACKOFF.capMs);
    fails = true;
    await run.timers.advance(1000);
    assert.deepEqual(run.failures.slice(0, 5), [1, 2, 3, 4, 1]);
    run.ending.abort();
    await run.ended;
  });

  it('ends a backoff at a wake-up, but wake-ups beside a dead dependency make no busy loop', async () => {
    let passes = 0;
    const run = start(async () => {
      passes++;
      throw new Error('no database');
    });
    await run.timers.advance(DEFAULT_BACKOFF.firstMs * 31);
    assert.equal(passes, 6);
    await run.timers.advance(DEFAULT_BACKOFF.firstMs);
    run.waker.wake();
    await run.timers.advance(0);
    assert.equal(passes, 7);
    for (let wakeUp = 0; wakeUp < 50; wakeUp++) {
      run.waker.wake();
      await run.timers.advance(1);
    }
    assert.equal(passes, 7);
    await run.timers.advance(DEFAULT_BACKOFF.firstMs);
    assert.equal(passes, 8);
    run.ending.abort();
    await run.ended;
  });

  it('sleeps of one waker end each at its own time, or with the signal, and no wake-up ends them (all but the last went on for ever)', async () => {
    const ending = new AbortController();
    const timers = createManualTimers();
    const waker = createWaker(ending.signal, timers);
    const ended: string[] = [];
    const sleep = (ms: number): void => void waker.sleep(ms).then(() => ended.push(`${ms}`));
    sleep(300);
    sleep(100);
    void waker.wait(200).then((isWoken) => ended.push(`wait ${isWoken}`));
    sleep(400);
    await timers.advance(50);
    waker.wake();
    await timers.advance(0);
    assert.deepEqual(ended, ['wait true']);
    await timers.advance(250);
    assert.deepEqual(ended, ['wait true', '100', '300']);
    ending.abort();
    await timers.advance(0);
    assert.deepEqual(ended, ['wait true', '100', '300', '400']);
    assert.deepEqual(timers.pending(), []);
  });

  it('ends at once when aborted in a wait, a backoff or a pass, and reports no error then', async () => {
    const waiting = start(async () => 1_000_000);
    await waiting.timers.advance(0);
    waiting.ending.abort();
    await waiting.ended;
    assert.deepEqual(waiting.timers.pending(), []);

    const failing = start(async () => {
      await Promise.resolve();
      failing.ending.abort();
      throw new Error('cut off');
    });
    await failing.ended;
    assert.deepEqual(failing.failures, []);
  });
});

describe('timers that share wake-ups', () => {
  it('of tasks: waits of a second or more end on the nearest whole second, others as they are', () => {
    for (const [ms, now, wait] of [
      [999, 1234, 999],
      [1000, 5000, 1000],
      [1000, 5001, 999],
      [1000, 5499, 501],
      [1000, 5500, 1500],
      [10_000, 700.25, 10_299.75],
    ] as const) {
      assert.equal(toWholeSecond(ms, now), wait, `${ms} from ${now}`);
    }
  });

  it('of loops: waits of a second or more end on the last whole second within them, others as they are', () => {
    for (const [ms, now, wait] of [
      [999, 1234, 999],
      [1000, 5000, 1000],
      [1000, 5001, 999],
      [1000, 5949, 51],
      [1000, 5950, 1050],
      [1000, 4999.7, 1000.3],
      [10_000, 700.25, 9299.75],
    ] as const) {
      assert.ok(Math.abs(withinWholeSecond(ms, now) - wait) < 1e-9, `${ms} from ${now}`);
    }
  });
});

describe('every', () => {
  it('never runs a task twice at once, and goes on after an error', async () => {
    const timers = createManualTimers();
    const errors: unknown[] = [];
    let running = 0;
    let runs = 0;
    let release = (): void => {};
    const repeating = every({
      ms: 10,
      timers,
      onError: (error) => errors.push(error),
      async task() {
        runs++;
        assert.equal(++running, 1);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        running--;
        throw new Error('task');
      },
    });
    await timers.advance(100);
    assert.equal(runs, 1);
    release();
    await timers.advance(10);
    assert.equal(runs, 2);
    assert.equal(errors.length, 1);
    const stopped = repeating.stop();
    release();
    await stopped;
    await timers.advance(100);
    assert.equal(runs, 2);
    assert.equal(errors.length, 1);
  });
});

describe('closeAll', () => {
  it('runs every step in order, and reports every error at the end', async () => {
    const ran: string[] = [];
    const step = (name: string, fault?: string) => async () => {
      ran.push(name);
      if (fault !== undefined) throw new Error(fault);
    };
    await assert.rejects(closeAll([step('a', 'first'), step('b'), step('c', 'second')]), (error) => {
      assert.ok(error instanceof AggregateError);
      assert.deepEqual(
        error.errors.map(({ message }: Error) => message),
        ['first', 'second'],
      );
      return true;
    });
    assert.deepEqual(ran, ['a', 'b', 'c']);
    await closeAll([step('d')]);
  });
});

describe('closeTogether', () => {
  it('starts every step before one has ended, waits for all, and reports every error', async () => {
    const started: string[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isClosed = false;
    const closing = closeTogether([
      async () => {
        started.push('slow');
        await held;
      },
      () => {
        started.push('faulty');
        throw new Error('first');
      },
    ]).finally(() => {
      isClosed = true;
    });
    const outcome = assert.rejects(
      closing,
      (error) => error instanceof AggregateError && error.errors.length === 1,
    );
    await createManualTimers().advance(0);
    assert.deepEqual(started, ['slow', 'faulty']);
    assert.equal(isClosed, false);
    release();
    await outcome;
  });
});
