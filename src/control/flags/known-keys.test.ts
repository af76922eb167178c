import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { openKnownKeys } from './known-keys.ts';

/** A database of keys that counts what it is asked. @param expiresAt of all keys */
function database(expiresAt: number | null = null) {
  const asked: string[] = [];
  let now = 0;
  let isAway = false;
  let end = (): void => {};
  const deleted = new Set<string>();
  const keys = openKnownKeys(
    {
      onWork(_topic, listener) {
        end = listener;
        return () => {};
      },
    },
    () => now,
    async (digest) => {
      asked.push(digest);
      if (isAway) throw new Error('away');
      return deleted.has(digest) ? null : { actor: { customerId: digest } as Actor, expiresAt };
    },
  );
  return {
    keys,
    asked: () => asked.splice(0),
    at: (time: number): void => {
      now = time;
    },
    away: (is: boolean): void => {
      isAway = is;
    },
    remove: (digest: string, isTold = true): void => {
      deleted.add(digest);
      if (isTold) end();
    },
  };
}

describe('known API keys', () => {
  it('are looked up once, again beside their use after five seconds, and at once when one has ended', async () => {
    const { keys, asked, at, remove } = database();
    for (let i = 0; i < 3; i++) assert.equal((await keys.actor('a'))?.customerId, 'a');
    assert.deepEqual(asked(), ['a']);
    at(4_999);
    await keys.actor('a');
    assert.deepEqual(asked(), []);
    at(5_000);
    await Promise.all([keys.actor('a'), keys.actor('a')]);
    assert.deepEqual(asked(), ['a']);
    remove('a');
    assert.equal(await keys.actor('a'), null);
    assert.deepEqual([asked(), keys.beginning('')], [['a'], []]);
  });

  it('go on for an hour while the database is away', async () => {
    const { keys, at, away } = database();
    await keys.actor('a');
    away(true);
    at(LIMITS.flagsWithoutStoreMs);
    assert.equal((await keys.actor('a'))?.customerId, 'a');
    at(LIMITS.flagsWithoutStoreMs + 1);
    await assert.rejects(keys.actor('a'));
    await assert.rejects(keys.actor('b'));
    away(false);
    assert.equal((await keys.actor('a'))?.customerId, 'a');
  });

  it('end at their expiry, of which nobody is told, also while the database is away', async () => {
    for (const isAway of [false, true]) {
      const { keys, at, away, asked } = database(1_000);
      await keys.actor('a');
      away(isAway);
      at(999);
      assert.equal((await keys.actor('a'))?.customerId, 'a');
      assert.deepEqual(keys.beginning('a'), ['a']);
      at(1_000);
      asked();
      assert.deepEqual([await keys.actor('a'), keys.beginning('a'), asked()], [null, [], []]);
    }
    const { keys, at } = database(1_000);
    at(1_000);
    assert.equal(await keys.actor('a'), null, 'its time ended during the lookup');
  });

  it('end within a look although no notice came and the clock was set back, by minutes or by hours', async () => {
    for (const back of [30_000, 2 * LIMITS.flagsWithoutStoreMs]) {
      const { keys, at, remove } = database();
      at(10 * LIMITS.flagsWithoutStoreMs);
      await keys.actor('a');
      remove('a', false);
      at(10 * LIMITS.flagsWithoutStoreMs - back);
      await keys.actor('a');
      await nextTurn();
      assert.equal(await keys.actor('a'), null, String(back));
    }
  });

  it('are bounded: the one that was looked up first goes', async () => {
    const { keys, asked } = database();
    for (let i = 0; i < LIMITS.flagKeys; i++) await keys.actor(`k${i}`);
    asked();
    await keys.actor('k0');
    assert.deepEqual(asked(), []);
    await keys.actor('one more');
    await keys.actor('k1');
    assert.deepEqual(asked(), ['one more']);
    await keys.actor('k0');
    assert.deepEqual(asked(), ['k0']);
  });
});
