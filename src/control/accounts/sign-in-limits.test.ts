import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codeFor, newEmail, refused, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Answer, assertFailure, openWorld } from '../../../test/support/http/world.ts';
import { unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { memoryLimiter } from '../../http/limiter.ts';
import { type Draw, slowingFailures, takeAll } from './sign-in-budgets.ts';

const MINUTE = 60_000;
const limited = { limiter: (clock: () => number) => memoryLimiter(clock) };

apiScenarios('sign-in, limits', {
  'limits of sign_in: five a minute from an address; for a mail address three in 15 minutes and ten a day from a network, twelve and 30 from all':
    async (store) => {
      const world = await openWorld(store, { ...limited, trustedProxies: ['127.0.0.1'] });
      const ask = (email: string, from: string) =>
        world.caller(null).send('POST', '/auth/sign_in', { email }, { 'x-forwarded-for': from });
      const waits = (answer: Answer, seconds: number): void => {
        assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
        assert.equal(answer.headers['retry-after'], String(seconds));
      };
      for (let i = 0; i < 5; i++) assert.equal((await ask(newEmail(), '192.0.2.1')).status, 202);
      waits(await ask(newEmail(), '192.0.2.1'), 60);
      world.advance(MINUTE);
      assert.equal((await ask(newEmail(), '192.0.2.1')).status, 202);
      const known = newEmail();
      assert.equal((await verify(world, known, await codeFor(world, known))).status, 200);
      world.advance(24 * 60 * MINUTE);
      for (const email of [known, newEmail()]) {
        // Of a subscriber with an IPv6 /48 each /64 is the same network.
        for (const site of ['2001:db8:1', '2001:db8:2', '2001:db8:3', '2001:db8:4']) {
          for (let i = 0; i < 3; i++) assert.equal((await ask(email, `${site}:${i}::1`)).status, 202);
          waits(await ask(email.toUpperCase(), `${site}:9::1`), 900);
        }
        waits(await ask(email, '2001:db8:5::1'), 900);
        assert.equal((await ask(newEmail(), '2001:db8:5::1')).status, 202);
        world.advance(15 * MINUTE);
      }
      // 12 of the day are used: one network has seven more, and all have 30.
      const [other, day] = [newEmail(), 24 * 60 * MINUTE];
      for (let i = 0; i < 10; i++) {
        assert.equal((await ask(other, '203.0.113.1')).status, 202, String(i));
        if (i % 3 === 2) world.advance(15 * MINUTE);
      }
      waits(await ask(other, '203.0.113.1'), (day - 45 * MINUTE) / 1000);
      for (let i = 0; i < 20; i++) {
        if (i % 3 === 0) world.advance(15 * MINUTE);
        assert.equal((await ask(other, `203.0.113.${10 + Math.floor(i / 3)}`)).status, 202, String(i));
      }
      waits(await ask(other, '203.0.113.99'), (day - 150 * MINUTE) / 1000);
      await world.close();
    },

  'limits of verify without a flow: ten a minute, of failures ten an hour from a network and 30 a day for a mail address':
    async (store) => {
      const world = await openWorld(store, { ...limited, trustedProxies: ['127.0.0.1'] });
      const tryOne = (email: string, code: string, from: string) =>
        world.caller(null).send('POST', '/auth/verify', { email, code }, { 'x-forwarded-for': from });
      const fail = async (email: string, from: string): Promise<string> => {
        const answer = await tryOne(email, '000000', from);
        if (answer.status !== 429) refused(answer);
        return answer.status === 429 ? String(answer.headers['retry-after']) : 'refused';
      };
      const one = '198.51.100.1';
      for (let i = 0; i < 10; i++) assert.equal(await fail(newEmail(), one), 'refused');
      assert.equal(await fail(newEmail(), one), '60');
      world.advance(MINUTE);
      assert.equal(await fail(newEmail(), one), String(60 * 59));
      world.advance(59 * MINUTE);
      assert.equal(await fail(newEmail(), one), 'refused');
      // The mail address, from many networks; another one is not slowed.
      const email = newEmail();
      for (let i = 0; i < 30; i++) assert.equal(await fail(email, `203.0.113.${i}`), 'refused');
      assert.equal(await fail(email, '203.0.113.50'), String(24 * 3600));
      assert.equal(await fail(newEmail(), '203.0.113.50'), 'refused');
      // A right code costs nothing of either budget.
      world.advance(24 * 60 * MINUTE);
      for (let round = 0; round < 12; round++) {
        const code = await codeFor(world, email);
        assert.equal((await tryOne(email, code, '203.0.113.60')).status, 200);
        world.advance(180 * MINUTE);
      }
      await world.close();
    },
});

describe('sign-in, budgets that are drawn one after the other', () => {
  it('are whole again after a right code, and after a draw that is refused (over PostgreSQL the first one of a period stayed)', async () => {
    let time = 0;
    const clock = (): number => time++;
    const limiter = memoryLimiter(clock);
    const budgets: readonly Draw[] = [
      ['failedSignIns', 'network'],
      ['failedSignInsDaily', 'network'],
    ];
    const used = (): number[] =>
      budgets.flatMap(([budget, key]) => limiter.used(budget, key).map((period) => period.used));
    await slowingFailures({ limiter, clock }, budgets, async () => 'session');
    assert.deepEqual(used(), [0, 0]);
    for (let i = 0; i < LIMITS.signInsPerMinute; i++) limiter.take('signIns', 'full');
    await assert.rejects(takeAll({ limiter, clock }, [...budgets, ['signIns', 'full']]), /Rate limit/);
    assert.deepEqual(used(), [0, 0]);
    const fails = async () => {
      throw unauthenticated('Code is not valid');
    };
    await assert.rejects(slowingFailures({ limiter, clock }, budgets, fails), /Code is not valid/);
    assert.deepEqual(used(), [1, 1]);
  });
});
