import assert from 'node:assert/strict';
import { memoryLimiter } from '../../../../../src/control/limits/limiter.ts';
import type { Store } from '../../../../../src/control/store/store.ts';
import { type Answer, assertFailure, newName, openWorld, type Scenarios, type World } from '../world.ts';

const MINUTE = 60_000;
const WRONG = 'Code is not valid';

export const newEmail = (): string => `${newName()}@example.com`;

/** Requests a code, and returns the one that was mailed. */
export async function codeFor(world: World, email: string): Promise<string> {
  const answer = await world.caller(null).post('/auth/sign_in', { email });
  assert.deepEqual([answer.status, answer.text], [202, '']);
  const mail = world.mails.at(-1);
  assert.equal(mail?.email, email);
  assert.match(mail.code, /^[0-9]{6}$/);
  return mail.code;
}

export function verify(world: World, email: string, code: string, more: object = {}): Promise<Answer> {
  return world.caller(null).post('/auth/verify', { email, code, ...more });
}

/** Another six digits. */
const wrong = (code: string, n = 1): string => String((Number(code) + n) % 1_000_000).padStart(6, '0');

const refused = (answer: Answer): void => assertFailure(answer, 401, 'authentication_error', WRONG);

const limited = { limiter: (clock: () => number) => memoryLimiter(clock) };

function users(store: Store, email: string): Promise<unknown[]> {
  return store.read.selectFrom('users').select('id').where('email', '=', email).execute();
}

export const signInScenarios: Scenarios = {
  'a code by mail begins a session, and the first one makes the account': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    assert.equal(
      (await world.caller(null).post('/auth/sign_in', { email: email.toUpperCase() })).status,
      202,
    );
    assert.equal(world.mails.at(-1)?.email, email);
    const code = await codeFor(world, email);
    assert.deepEqual(await users(store, email), []);
    const answer = await verify(world, ` ${email.toUpperCase()} `, code);
    assert.equal(answer.status, 200, answer.text);
    const { token, user, ...rest } = answer.json;
    assert.deepEqual(rest, { token_type: 'Bearer', expires_at: '2026-01-01T12:00:00.000Z' });
    assert.deepEqual(user, (await world.caller(token).get('/me')).json);
    assert.equal(user.email, email);
    assert.equal(answer.headers['set-cookie'], undefined);
    assert.equal((await users(store, email)).length, 1);
    const again = await verify(world, email, await codeFor(world, email));
    assert.equal(again.json.user.id, user.id);
    await world.close();
  },

  'a code works once, for ten minutes, until a newer one is sent, and for its address alone': async (
    store,
  ) => {
    const world = await openWorld(store);
    const email = newEmail();
    const used = await codeFor(world, email);
    assert.equal((await verify(world, email, used)).status, 200);
    refused(await verify(world, email, used));
    const replaced = await codeFor(world, email);
    const newest = await codeFor(world, email);
    if (replaced !== newest) refused(await verify(world, email, replaced));
    const other = newEmail();
    await codeFor(world, other);
    world.advance(10 * MINUTE - 1);
    assert.equal((await verify(world, email, newest)).status, 200);
    const late = await codeFor(world, email);
    world.advance(10 * MINUTE);
    refused(await verify(world, email, late));
    refused(await verify(world, newEmail(), late));
    await world.close();
  },

  'five wrong tries make a code void, whatever the limits say': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const code = await codeFor(world, email);
    for (let i = 1; i <= 4; i++) refused(await verify(world, email, wrong(code, i)));
    assert.equal((await verify(world, email, code)).status, 200);
    const next = await codeFor(world, email);
    for (let i = 1; i <= 5; i++) refused(await verify(world, email, wrong(next, i)));
    refused(await verify(world, email, next));
    await world.close();
  },

  'tries at once in two processes are counted together, and a right code begins one session': async (
    store,
  ) => {
    const [one, two] = [await openWorld(store), await openWorld(store)];
    const email = newEmail();
    const code = await codeFor(one, email);
    const guesses = Array.from({ length: 20 }, (_, i) =>
      verify(i % 2 ? one : two, email, wrong(code, i + 1)),
    );
    for (const answer of await Promise.all(guesses)) refused(answer);
    refused(await verify(one, email, code));
    const fresh = await codeFor(one, email);
    const answers = await Promise.all([one, two, one, two].map((world) => verify(world, email, fresh)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 401, 401, 401],
    );
    await one.close();
    await two.close();
  },

  'neither answer, headers, rows nor statements tell whether an address has an account': async (store) => {
    let statements: string[] = [];
    const world = await openWorld(store, {
      wrap: (it) => ({
        ...it,
        write: (work) =>
          it.write((tx) => {
            const watched = tx.withPlugin({
              transformQuery({ node }) {
                statements.push(`${node.kind} ${JSON.stringify(node).replace(/"value":"[^"]*"/g, '')}`);
                return node;
              },
              transformResult: async ({ result }) => result,
            });
            return work(watched);
          }),
      }),
    });
    const known = newEmail();
    assert.equal((await verify(world, known, await codeFor(world, known))).status, 200);
    const seen: unknown[] = [];
    for (const email of [known, newEmail()]) {
      statements = [];
      const { headers, ...answer } = await world.caller(null).post('/auth/sign_in', { email });
      const { 'x-request-id': _, date: __, ...rest } = headers;
      const failed = await verify(world, email, wrong(world.mails.at(-1)!.code));
      const kinds = statements.map((text) => text.split(' ')[0]);
      seen.push({ answer, rest, failed: failed.text, status: failed.status, kinds });
    }
    assert.deepEqual(seen[0], seen[1]);
    assert.ok((seen[0] as { kinds: unknown[] }).kinds.length > 0);
    assert.equal((await store.read.selectFrom('sign_in_codes').select('address').execute()).length > 0, true);
    await world.close();
  },

  'what is stored of a code and its address can be read only with the secret': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const code = await codeFor(world, email);
    const rows = JSON.stringify(await store.read.selectFrom('sign_in_codes').selectAll().execute());
    for (const text of [email, email.split('@')[0]!, `"${code}"`]) assert.equal(rows.includes(text), false);
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'expired codes do not add up': async (store) => {
    const world = await openWorld(store);
    for (let i = 0; i < 15; i++) await codeFor(world, newEmail());
    world.advance(10 * MINUTE);
    for (let i = 0; i < 15; i++) await codeFor(world, newEmail());
    const old = await store.read
      .selectFrom('sign_in_codes')
      .select('address')
      .where('expires_at', '<=', world.now())
      .execute();
    assert.deepEqual(old, []);
    await world.close();
  },

  'bodies that are no sign-in, and fields that are not for customers': async (store) => {
    const world = await openWorld(store);
    const caller = world.caller(null);
    const email = newEmail();
    const bad = (path: string, body: object, message: string) =>
      caller.post(path, body).then((answer) => assertFailure(answer, 422, 'validation_error', [message]));
    await bad('/auth/sign_in', {}, 'email is required');
    await bad('/auth/sign_in', { email: 'nobody' }, 'email is not an email address');
    await bad('/auth/sign_in', { email: `${'a'.repeat(250)}@b.cd` }, 'email is not an email address');
    await bad('/auth/sign_in', { email: 'a@b.c\r\nBcc: x@y.z' }, 'email is not an email address');
    for (const field of ['role', 'tier', 'customer_id', 'user_id']) {
      await bad('/auth/sign_in', { email, [field]: 'admin' }, `${field} is not a known field`);
      await bad('/auth/verify', { email, code: '123456', [field]: 'x' }, `${field} is not a known field`);
    }
    await bad('/auth/verify', { email, code: '12345' }, 'code must be six digits');
    await bad('/auth/verify', { email, code: '１２３４５６' }, 'code must be six digits');
    await bad('/auth/verify', { email, code: 123456 }, 'code must be a string');
    await bad('/auth/verify', { email, code: '123456', cookie: 'yes' }, 'cookie must be true or false');
    assert.deepEqual(world.mails, []);
    await world.close();
  },

  'limits of sign_in: five a minute from an address, three in 15 minutes for a mail address': async (
    store,
  ) => {
    const world = await openWorld(store, { ...limited, trustedProxies: ['127.0.0.1'] });
    const ask = (email: string, from = '192.0.2.1') =>
      world.caller(null).send('POST', '/auth/sign_in', { email }, { 'x-forwarded-for': from });
    for (let i = 0; i < 5; i++) assert.equal((await ask(newEmail())).status, 202);
    const sixth = await ask(newEmail());
    assertFailure(sixth, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
    assert.equal(sixth.headers['retry-after'], '60');
    world.advance(MINUTE);
    assert.equal((await ask(newEmail())).status, 202);
    const known = newEmail();
    assert.equal((await verify(world, known, await codeFor(world, known))).status, 200);
    for (const email of [known, newEmail()]) {
      const already = email === known ? 1 : 0;
      for (let i = already; i < 3; i++) assert.equal((await ask(email, `192.0.2.${i + 10}`)).status, 202);
      const answer = await ask(email.toUpperCase(), '192.0.2.99');
      assertFailure(answer, 429, 'rate_limit_exceeded');
      assert.equal(answer.headers['retry-after'], '900');
    }
    world.advance(15 * MINUTE);
    assert.equal((await ask(known)).status, 202);
    await world.close();
  },

  'limits of verify: ten a minute, and failures slow down the address and the mail address': async (
    store,
  ) => {
    const world = await openWorld(store, { ...limited, trustedProxies: ['127.0.0.1'] });
    const tryOne = (email: string, code: string, from: string) =>
      world.caller(null).send('POST', '/auth/verify', { email, code }, { 'x-forwarded-for': from });
    const fail = async (email: string, from: string): Promise<number> => {
      const answer = await tryOne(email, '000000', from);
      if (answer.status === 429) assert.ok(Number(answer.headers['retry-after']) >= 1);
      else refused(answer);
      return answer.status;
    };
    const one = '198.51.100.1';
    for (let i = 0; i < 10; i++) assert.equal(await fail(newEmail(), one), 401);
    const eleventh = await tryOne(newEmail(), '000000', one);
    assert.deepEqual([eleventh.status, eleventh.headers['retry-after']], [429, '60']);
    world.advance(MINUTE);
    for (let i = 0; i < 10; i++) assert.equal(await fail(newEmail(), one), 401);
    world.advance(MINUTE);
    const slowed = await tryOne(newEmail(), '000000', one);
    assert.deepEqual([slowed.status, slowed.headers['retry-after']], [429, String(60 * 58)]);
    // The mail address, from many networks; another one is not slowed.
    const email = newEmail();
    for (let i = 0; i < 10; i++) assert.equal(await fail(email, `203.0.113.${i}`), 401);
    assert.equal(await fail(email, '203.0.113.50'), 429);
    assert.equal(await fail(newEmail(), '203.0.113.50'), 401);
    // A right code costs nothing of either budget.
    world.advance(60 * MINUTE);
    for (let round = 0; round < 12; round++) {
      const code = await codeFor(world, email);
      assert.equal((await tryOne(email, code, '203.0.113.60')).status, 200);
      world.advance(15 * MINUTE);
    }
    await world.close();
  },
};
