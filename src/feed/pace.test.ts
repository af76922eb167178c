import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffMs, createWaker } from './pace.ts';

describe('back-off', () => {
  for (const [failures, ms] of [
    [1, 100],
    [2, 200],
    [7, 6400],
    [8, 10_000],
    [1000, 10_000],
  ] as const) {
    it(`waits ${ms} ms after failure ${failures}`, () => assert.equal(backoffMs(failures), ms));
  }
});

describe('waker', () => {
  it('ends a wait when it is woken', async () => {
    const waker = createWaker();
    const wait = waker.wait(600_000);
    waker.wake();
    assert.equal(await wait, true);
  });

  it('does not wait when it was woken before, until that is forgotten', async () => {
    const waker = createWaker();
    waker.wake();
    assert.equal(await waker.wait(600_000), true);
    waker.reset();
    assert.equal(await waker.wait(1), false);
  });

  it('sleeps through wake-ups, and remembers them', async () => {
    const waker = createWaker();
    let over = false;
    const sleep = waker.sleep(5).then(() => {
      over = true;
    });
    waker.wake();
    await Promise.resolve();
    assert.equal(over, false);
    await sleep;
    assert.equal(await waker.wait(600_000), true);
  });

  it('ends every wait once it is stopped', async () => {
    const waker = createWaker();
    const waits = [waker.sleep(600_000)];
    waker.stop();
    waits.push(waker.sleep(600_000));
    await Promise.all(waits);
    assert.equal(await waker.wait(600_000), false);
  });
});
