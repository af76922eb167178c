import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { deleteRows, findRows } from '../../test/support/store/rows.ts';
import { AppError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { CHALLENGE_LIFE, sweepChallenges, useChallenge } from '../control/passkeys/challenges.ts';
import { insertUser } from './accounts.ts';
import type { Store } from './store.ts';

const NOW = Date.UTC(2026, 0, 1);
const challenge = (name: string | number, expiresAt = NOW + CHALLENGE_LIFE) => ({
  digest: createHash('sha256').update(String(name)).digest('hex'),
  expiresAt,
});

async function newUser(store: Store): Promise<string> {
  const id = randomUUID();
  const user = { id, email: `${id}@example.org`, role: 'user', created_at: NOW } as const;
  await store.write((tx) => insertUser(tx, user, 'free'));
  return id;
}

/** Used challenges of passkeys. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('used challenges', () => {
    scenario('of two processes that use a challenge together, one may', async (store, open) => {
      const userId = await newUser(store);
      const other = await open();
      const used = await Promise.all(
        [store, other].map((it) => it.write((tx) => useChallenge(tx, challenge('x'), userId, NOW))),
      );
      assert.equal(used.filter((isUsed) => isUsed).length, 1);
    });

    scenario('a challenge that has ended by the time of its use is void', async (store) => {
      const userId = await newUser(store);
      const use = (now: number): Promise<boolean> =>
        store.write((tx) => useChallenge(tx, challenge('x'), userId, now));
      assert.equal(await use(NOW + CHALLENGE_LIFE), false);
      assert.equal(await use(NOW + CHALLENGE_LIFE - 1), true);
    });

    scenario('a user uses at most 100 in five minutes; others are not delayed', async (store) => {
      const [userId, other] = [await newUser(store), await newUser(store)];
      const use = (name: string | number, user: string, now = NOW): Promise<boolean> =>
        store.write((tx) => useChallenge(tx, challenge(name, now + CHALLENGE_LIFE), user, now));
      for (let i = 0; i < LIMITS.passkeyChallengesPerUser; i++) assert.equal(await use(i, userId), true);
      await assert.rejects(use('more', userId), (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, 'rate_limit_exceeded');
        assert.equal(error.retryAfter, 300);
        return true;
      });
      assert.equal(await use('other', other), true);
      assert.equal(await use('later', userId, NOW + CHALLENGE_LIFE), true);
    });

    scenario('those that ended a minute ago are deleted, and no others', async (store) => {
      const userId = await newUser(store);
      const ends = [NOW + 1, NOW + 60_000, NOW + 60_001];
      for (const end of ends) await store.write((tx) => useChallenge(tx, challenge(end, end), userId, NOW));
      await sweepChallenges({ store, clock: () => NOW + 120_000 });
      const left = await findRows(store.read, 'used_challenges', { columns: ['expires_at'] });
      assert.deepEqual(
        left.map((row) => row.expires_at),
        [NOW + 60_001],
      );
    });

    scenario('they go with their user', async (store) => {
      const userId = await newUser(store);
      await store.write(async (tx) => {
        await useChallenge(tx, challenge('x'), userId, NOW);
        await deleteRows(tx, 'users', { id: userId });
      });
      assert.deepEqual(await findRows(store.read, 'used_challenges'), []);
    });
  });
});
