import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { LeaderLease, LeaderLock } from '../../../src/feed/ports/feed-store.ts';

export interface LockWorld {
  /** What one process sees of the lock. */
  of(name: string): LeaderLock;
  /** Takes the lock away from its holder, who learns of it; null where nothing can do that. */
  readonly revoke: (() => Promise<void>) | null;
  close(): Promise<void>;
}

/** Every implementation of `LeaderLock`. */
export function leaderLockSuite(
  name: string,
  open: () => Promise<LockWorld>,
  skip: string | null = null,
): void {
  describe(`leader lock: ${name}`, { skip: skip ?? false }, () => {
    let world: LockWorld;
    before(async () => {
      world = await open();
    });
    after(() => world.close());
    const acquire = (who: string, signal = new AbortController().signal): Promise<LeaderLease> =>
      world.of(who).acquire(signal);
    /** Whether it is settled after a process that asks later has been served or has given up. */
    const settled = async (lease: Promise<LeaderLease>): Promise<boolean> => {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      lease.then(settle, settle);
      const giveUp = new AbortController();
      const later = assert.rejects(acquire('later', giveUp.signal));
      setImmediate(() => giveUp.abort());
      await later;
      return isSettled;
    };

    it('has one holder at a time, and goes to the next when it is released', async () => {
      const first = await acquire('a');
      const second = acquire('b');
      assert.equal(await settled(second), false);
      assert.equal(first.lost.aborted, false);
      await first.release();
      const held = await second;
      // A release that comes twice takes nothing from the next holder.
      await first.release();
      const third = acquire('a');
      assert.equal(await settled(third), false);
      await held.release();
      await (await third).release();
    });

    it('is not given to a process that has stopped waiting', async () => {
      const first = await acquire('a');
      const giveUp = new AbortController();
      const waiting = acquire('b', giveUp.signal);
      giveUp.abort();
      await assert.rejects(waiting);
      await assert.rejects(acquire('b', giveUp.signal));
      await first.release();
      const next = await acquire('c');
      assert.equal(next.lost.aborted, false);
      await next.release();
    });

    it('that is taken away is told to its holder, and free for others', async (t) => {
      if (world.revoke === null) return t.skip('nothing can take this lock away');
      const first = await acquire('a');
      const second = acquire('b');
      const isLost = new Promise<void>((resolve) =>
        first.lost.addEventListener('abort', () => resolve(), { once: true }),
      );
      await world.revoke();
      await isLost;
      await first.release();
      await (await second).release();
    });
  });
}
