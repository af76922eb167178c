import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import type { WaitingWebhook } from '../../store/webhooks/dispatch.ts';
import { assignWorkers, createWorkerPools, type PoolName, type WorkerPools } from './fair-share.ts';

function poolsOf(workers: number, reserved: number, general = workers, reserve = 2): WorkerPools {
  return createWorkerPools({ workers, reserved, perCustomer: { general, reserve } });
}

/** `a1:50`: the first webhook of customer a, served at 50. */
function hooks(text: string): WaitingWebhook[] {
  return text.split(' ').flatMap((one) => {
    const [id = '', servedAt = 0] = one.split(':');
    return id === '' ? [] : [{ id, customer_id: id.slice(0, 1), served_at: Number(servedAt) }];
  });
}

describe('the next assignments', () => {
  const TABLE: readonly [title: string, fast: string, slow: string, WorkerPools, limit: number, string][] = [
    ['of one customer go by time', 'a1:3 a2:1 a3:2', '', poolsOf(4, 0), 9, 'a2 a3 a1'],
    ['go by customer, then by time', 'a1:1 a2:2 a3:3 b1:9', '', poolsOf(6, 0), 9, 'a1 b1 a2 a3'],
    ['are no more than asked for', 'a1:1 a2:2 b1:9', '', poolsOf(4, 0), 2, 'a1 b1'],
    ['are at most as many as workers', 'a1:1 a2:2 b1:9', '', poolsOf(2, 0), 9, 'a1 b1'],
    [
      'of two customers are half of the workers each',
      'a1 a2 a3 a4',
      'b1 b2 b3',
      poolsOf(4, 0),
      9,
      'a1 b1 a2 b2',
    ],
    ['of one customer are bounded', 'a1 a2 a3', '', poolsOf(4, 0, 2), 9, 'a1 a2'],
    ['of slow webhooks leave the reserve alone', '', 'a1 a2 b1 b2', poolsOf(4, 2), 9, 'a1 b1'],
    ['of fast webhooks use the reserve last', 'a1:1 b1:2 c1:3 d1:4', '', poolsOf(4, 2), 9, 'a1 b1 c1* d1*'],
    ['use the reserve past slow ones of the same customer', 'a3:9', 'a1:1 a2:2', poolsOf(3, 2), 9, 'a1 a3*'],
    ['of one customer in the reserve are bounded', 'a1 a2 a3 a4 a5', '', poolsOf(5, 4), 9, 'a1 a2* a3*'],
  ];
  for (const [title, fast, slow, pools, limit, expected] of TABLE) {
    it(title, () => {
      const planned = assignWorkers({ fast: hooks(fast), slow: hooks(slow) }, pools, limit);
      assert.equal(planned.map(({ id, pool }) => (pool === 'reserve' ? `${id}*` : id)).join(' '), expected);
    });
  }

  it('count the workers that a customer has already', () => {
    const pools = poolsOf(6, 0);
    for (let index = 0; index < 3; index++) pools.occupy('a', 'general');
    const planned = assignWorkers({ fast: hooks('a1 a2 b1 b2 b3'), slow: [] }, pools, 9);
    assert.deepEqual(
      planned.map(({ id }) => id),
      ['b1', 'b2', 'b3'],
    );
    pools.release('a', 'general');
    assert.deepEqual([pools.busy(), pools.free('general'), pools.busyFor('a', 'general')], [2, 4, 2]);
  });
});

interface Hook {
  readonly id: string;
  readonly customerId: string;
  readonly attemptMs: number;
  servedAt: number;
  lastMs: number | null;
  waiting: number;
  isBusy: boolean;
}

/** Milliseconds that each delivery of the victim waited and took, in a simulation with the limits of the product. */
function simulate(attackers: number): number[] {
  const pools = createWorkerPools({
    workers: LIMITS.webhookWorkers,
    reserved: LIMITS.webhookWorkersReserved,
    perCustomer: { general: LIMITS.webhookWorkersPerCustomer, reserve: LIMITS.webhookReservedPerCustomer },
  });
  const all: Hook[] = [];
  const add = (customerId: string, id: string, attemptMs: number, waiting: number): Hook => {
    const hook = { id, customerId, attemptMs, servedAt: 0, lastMs: null, waiting, isBusy: false };
    all.push(hook);
    return hook;
  };
  for (let a = 0; a < attackers; a++) {
    for (let n = 0; n < 100; n++) add(`attacker ${a}`, `${a}-${String(n).padStart(3, '0')}`, 4900, 1000);
  }
  const victim = add('victim', 'v', 20, 0);
  const ends: { readonly at: number; readonly hook: Hook; readonly pool: PoolName }[] = [];
  const enqueuedAt: number[] = [];
  const delays: number[] = [];
  for (let now = 0; now <= 40_000; now += 20) {
    for (const end of ends.splice(0)) {
      if (end.at > now) {
        ends.push(end);
        continue;
      }
      const { hook, pool } = end;
      pools.release(hook.customerId, pool);
      Object.assign(hook, { isBusy: false, lastMs: hook.attemptMs, servedAt: now });
      hook.waiting--;
      if (hook === victim) delays.push(now - (enqueuedAt.shift() ?? 0));
    }
    // The victim's first event comes when the attackers have all workers that they can get.
    if (now >= 1000 && now < 31_000 && now % 1500 === 0) {
      victim.waiting++;
      enqueuedAt.push(now);
    }
    const waiting = (isSlow: boolean): WaitingWebhook[] =>
      all
        .filter(({ waiting: count, isBusy }) => count > 0 && !isBusy)
        .filter(({ lastMs }) => (lastMs !== null && lastMs >= LIMITS.webhookFastMs) === isSlow)
        .map(({ id, customerId, servedAt }) => ({ id, customer_id: customerId, served_at: servedAt }));
    for (const { id, customerId, pool } of assignWorkers(
      { fast: waiting(false), slow: waiting(true) },
      pools,
      64,
    )) {
      const hook = all.find((one) => one.id === id)!;
      hook.isBusy = true;
      pools.occupy(customerId, pool);
      ends.push({ at: now + hook.attemptMs, hook, pool });
    }
  }
  return delays;
}

describe('endpoints that answer after 4.9 seconds', () => {
  for (const attackers of [0, 1, 2, 4]) {
    it(`of ${attackers} customers with 100 webhooks each do not delay a fast one`, () => {
      const delays = simulate(attackers);
      assert.equal(delays.length, 20);
      assert.ok(Math.max(...delays) <= 20, `one took ${Math.max(...delays)} ms`);
    });
  }

  it('of ten customers, who fill the reserve too, delay it by one attempt at most', () => {
    const delays = simulate(10);
    assert.equal(delays.length, 20);
    assert.ok(Math.max(...delays) <= 4920, `one took ${Math.max(...delays)} ms`);
  });
});
