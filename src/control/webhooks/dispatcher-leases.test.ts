import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  type DispatchRun,
  delivered,
  dispatchScenario,
  hookOf,
  RIGHT,
  seqs,
  urlOf,
  wrong,
} from '../../../test/support/control/webhooks/dispatch-run.ts';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  ENGINES,
  enqueue,
  statusesOf,
  until,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { deleteRows, updateRows } from '../../../test/support/store/rows.ts';
import type { Store } from '../../store/store.ts';
import { claimAttempts, giveBackClaim } from './attempts.ts';
import { AttemptInterruptedError, type AttemptResult } from './send-attempt.ts';

for (const { name, create, skip } of ENGINES) {
  describe(`leases of the dispatcher on ${name}`, { skip }, () => {
    const scenario = (title: string, run: (run: DispatchRun) => Promise<void>): void =>
      dispatchScenario(create, title, run);

    // On SQLite one process dispatches.
    if (name === 'PostgreSQL') {
      scenario('two at once deliver each once', async (run) => {
        const user = await addCustomer(run.store);
        const ids = await Promise.all(Array.from({ length: 8 }, () => addWebhook(run.store, user)));
        const other = await run.open(() => run.now);
        const under = new Map<string, number>();
        run.answer = async ({ url }) => {
          const now = (under.get(url) ?? 0) + 1;
          assert.equal(now, 1, 'two under way of one webhook');
          under.set(url, now);
          await new Promise((resolve) => setImmediate(resolve));
          under.set(url, 0);
          return RIGHT;
        };
        run.start({ perCustomer: 2 });
        run.start({ store: other, perCustomer: 2 });
        for (const id of ids) await enqueue(run.store, id, 25, run.now);
        for (const id of ids) await delivered(run.store, id, 25);
        assert.equal(run.made.length, 200);
        assert.equal(new Set(run.made.map((one) => one.deliveryId)).size, 200);
      });
    }

    if (name === 'PostgreSQL') {
      scenario('a claim whose commit is under way is waited for, and given back', async (run) => {
        const id = await hookOf(run);
        await enqueue(run.store, id, 1, run.now);
        const rules = { now: run.now, leaseMs: 40_000, schedule: [0], claim: 'lost', ids: [id] };
        const begun = Promise.withResolvers<void>();
        const commit = Promise.withResolvers<void>();
        const claiming = run.store.write(async (tx) => {
          await claimAttempts(tx, rules);
          begun.resolve();
          await commit.promise;
        });
        await begun.promise;
        const other = await run.open(() => run.now);
        const giving = other.write((tx) => giveBackClaim(tx, 'lost', [id], run.now));
        // Long enough for a statement that does not wait.
        await Promise.race([giving, new Promise((resolve) => setTimeout(resolve, 200))]);
        commit.resolve();
        await Promise.all([claiming, giving]);
        const { claim, claimed_until } = await webhookOf(run.store, id);
        assert.deepEqual([claim, claimed_until], [null, 0]);
        assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 0);
      });
    }

    scenario('told to stop it ends what it is at and begins nothing', async (run) => {
      const user = await addCustomer(run.store);
      const ids = [await addWebhook(run.store, user), await addWebhook(run.store, user)] as const;
      const answers = Promise.withResolvers<AttemptResult>();
      run.answer = () => answers.promise;
      for (const id of ids) await enqueue(run.store, id, 3, run.now);
      const first = run.start();
      await until('both are under way', () => run.underWay() === 2);
      const stopped = first.stop();
      answers.resolve(RIGHT);
      await stopped;
      assert.equal(run.made.length, 2);
      for (const id of ids) {
        assert.deepEqual(await statusesOf(run.store, id), { succeeded: 1, pending: 2 });
        const { claim, claimed_until, next_due_at } = await webhookOf(run.store, id);
        assert.deepEqual([claim, claimed_until, next_due_at], [null, 0, run.now]);
      }
      run.answer = () => RIGHT;
      run.start();
      for (const id of ids) await delivered(run.store, id, 3);
      assert.equal(run.made.length, 6);
    });

    scenario('what a dead process had under way is delivered by the next, under the same id', async (run) => {
      const id = await hookOf(run);
      const quiet = Promise.withResolvers<AttemptResult>();
      run.answer = () => quiet.promise;
      const deadStore = await run.open(() => run.now);
      // It claims, and nothing that it writes later arrives.
      const grave = Promise.withResolvers<never>();
      grave.promise.catch(() => {});
      let writes = deadStore.engine === 'sqlite' ? 2 : 1;
      const dying: Store = {
        ...deadStore,
        write: (work) => (writes-- > 0 ? deadStore.write(work) : grave.promise),
      };
      const abandoned = run.start({ store: dying });
      await enqueue(run.store, id, 2, run.now);
      abandoned.wake();
      await until('it is under way', () => run.underWay() === 1);
      run.answer = () => RIGHT;
      let asked = 0;
      const clock = (): number => {
        asked++;
        return run.now;
      };
      run.start({ clock });
      if (run.store.engine === 'postgres') {
        run.pass(14_999);
        const before = asked;
        // A look asks for the time once or twice: with three more, one has come to its end.
        await until('it has looked', () => {
          run.pass(0);
          return asked >= before + 3;
        });
        assert.equal(run.made.length, 1);
        run.pass(1);
      }
      await delivered(run.store, id, 2);
      assert.deepEqual(seqs(run).slice(0, 2), [1, 1]);
      assert.equal(run.made[0]!.deliveryId, run.made[1]!.deliveryId);
      assert.deepEqual(run.made[0]!.body, run.made[1]!.body);
      assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 2);
      const stopped = abandoned.stop();
      quiet.resolve(RIGHT);
      grave.reject(new Error('dead'));
      await stopped;
      run.faults.splice(0);
    });

    scenario('new secret and new url hold for what waits already', async (run) => {
      const id = await hookOf(run);
      run.answer = () => (run.made.length === 1 ? wrong() : RIGHT);
      run.start();
      await enqueue(run.store, id, 1, run.now);
      await until('it failed', async () => (await webhookOf(run.store, id)).failure_count === 1);
      const change = { url: 'https://new.test/', signing_secret: Buffer.from('new secret') };
      await run.store.write((tx) => updateRows(tx, 'webhooks', change));
      run.pass(5000);
      await delivered(run.store, id, 1);
      assert.deepEqual(
        run.made.map((one) => [one.url, one.signingSecret]),
        [
          [urlOf(id), `secret of ${id}`],
          ['https://new.test/', 'new secret'],
        ],
      );
    });

    scenario('a webhook deleted under way is forgotten', async (run) => {
      const id = await hookOf(run);
      const other = await hookOf(run, 'other');
      const answers = Promise.withResolvers<AttemptResult>();
      run.answer = ({ url }) => (url === urlOf(id) ? answers.promise : RIGHT);
      run.start({ workers: 1 });
      await enqueue(run.store, id, 3, run.now);
      await until('it is under way', () => run.underWay() === 1);
      await run.store.write((tx) => deleteRows(tx, 'webhooks', { id }));
      answers.resolve(wrong());
      await enqueue(run.store, other, 1, run.now);
      await delivered(run.store, other, 1);
      assert.equal(run.made.length, 2);
    });

    scenario('a secret that cannot be decrypted is our fault: nothing is sent or counted', async (run) => {
      const id = await hookOf(run);
      let broken = true;
      const decrypt = (): string => {
        if (broken) throw new Error('encrypted under another key');
        return 'the secret';
      };
      run.start({ encryption: { decrypt } });
      await enqueue(run.store, id, 1, run.now);
      await until('a fault is reported', () => run.faults.length === 1);
      await until('it rests', async () => (await webhookOf(run.store, id)).rests_until === run.now + 60_000);
      const { failure_count, claim } = await webhookOf(run.store, id);
      assert.deepEqual([failure_count, claim, run.made.length], [0, null, 0]);
      assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 0);
      assert.match(String(run.faults.pop()), /another key/);
      broken = false;
      run.pass(60_000);
      await delivered(run.store, id, 1);
    });

    scenario(
      'an attempt during which our own thread ended counts for nothing and is repeated',
      async (run) => {
        const id = await hookOf(run);
        run.answer = () => {
          if (run.made.length <= 2) throw new AttemptInterruptedError();
          return RIGHT;
        };
        run.start();
        await enqueue(run.store, id, 1, run.now);
        for (const [interruptions, rest] of [
          [1, 1000],
          [2, 2000],
        ] as const) {
          await until(
            'it rests',
            async () => (await webhookOf(run.store, id)).rests_until === run.now + rest,
          );
          const { failure_count, claim } = await webhookOf(run.store, id);
          assert.deepEqual([run.made.length, failure_count, claim], [interruptions, 0, null]);
          assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 0);
          run.pass(rest);
        }
        await delivered(run.store, id, 1);
        assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 1);
      },
    );

    scenario('a lost database is reported once, and used again when it is back', async (run) => {
      const id = await hookOf(run);
      let isGone = false;
      let refused = 0;
      const fragile: Store = {
        ...run.store,
        write: (work) => {
          if (!isGone) return run.store.write(work);
          refused++;
          return Promise.reject(new Error('gone'));
        },
      };
      const settling = Promise.withResolvers<AttemptResult>();
      run.answer = () => (run.made.length === 1 ? settling.promise : RIGHT);
      const dispatcher = run.start({ store: fragile });
      await enqueue(run.store, id, 2, run.now);
      const other = await hookOf(run, 'other');
      await until('an attempt is under way', () => run.underWay() === 1);
      isGone = true;
      await enqueue(run.store, other, 1, run.now);
      settling.resolve(RIGHT);
      // Both the look for more and the settling of the attempt are refused, several times each.
      await until('it was refused', () => {
        dispatcher.wake();
        return refused >= 6;
      });
      assert.deepEqual([run.faults.length, run.made.length], [1, 1]);
      isGone = false;
      run.pass(0);
      await delivered(run.store, id, 2);
      await delivered(run.store, other, 1);
      assert.equal(new Set(run.made.map((one) => one.deliveryId)).size, run.made.length);
      assert.equal(run.faults.splice(0).length, 1);
    });

    scenario(
      'a claim whose answer was lost is given back, uncounted and in order (seed 396177500)',
      async (run) => {
        const id = await hookOf(run);
        const hour = 3_600_000;
        let isAhead = true;
        const forgetful: Store = {
          ...run.store,
          async write(work) {
            const done = await run.store.write(work);
            const { claim } = await webhookOf(run.store, id);
            if (claim === null || !isAhead) return done;
            assert.equal((await deliveriesOf(run.store, id))[0]!.attempts, 1);
            isAhead = false;
            throw new Error('the connection is lost');
          },
        };
        await enqueue(run.store, id, 3, run.now);
        run.start({ store: forgetful, clock: () => run.now + (isAhead ? hour : 0) });
        await delivered(run.store, id, 3);
        assert.deepEqual(seqs(run), [1, 2, 3]);
        assert.ok((await deliveriesOf(run.store, id)).every(({ attempts }) => attempts === 1));
        assert.equal(run.faults.splice(0).length, 1);
      },
    );

    scenario('a database that fails for a while is asked again, and nothing is sent twice', async (run) => {
      const id = await hookOf(run);
      let failing = 0;
      const flaky: Store = {
        ...run.store,
        write: (work) => (failing-- > 0 ? Promise.reject(new Error('down')) : run.store.write(work)),
      };
      run.answer = () => {
        failing = run.made.length === 1 ? 3 : 0;
        return RIGHT;
      };
      run.start({ store: flaky });
      await enqueue(run.store, id, 3, run.now);
      await delivered(run.store, id, 3);
      assert.deepEqual(seqs(run), [1, 2, 3]);
      assert.equal(run.faults.splice(0).length, 1);
      failing = 1;
      await enqueue(run.store, id, 1, run.now, { seq: 4 });
      await delivered(run.store, id, 4);
      assert.equal(run.faults.splice(0).length, 1);
    });
  });
}
