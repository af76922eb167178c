import assert from 'node:assert/strict';
import { newEmail } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { limiterOf } from '../../../test/support/http/server-parts.ts';
import { type Answer, assertFailure, openWorld, type World } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { memoryLimiter } from '../../http/limiter.ts';

const limited = { limiter: limiterOf, trustedProxies: ['127.0.0.1'] };
const MINUTE = 60_000;
const { signInsPer48, verificationsPer48, failedSignInsPerHourPer48, failedSignInsPerDayPer48 } = LIMITS;

/** An address in a /64 of its own, of one /48. */
function addressOf(subnet: number, site = '2001:db8:1'): string {
  return `${site}:${subnet.toString(16)}::1`;
}

function sendFrom(world: World, from: string, path: string, body: object): Promise<Answer> {
  return world.caller(null).send('POST', path, body, { 'x-forwarded-for': from });
}

function assertWait(answer: Answer, seconds: number): void {
  assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
  assert.equal(answer.headers['retry-after'], String(seconds));
}

/** The limit of a /48 is drawn on from many /64s; another /48 and IPv4 are not affected. */
async function assertSiteLimit(
  world: World,
  limit: number,
  status: number,
  send: (from: string) => Promise<Answer>,
): Promise<void> {
  for (let i = 0; i < limit; i++) assert.equal((await send(addressOf(i))).status, status, String(i));
  assertWait(await send(addressOf(limit)), 60);
  assert.equal((await send(addressOf(0, '2001:db8:2'))).status, status);
  assert.equal((await send('192.0.2.1')).status, status);
  world.advance(MINUTE - 1);
  assertWait(await send(addressOf(limit)), 1);
  world.advance(1);
  assert.equal((await send(addressOf(limit))).status, status);
}

apiScenarios('sign-in, networks', {
  'sign-in codes asked for: 50 a minute of an IPv6 /48, whatever its /64': async (store) => {
    const world = await openWorld(store, limited);
    const ask = (from: string) => sendFrom(world, from, '/auth/sign_in', { email: newEmail() });
    await assertSiteLimit(world, signInsPer48, 202, ask);
    // What the /48 refuses does not count for the /64, and the other way round.
    world.advance(MINUTE);
    const own = addressOf(7);
    for (let i = 0; i < LIMITS.signInsPerMinute; i++) assert.equal((await ask(own)).status, 202);
    for (let i = 0; i < signInsPer48; i++) assertWait(await ask(own), 60);
    for (let i = LIMITS.signInsPerMinute; i < signInsPer48; i++) {
      assert.equal((await ask(addressOf(100 + i))).status, 202);
    }
    assertWait(await ask(addressOf(1)), 60);
    await world.close();
  },

  'tries of a code: 100 a minute of an IPv6 /48, and 200 failures an hour': async (store) => {
    const world = await openWorld(store, limited);
    const fail = (from: string) =>
      sendFrom(world, from, '/auth/verify', { email: newEmail(), code: '000000', flow: 'A'.repeat(22) });
    await assertSiteLimit(world, verificationsPer48, 401, fail);
    world.advance(MINUTE);
    for (let i = verificationsPer48 + 1; i < failedSignInsPerHourPer48; i++) {
      assert.equal((await fail(addressOf(i))).status, 401, String(i));
    }
    assertWait(await fail(addressOf(5)), 58 * 60);
    await world.close();
  },

  'tries of a code without a flow: 100 failures an hour of an IPv6 /48': async (store) => {
    const world = await openWorld(store, limited);
    const fail = (from: string) =>
      sendFrom(world, from, '/auth/verify', { email: newEmail(), code: '000000' });
    for (let i = 0; i < LIMITS.triesWithoutFlowPerHourPer48; i++) {
      assert.equal((await fail(addressOf(i))).status, 401, String(i));
    }
    world.advance(MINUTE);
    assertWait(await fail(addressOf(5)), 59 * 60);
    assert.equal((await fail(addressOf(5, '2001:db8:2'))).status, 401);
    await world.close();
  },

  'failed sign-ins: 1,000 a day of an IPv6 /48': async (store) => {
    // The periods of both limiters are the same code: a thousand units of work would show nothing more.
    const world = await openWorld(store, { ...limited, limiter: (clock) => memoryLimiter(clock) });
    const { limiter } = world.deps;
    for (let i = 0; i < failedSignInsPerDayPer48; i++) {
      if (i % failedSignInsPerHourPer48 === 0) world.advance(60 * MINUTE);
      for (const budget of ['failedSignInsPer48', 'failedSignInsDailyPer48'] as const) {
        assert.equal(await limiter.take(budget, '2001:db8:1::/48'), 0, String(i));
      }
    }
    world.advance(60 * MINUTE);
    const answer = await sendFrom(world, addressOf(1), '/auth/verify', { email: newEmail(), code: '000000' });
    assertWait(answer, 19 * 3600);
    await world.close();
  },

  'passkeys: 100 requests a minute of an IPv6 /48, for options and for responses': async (store) => {
    const world = await openWorld(store, limited);
    await assertSiteLimit(world, LIMITS.passkeyOptionsPer48, 200, (from) =>
      sendFrom(world, from, '/auth/passkeys/options', {}),
    );
    world.advance(MINUTE);
    // A body that cannot be read is no failed sign-in.
    await assertSiteLimit(world, LIMITS.passkeyResponsesPer48, 422, (from) =>
      sendFrom(world, from, '/auth/passkeys/verify', {}),
    );
    await world.close();
  },
});
