import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe } from 'node:test';
import {
  type DispatchRun,
  delivered,
  dispatchScenario,
  hookOf,
  RIGHT,
  urlOf,
} from '../../../test/support/control/webhooks/dispatch-run.ts';
import {
  addCustomer,
  addWebhook,
  ENGINES,
  enqueue,
  enqueueIn,
  until,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { insertRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import type { AttemptResult } from './send-attempt.ts';

const SLOW_MS = 4900;
const SLOW: AttemptResult = { ...RIGHT, durationMs: SLOW_MS };
const FAST: AttemptResult = { ...RIGHT, durationMs: 20 };
const GENERAL = LIMITS.webhookWorkers - LIMITS.webhookWorkersReserved;

/** A customer with 100 webhooks that all have ten events waiting. */
async function addAttacker(store: Store, name: string, at: number): Promise<string[]> {
  const user = await addCustomer(store, name, 'enterprise');
  const first = await addWebhook(store, user);
  const copy = await webhookOf(store, first);
  const ids = [first, ...Array.from({ length: 99 }, () => randomUUID())];
  await store.write(async (tx) => {
    const others = ids.slice(1).map((id) => ({ ...copy, id, url: urlOf(id) }));
    await insertRows(tx, 'webhooks', others);
    for (const id of ids) await enqueueIn(tx, id, 10, at);
  });
  return ids;
}

for (const { name, create, skip } of ENGINES) {
  describe(`slow endpoints before the dispatcher on ${name}`, { skip }, () => {
    for (const attackers of [2, 4]) {
      const title = `of ${attackers} customers with 100 webhooks each delay a fast one not at all`;
      dispatchScenario(create, title, async (run: DispatchRun) => {
        const slow = new Set<string>();
        for (let a = 0; a < attackers; a++) {
          for (const id of await addAttacker(run.store, `attacker${a}`, run.now - 1000)) slow.add(urlOf(id));
        }
        const victim = await hookOf(run, 'victim');
        const underWay = new Set<PromiseWithResolvers<AttemptResult>>();
        run.answer = ({ url }) => {
          if (!slow.has(url)) return FAST;
          const answer = Promise.withResolvers<AttemptResult>();
          underWay.add(answer);
          return Promise.race([answer.promise, run.silence]);
        };
        run.start();
        const most = GENERAL + attackers * LIMITS.webhookReservedPerCustomer;
        for (let round = 0; round < 3; round++) {
          await until(`${most} of them in round ${round}`, () => underWay.size === most);
          const before = run.made.length;
          for (let event = 1; event <= 5; event++) {
            await enqueue(run.store, victim, 1, run.now, { seq: round * 5 + event });
            // None of the slow attempts ends meanwhile: what is delivered now waited for none of them.
            await delivered(run.store, victim, round * 5 + event);
          }
          assert.equal(run.made.length, before + 5);
          assert.equal(underWay.size, most);
          run.pass(SLOW_MS);
          for (const answer of [...underWay]) {
            underWay.delete(answer);
            answer.resolve(SLOW);
          }
        }
        await until('they have them again', () => underWay.size === most);
      });
    }
  });
}
