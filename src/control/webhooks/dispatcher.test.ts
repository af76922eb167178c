import assert from 'node:assert/strict';
import { describe, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
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
import { findRows, updateRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { oldestDueSeconds } from './dispatcher.ts';
import { readHealth } from './health.ts';
import type { AttemptResult } from './send-attempt.ts';

for (const { name, create, skip } of ENGINES) {
  describe(`the dispatcher on ${name}`, { skip }, () => {
    const scenario = (title: string, run: (run: DispatchRun) => Promise<void>): void =>
      dispatchScenario(create, title, run);

    scenario('delivers in ascending order, one at a time', async (run) => {
      const id = await hookOf(run);
      let most = 0;
      run.answer = async () => {
        most = Math.max(most, run.underWay());
        await new Promise((resolve) => setImmediate(resolve));
        return RIGHT;
      };
      run.start();
      await enqueue(run.store, id, 20, run.now);
      await enqueue(run.store, id, 20, run.now, { seq: 21 });
      await delivered(run.store, id, 40);
      assert.deepEqual(
        seqs(run),
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
      assert.equal(most, 1);
      await until('the lease is given back', async () => (await webhookOf(run.store, id)).claim === null);
      const { claimed_until, claimed_delivery, next_due_at, last_triggered_at } = await webhookOf(
        run.store,
        id,
      );
      assert.deepEqual(
        [claimed_until, claimed_delivery, next_due_at, last_triggered_at],
        [0, null, null, run.now],
      );
    });

    scenario('looks for work once a second while units commit that leave none', async (run) => {
      const reads = mock.method(run.store.read, 'execute').mock;
      const searches = (): number =>
        reads.calls.filter((call) => String(call.arguments[0]).includes('as slow')).length;
      run.start();
      await until('the first search', () => searches() === 1);
      await sleep(1_500);
      for (let units = 0; units < 20; units++) {
        await run.store.write(async () => {});
        await sleep(20);
      }
      assert.equal(searches() <= 3, true, `${searches()}`);
    });

    scenario('searches a second after a commit that woke nobody', async (run) => {
      const reads = mock.method(run.store.read, 'execute').mock;
      const searches = (): number =>
        reads.calls.filter((call) => String(call.arguments[0]).includes('as slow')).length;
      const timers = createManualTimers();
      run.start({ timers });
      await until('it waits after the first search', () => timers.pending().includes(1_000));
      await run.store.write(async () => {});
      const before = searches();
      await until('another search', async () => {
        await timers.advance(1_000);
        return searches() > before;
      });
    });

    scenario('a delivery that fails is retried later and does not delay those behind it', async (run) => {
      const id = await hookOf(run);
      run.answer = ({ seq }) => (seq === 1 && run.made.length === 1 ? wrong() : RIGHT);
      const began = run.now;
      run.start();
      await enqueue(run.store, id, 3, began);
      await until(
        'the failure is recorded',
        async () => (await webhookOf(run.store, id)).failure_count === 1,
      );
      run.pass(999);
      assert.deepEqual(seqs(run), [1]);
      run.pass(1);
      await delivered(run.store, id, 2);
      assert.deepEqual(seqs(run), [1, 2, 3]);
      run.pass(4000);
      await delivered(run.store, id, 3);
      assert.deepEqual(
        run.made.map(({ seq, at }) => [seq, at - began]),
        [
          [1, 0],
          [2, 1000],
          [3, 1000],
          [1, 5000],
        ],
      );
      assert.equal(run.made[0]!.deliveryId, run.made[3]!.deliveryId);
      assert.deepEqual(run.made[0]!.body, run.made[3]!.body);
      const [first] = await deliveriesOf(run.store, id);
      assert.deepEqual([first!.attempts, first!.error, first!.body], [2, null, null]);
    });

    scenario('five attempts, and no sixth', async (run) => {
      const id = await hookOf(run);
      run.answer = () => wrong('timeout');
      run.start();
      await enqueue(run.store, id, 1, run.now);
      const at: number[] = [];
      for (const ms of [0, 5000, 300_000, 1_800_000, 7_200_000]) {
        at.push(run.now + ms);
        run.pass(ms);
        await until('an attempt is reported', async () => {
          const { failure_count, claim } = await webhookOf(run.store, id);
          return failure_count === at.length && claim === null;
        });
      }
      run.pass(100_000_000);
      assert.deepEqual(
        run.made.map((one) => one.at),
        at,
      );
      const [row] = await deliveriesOf(run.store, id);
      assert.deepEqual([row!.status, row!.attempts, row!.body], ['failed', 5, null]);
      assert.equal((await webhookOf(run.store, id)).next_due_at, null);
    });

    scenario('a webhook rests longer with each failure, and is disabled at the twentieth', async (run) => {
      const id = await hookOf(run);
      run.answer = () => wrong();
      let disabled = 0;
      const observe = { attempted() {}, ended() {}, arrived() {}, disabled: () => disabled++ };
      run.start({ observe });
      await enqueue(run.store, id, 30, run.now);
      for (let failures = 1; failures <= LIMITS.webhookFailures; failures++) {
        await until(`failure ${failures}`, async () => {
          const { failure_count, claim } = await webhookOf(run.store, id);
          return failure_count === failures && claim === null;
        });
        run.pass(Math.min(60, 2 ** (failures - 1)) * 1000);
      }
      const pauses = run.made.slice(1).map((one, index) => one.at - run.made[index]!.at);
      const expected = [1, 2, 4, 8, 16, 32, ...Array.from({ length: 13 }, () => 60)];
      assert.deepEqual(
        pauses,
        expected.map((seconds) => seconds * 1000),
      );
      const { enabled, notice_due_at, next_due_at, health, ...by } = await webhookOf(run.store, id);
      assert.deepEqual([enabled, next_due_at], [0, null]);
      const last = run.made.at(-1)!.at;
      assert.deepEqual([by.disabled_by, by.disabled_at, by.disabled_user], ['failures', last, null]);
      const { recent, ...told } = readHealth(health);
      assert.deepEqual(told, {
        failingSince: run.made[0]!.at,
        succeededAt: null,
        failedAt: last,
        error: 'http_status',
        responseCode: 500,
      });
      assert.equal(recent.length, LIMITS.webhookFailures);
      assert.equal(notice_due_at, run.made.at(-1)!.at);
      assert.deepEqual(await statusesOf(run.store, id), { failed: 30 });
      await until('it is reported', () => disabled === 1);
      const audited = await findRows(run.store.read, 'audit_log', { where: { action: 'webhook.changed' } });
      assert.deepEqual(
        audited.map(({ actor_kind, object_id }) => [actor_kind, object_id]),
        [['system', id]],
      );
    });

    scenario('a 2xx resets the count of failures', async (run) => {
      const id = await addWebhook(run.store, await addCustomer(run.store), { failure_count: 19 });
      run.start();
      await enqueue(run.store, id, 1, run.now);
      await delivered(run.store, id, 1);
      const { failure_count, enabled, health } = await webhookOf(run.store, id);
      assert.deepEqual([failure_count, enabled], [0, 1]);
      assert.equal(readHealth(health).succeededAt, run.now);
    });

    scenario('a silent endpoint does not delay others', async (run) => {
      const user = await addCustomer(run.store);
      const silent = await addWebhook(run.store, user);
      const others = await Promise.all(Array.from({ length: 10 }, () => addWebhook(run.store, user)));
      run.answer = ({ url }) => (url === urlOf(silent) ? run.silence : RIGHT);
      run.start();
      await enqueue(run.store, silent, 5, run.now);
      await until('it says nothing', () => run.underWay() === 1);
      for (const id of others) await enqueue(run.store, id, 30, run.now);
      for (const id of others) await delivered(run.store, id, 30);
      assert.deepEqual(await statusesOf(run.store, silent), { pending: 5 });
      assert.equal(run.made.filter(({ url }) => url === urlOf(silent)).length, 1);
    });

    scenario('one customer’s silent endpoints leave half of the workers to others', async (run) => {
      const user = await addCustomer(run.store);
      const silent = await Promise.all(Array.from({ length: 100 }, () => addWebhook(run.store, user)));
      const urls = new Set(silent.map(urlOf));
      const good = await hookOf(run, 'other');
      run.answer = ({ url }) => (urls.has(url) ? run.silence : RIGHT);
      for (const id of silent) await enqueue(run.store, id, 1, run.now - 1);
      run.start();
      const most = LIMITS.webhookWorkersPerCustomer + LIMITS.webhookReservedPerCustomer;
      await until('half of the workers are busy', () => run.underWay() === most);
      await enqueue(run.store, good, 100, run.now);
      await delivered(run.store, good, 100);
      assert.equal(run.underWay(), most);
    });

    scenario('has so many under way and no more', async (run) => {
      const ids: string[] = [];
      for (const customer of ['a', 'b', 'c']) {
        const user = await addCustomer(run.store, customer);
        for (let index = 0; index < 4; index++) ids.push(await addWebhook(run.store, user));
      }
      for (const id of ids) await enqueue(run.store, id, 1, run.now);
      let most = 0;
      const answers: PromiseWithResolvers<AttemptResult>[] = [];
      run.answer = () => {
        most = Math.max(most, run.underWay());
        const answer = Promise.withResolvers<AttemptResult>();
        answers.push(answer);
        return answer.promise;
      };
      // A share of two would leave a worker free at the end, when only one customer has deliveries.
      run.start({ workers: 5, perCustomer: 5 });
      // More waits all the time: one too many would have been begun by the time the next attempt ends.
      for (let begun = 5; begun <= ids.length; begun++) {
        await until(`attempt ${begun}`, () => answers.length === begun);
        assert.equal(run.underWay(), 5);
        answers[begun - 5]!.resolve(RIGHT);
      }
      for (const answer of answers) answer.resolve(RIGHT);
      for (const id of ids) await delivered(run.store, id, 1);
      assert.equal(most, 5);
    });

    scenario('a webhook frees its worker while others wait', async (run) => {
      const user = await addCustomer(run.store);
      const busy = await addWebhook(run.store, user);
      const quiet = await addWebhook(run.store, user);
      await enqueue(run.store, busy, 100, run.now);
      await enqueue(run.store, quiet, 1, run.now);
      run.answer = async () => {
        // The busy one is first; the quiet one was served longer ago.
        if (run.made.length === 1) {
          const change = { served_at: run.now - 1 };
          await run.store.write((tx) => updateRows(tx, 'webhooks', change, { id: quiet }));
        }
        return RIGHT;
      };
      await run.store.write((tx) => updateRows(tx, 'webhooks', { served_at: 1 }, { id: quiet }));
      run.start({ workers: 1 });
      await delivered(run.store, busy, 100);
      const index = run.made.findIndex(({ url }) => url === urlOf(quiet));
      assert.ok(index >= 1 && index <= 16, `served after ${index}`);
    });

    scenario('after 600 attempts of an hour the rest is dropped', async (run) => {
      const before = LIMITS.webhookAttemptsPerHour - 20;
      const attempt_minutes = JSON.stringify([[Math.floor(run.now / 60_000) - 30, before]]);
      const id = await addWebhook(run.store, await addCustomer(run.store), { attempt_minutes });
      run.start();
      await enqueue(run.store, id, 20, run.now);
      await delivered(run.store, id, 20);
      await enqueue(run.store, id, 2, run.now, { seq: 21 });
      await until('the rest is dropped', async () => (await statusesOf(run.store, id)).dropped === 2);
      assert.equal(run.made.length, 20);
      assert.equal((await webhookOf(run.store, id)).failure_count, 0);
      run.pass(31 * 60_000);
      await enqueue(run.store, id, 1, run.now, { seq: 23 });
      await delivered(run.store, id, 21);
    });

    scenario('tells what happened', async (run) => {
      const user = await addCustomer(run.store);
      const id = await addWebhook(run.store, user);
      const told: Record<string, number> = {};
      const count = (what: string, by = 1): void => {
        told[what] = (told[what] ?? 0) + by;
      };
      run.answer = ({ seq }) => (seq === 2 ? wrong('timeout') : RIGHT);
      assert.equal(await oldestDueSeconds(run.store, run.now), 0);
      await enqueue(run.store, id, 2, run.now - 3000);
      assert.equal(await oldestDueSeconds(run.store, run.now), 3);
      const dispatcher = run.start({
        schedule: [0],
        observe: {
          attempted: (error, seconds) => count(`attempted ${error} ${seconds}`),
          ended: (status, deliveries) => count(`ended ${status}`, deliveries),
          arrived: (seconds) => count(`arrived ${seconds}`),
          disabled: () => count('disabled'),
        },
      });
      await until('both ended', () => told['ended failed'] === 1);
      await run.store.write((tx) => updateRows(tx, 'customers', { tier: 'free' }));
      await enqueue(run.store, id, 4, run.now, { seq: 3 });
      run.pass(1000);
      await until('the tier was checked', () => told['ended failed'] === 5);
      await dispatcher.stop();
      assert.deepEqual(told, {
        'attempted none 0.001': 1,
        'attempted timeout 0.001': 1,
        'arrived 3': 1,
        'ended succeeded': 1,
        'ended failed': 5,
      });
      assert.equal(await oldestDueSeconds(run.store, run.now), 0);
    });
  });
}
