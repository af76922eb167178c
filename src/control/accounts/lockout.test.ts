import assert from 'node:assert/strict';
import { cookiesOf, newEmail } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { limiterOf } from '../../../test/support/http/server-parts.ts';
import {
  type Answer,
  assertFailure,
  openWorld,
  PUBLIC_URL,
  type World,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { deleteAccount } from './rules.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const HOME = '192.0.2.1';
const OWN_PAGE = { 'sec-fetch-site': 'same-origin', origin: PUBLIC_URL };

const openLimited = (store: Store): Promise<World> =>
  openWorld(store, { limiter: limiterOf, trustedProxies: ['127.0.0.1'] });

/** A person's browser: it keeps cookies, and its pages are ours. */
class Browser {
  cookies = '';
  readonly #world: World;
  readonly #from: string;

  constructor(world: World, from = HOME) {
    this.#world = world;
    this.#from = from;
  }

  async post(
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = OWN_PAGE,
  ): Promise<Answer> {
    const answer = await this.#world.caller(null).send('POST', path, body, {
      'x-forwarded-for': this.#from,
      ...(this.cookies !== '' && { cookie: this.cookies }),
      ...headers,
    });
    const jar = new Map(this.cookies.split('; ').map((pair) => [pair.split('=')[0]!, pair]));
    for (const pair of cookiesOf(answer).split('; ')) jar.set(pair.split('=')[0]!, pair);
    this.cookies = [...jar.values()].filter((pair) => pair !== '').join('; ');
    return answer;
  }

  ask(email: string): Promise<Answer> {
    return this.post('/auth/sign_in', { email });
  }

  verify(email: string, code: string): Promise<Answer> {
    return this.post('/auth/verify', { email, code, cookie: true });
  }

  /** Both steps, with the code that was mailed last. */
  async signIn(email: string): Promise<Answer> {
    const asked = await this.ask(email);
    return asked.status === 202 ? this.verify(email, this.#world.mails.at(-1)!.code) : asked;
  }

  /** What a browser forgets that never signed in. */
  forget(name: string): void {
    this.cookies = this.cookies
      .split('; ')
      .filter((pair) => !pair.includes(name))
      .join('; ');
  }
}

/** A program of a stranger. @returns how many of its requests were taken, that is not refused by a limit */
async function attack(
  world: World,
  from: string,
  times: number,
  path: string,
  body: object,
): Promise<number> {
  let taken = 0;
  for (let i = 0; i < times; i++) {
    const { status } = await world.caller(null).send('POST', path, body, { 'x-forwarded-for': from });
    if (status !== 429) taken += 1;
  }
  return taken;
}

const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

apiScenarios('sign-in, lockout', {
  'nobody locks a person out of a browser that has signed in before (security finding 4)': async (store) => {
    const world = await openLimited(store);
    const victim = newEmail();
    const browser = new Browser(world);
    assert.equal((await browser.signIn(victim)).status, 200);
    let signedIn = 0;
    // A day in which strangers, one of them in the victim's own network, use up whatever they can.
    for (let hour = 0; hour < 24; hour += 3) {
      for (const from of [HOME, '198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4']) {
        await attack(world, from, 10, '/auth/verify', { email: victim, code: '000000' });
        await attack(world, from, 10, '/auth/verify', {
          email: victim,
          code: '000000',
          flow: 'A'.repeat(22),
        });
        await attack(world, from, 3, '/auth/sign_in', { email: victim });
      }
      const asked = await browser.ask(victim);
      const { code } = world.mails.at(-1)!;
      // Between the victim's request and the arrival of the mail.
      for (const from of ['198.51.100.5', '198.51.100.6', '198.51.100.7', '198.51.100.8']) {
        await attack(world, from, 3, '/auth/sign_in', { email: victim });
      }
      const verified = asked.status === 202 ? await browser.verify(victim, code) : asked;
      signedIn += verified.status === 200 ? 1 : 0;
      world.advance(3 * 60 * MINUTE);
    }
    assert.equal(signedIn, 8, `the victim signed in ${signedIn} times of 8`);
    await world.close();
  },

  'wrong codes of strangers cost a person who asks for a code nothing, also from the same network (security finding 4)':
    async (store) => {
      const world = await openLimited(store);
      for (const attacker of ['198.51.100.1', HOME]) {
        const victim = newEmail();
        const browser = new Browser(world);
        assert.equal(
          await attack(world, attacker, 10, '/auth/verify', { email: victim, code: '000000' }),
          10,
        );
        assert.equal((await browser.signIn(victim)).status, 200);
        world.advance(DAY);
      }
      // Thirty wrong tries from three networks, the limit of the address, before and after the request.
      const victim = newEmail();
      const browser = new Browser(world);
      assert.equal((await browser.ask(victim)).status, 202);
      const { code } = world.mails.at(-1)!;
      for (const from of ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']) {
        const taken = await attack(world, from, 10, '/auth/verify', { email: victim, code: otherThan(code) });
        assert.equal(taken, from.endsWith('4') ? 0 : 10);
      }
      // An older client of the victim, without flow or cookies, is what these tries can refuse.
      const old = { email: victim, code };
      assert.equal(await attack(world, '192.0.2.99', 1, '/auth/verify', old), 0);
      assert.equal((await browser.verify(victim, code)).status, 200);
      await world.close();
    },

  'codes that a network asks for replace its own, not those of others (security finding 4)': async (
    store,
  ) => {
    const world = await openLimited(store);
    const victim = newEmail();
    const browser = new Browser(world);
    assert.equal((await browser.ask(victim)).status, 202);
    const { code } = world.mails.at(-1)!;
    world.advance(1);
    assert.equal(await attack(world, '198.51.100.1', 5, '/auth/sign_in', { email: victim }), 3);
    assert.equal((await browser.verify(victim, code)).status, 200);
    await world.close();
  },

  'a browser that has signed in asks for three codes in 15 minutes, for its address alone, whatever its network asked':
    async (store) => {
      const world = await openLimited(store);
      const victim = newEmail();
      const browser = new Browser(world);
      assert.equal((await browser.signIn(victim)).status, 200);
      await attack(world, HOME, 10, '/auth/sign_in', { email: victim });
      for (let i = 0; i < LIMITS.signInsPerQuarterHour; i++) {
        assert.equal((await browser.ask(victim)).status, 202);
      }
      const fourth = await browser.ask(victim);
      assertFailure(fourth, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
      assert.equal(fourth.headers['retry-after'], '900');
      // Another person's address, from the same browser and network, has the limits of strangers.
      const others = [
        await browser.ask(newEmail()),
        await browser.ask(newEmail()),
        await browser.ask(newEmail()),
      ];
      assert.deepEqual(
        others.map(({ status }) => status),
        [202, 202, 429],
      );
      // The cookie counts for nobody whose page is not ours.
      world.advance(15 * MINUTE);
      await attack(world, HOME, 10, '/auth/sign_in', { email: victim });
      const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
      assert.equal((await browser.post('/auth/sign_in', { email: victim }, foreign)).status, 429);
      assert.equal((await browser.ask(victim)).status, 202);
      // 30 codes a day.
      world.advance(DAY);
      for (let i = 0; i < LIMITS.signInCodesPerDay; i++) {
        if (i % 3 === 0) world.advance(15 * MINUTE);
        assert.equal((await browser.ask(victim)).status, 202, String(i));
      }
      world.advance(15 * MINUTE);
      assert.equal((await browser.ask(victim)).status, 429);
      await world.close();
    },

  'a network whose tries fail asks for no more codes, and flows that are open have their tries': async (
    store,
  ) => {
    const world = await openLimited(store);
    const asked: { readonly email: string; readonly code: string; readonly flow: string }[] = [];
    const ask = async (): Promise<number> => {
      const email = newEmail();
      const headers = { 'x-forwarded-for': HOME };
      const { status, json } = await world.caller(null).send('POST', '/auth/sign_in', { email }, headers);
      if (status === 202) asked.push({ email, code: world.mails.at(-1)!.code, flow: json.flow });
      return status;
    };
    for (let i = 0; i < 5; i++) assert.equal(await ask(), 202);
    const tryWrong = ({ email, code, flow }: (typeof asked)[number], times: number): Promise<number> =>
      attack(world, HOME, times, '/auth/verify', { email, code: otherThan(code), flow });
    for (const one of asked.slice(0, 4)) assert.equal(await tryWrong(one, 5), 5);
    world.advance(MINUTE);
    assert.equal(await ask(), 429);
    const { email, code, flow } = asked[4]!;
    assert.equal(await tryWrong(asked[4]!, 4), 4);
    const body = { email, code, flow };
    const right = await world.caller(null).send('POST', '/auth/verify', body, { 'x-forwarded-for': HOME });
    assert.equal(right.status, 200, right.text);
    // A void flow is no flow: it draws on what the network has left.
    assert.equal(await tryWrong(asked[0]!, 1), 0);
    world.advance(60 * MINUTE);
    assert.equal(await ask(), 202);
    await world.close();
  },

  'a browser is known by its cookie for 400 days, is forgotten as the 21st of a user and with the account':
    async (store) => {
      const world = await openLimited(store);
      const email = newEmail();
      const browser = new Browser(world);
      const first = await browser.signIn(email);
      const set = [first.headers['set-cookie'] ?? []].flat().map(String);
      const cookie = set.find((text) => text.startsWith('__Host-uqrp_browser='))!;
      assert.match(
        cookie,
        /^__Host-uqrp_browser=[\w-]{22}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Strict; Secure$/,
      );
      const kept = browser.cookies;
      const isKnown = async (cookies: string): Promise<boolean> => {
        await attack(world, HOME, 10, '/auth/sign_in', { email });
        const one = new Browser(world);
        one.cookies = cookies;
        const { status } = await one.ask(email);
        world.advance(DAY);
        return status === 202;
      };
      assert.equal(await isKnown(kept), true);
      // Its first letter may be any: another one.
      const other = kept.replace(
        /uqrp_browser=(.)/,
        (_, letter) => `uqrp_browser=${letter === 'x' ? 'y' : 'x'}`,
      );
      assert.equal(await isKnown(other), false);
      // A sign-in renews the memory, and the browser keeps its secret.
      world.advance(300 * DAY);
      const again = new Browser(world);
      again.cookies = kept;
      again.forget('uqrp_session');
      assert.equal((await again.signIn(email)).status, 200);
      assert.ok(kept.includes(/__Host-uqrp_browser=[\w-]{22}/.exec(again.cookies)![0]));
      world.advance(300 * DAY);
      assert.equal(await isKnown(kept), true);
      world.advance(100 * DAY);
      assert.equal(await isKnown(kept), false);
      const browsers: string[] = [];
      for (let i = 0; i <= LIMITS.signInBrowsers; i++) {
        const one = new Browser(world);
        assert.equal((await one.signIn(email)).status, 200);
        browsers.push(one.cookies);
        world.advance(DAY);
      }
      assert.equal(await isKnown(browsers[0]!), false);
      assert.equal(await isKnown(browsers[1]!), true);
      await deleteAccount(world.deps, email);
      assert.equal(await isKnown(browsers.at(-1)!), false);
      await world.close();
    },

  'the flow of a page of ours comes as a cookie; pages of others neither get nor use it': async (store) => {
    const world = await openLimited(store);
    const email = newEmail();
    const browser = new Browser(world);
    assert.equal((await browser.ask(email)).status, 202);
    const { code } = world.mails.at(-1)!;
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const stranger = await new Browser(world).post('/auth/sign_in', { email: newEmail() }, foreign);
    assert.deepEqual([stranger.status, stranger.headers['set-cookie']], [202, undefined]);
    // Without a flow, since the cookie does not count there: five tries more would void a code of the flow.
    for (let i = 0; i < 6; i++) {
      const body = { email, code: otherThan(code) };
      assert.equal((await browser.post('/auth/verify', body, foreign)).status, 401);
    }
    assert.equal((await browser.verify(email, code)).status, 200);
    await world.close();
  },
});
