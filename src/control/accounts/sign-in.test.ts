import assert from 'node:assert/strict';
import {
  askFor,
  codeFor,
  newEmail,
  refused,
  type SignInAsked,
  verify,
} from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, openWorld } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { watched } from '../../../test/support/store/statement-plans.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';

const MINUTE = 60_000;
const _WRONG = 'Code is not valid';
const FLOW_COOKIE = '__Host-uqrp_flow=; Path=/; Max-Age=600; HttpOnly; SameSite=Strict; Secure';

/** Another six digits. */
const wrong = (code: string, n = 1): string => String((Number(code) + n) % 1_000_000).padStart(6, '0');

function users(store: Store, email: string): Promise<unknown[]> {
  return findRows(store.read, 'users', { columns: ['id'], where: { email } });
}

apiScenarios('sign-in', {
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

  'a code works once, for ten minutes, and for its address alone': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const used = await codeFor(world, email);
    assert.equal((await verify(world, email, used)).status, 200);
    refused(await verify(world, email, used));
    const one = await askFor(world, email);
    const other = newEmail();
    await codeFor(world, other);
    world.advance(10 * MINUTE - 1);
    // Finding L10 of the audit: mail programs and people put white space into it.
    const spaced = ` ${one.code.slice(0, 3)} ${one.code.slice(3)}\n`;
    assert.equal((await verify(world, email, spaced, { flow: one.flow })).status, 200);
    const late = await askFor(world, email);
    world.advance(10 * MINUTE);
    refused(await verify(world, email, late.code));
    refused(await verify(world, email, late.code, { flow: late.flow }));
    refused(await verify(world, newEmail(), late.code));
    await world.close();
  },

  'a code belongs to the flow that asked for it, and three of an address are valid side by side': async (
    store,
  ) => {
    const world = await openWorld(store);
    const email = newEmail();
    const asked = [];
    const askLater = (): Promise<SignInAsked> => {
      world.advance(1);
      return askFor(world, email);
    };
    for (let i = 0; i < LIMITS.signInCodes; i++) asked.push(await askLater());
    const [one, two, three] = asked as [SignInAsked, SignInAsked, SignInAsked];
    if (one.code !== two.code) refused(await verify(world, email, one.code, { flow: two.flow }));
    refused(await verify(world, email, one.code, { flow: 'A'.repeat(22) }));
    refused(await verify(world, newEmail(), one.code, { flow: one.flow }));
    for (const { code, flow } of [two, one])
      assert.equal((await verify(world, email, code, { flow })).status, 200);
    for (const { code, flow } of [two, one]) refused(await verify(world, email, code, { flow }));
    // A fourth takes the place of the oldest.
    const more = [];
    for (let i = 0; i < LIMITS.signInCodes; i++) more.push(await askLater());
    refused(await verify(world, email, three.code, { flow: three.flow }));
    for (const { code, flow } of more) assert.equal((await verify(world, email, code, { flow })).status, 200);
    await world.close();
  },

  'codes asked for at once, in two processes: three of an address are valid, never more': async (store) => {
    const [one, two] = [await openWorld(store), await openWorld(store)];
    for (let round = 0; round < 5; round++) {
      const email = newEmail();
      const asked = await Promise.all([askFor(one, email), askFor(two, email), askFor(two, email)]);
      for (const { flow } of asked) assert.equal(await one.deps.codes.isOpen(email, flow), true);
    }
    const email = newEmail();
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => (i % 2 ? one : two).caller(null).post('/auth/sign_in', { email })),
    );
    let valid = 0;
    for (const world of [one, two]) {
      for (const { code } of world.mails) valid += (await verify(world, email, code)).status === 200 ? 1 : 0;
    }
    assert.equal(valid, LIMITS.signInCodes);
    await one.close();
    await two.close();
  },

  'five wrong tries with its flow make a code void, whatever the limits say': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const { code, flow } = await askFor(world, email);
    for (let i = 1; i <= 4; i++) refused(await verify(world, email, wrong(code, i), { flow }));
    const other = await askFor(world, email);
    assert.equal((await verify(world, email, code, { flow })).status, 200);
    const next = await askFor(world, email);
    for (let i = 1; i <= 5; i++)
      refused(await verify(world, email, wrong(next.code, i), { flow: next.flow }));
    refused(await verify(world, email, next.code, { flow: next.flow }));
    refused(await verify(world, email, next.code));
    assert.equal((await verify(world, email, other.code, { flow: other.flow })).status, 200);
    await world.close();
  },

  'without a flow a code of any flow counts, and wrong ones void none': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const [one, two] = [await askFor(world, email), await askFor(world, email)];
    for (let i = 0; i < 20; i++) {
      const guess = wrong(one.code, i + 1);
      if (guess !== two.code) refused(await verify(world, email, guess));
    }
    assert.equal((await verify(world, email, one.code)).status, 200);
    if (one.code !== two.code) refused(await verify(world, email, one.code));
    assert.equal((await verify(world, email, two.code, { flow: two.flow })).status, 200);
    await world.close();
  },

  'tries at once in two processes are counted together, and a right code begins one session': async (
    store,
  ) => {
    const [one, two] = [await openWorld(store), await openWorld(store)];
    const email = newEmail();
    const { code, flow } = await askFor(one, email);
    const guesses = Array.from({ length: 20 }, (_, i) =>
      verify(i % 2 ? one : two, email, wrong(code, i + 1), { flow }),
    );
    for (const answer of await Promise.all(guesses)) refused(answer);
    refused(await verify(one, email, code, { flow }));
    refused(await verify(one, email, code));
    const fresh = await codeFor(one, email);
    const answers = await Promise.all([one, two, one, two].map((world) => verify(world, email, fresh)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 401, 401, 401],
    );
    const bound = await askFor(two, email);
    const again = await Promise.all(
      [one, two, one, two].map((world) => verify(world, email, bound.code, { flow: bound.flow })),
    );
    assert.deepEqual(
      again.map(({ status }) => status).toSorted((a, b) => a - b),
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
        write: (work) => it.write((tx) => work(watched(tx, ({ sql }) => statements.push(sql)))),
      }),
    });
    const known = newEmail();
    assert.equal((await verify(world, known, await codeFor(world, known))).status, 200);
    const seen: unknown[] = [];
    for (const email of [known, newEmail()]) {
      statements = [];
      const answer = await world.caller(null).post('/auth/sign_in', { email });
      const { flow } = answer.json;
      assert.deepEqual(answer.json, { flow });
      const { 'x-request-id': _, date: __, 'set-cookie': cookie, ...rest } = answer.headers;
      assert.equal(String(cookie).replace(flow, ''), FLOW_COOKIE);
      const guess = wrong(world.mails.at(-1)!.code);
      const failed = [await verify(world, email, guess, { flow }), await verify(world, email, guess)];
      const kinds = statements.map((text) => text.split(' ')[0]);
      seen.push({
        rest,
        status: answer.status,
        failed: failed.map(({ status, text }) => [status, text]),
        kinds,
      });
    }
    assert.deepEqual(seen[0], seen[1]);
    assert.ok((seen[0] as { kinds: unknown[] }).kinds.length > 0);
    assert.equal((await findRows(store.read, 'sign_in_codes', { columns: ['address'] })).length > 0, true);
    await world.close();
  },

  'what is stored of a code and its address can be read only with the secret': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const { code, flow, cookie } = await askFor(world, email);
    const { headers } = await verify(world, email, code, { flow, cookie: true });
    const browser = /uqrp_browser=([^;]+);/.exec(String(headers['set-cookie']))![1]!;
    const last = await askFor(world, email);
    const rows = JSON.stringify([
      await findRows(store.read, 'sign_in_codes'),
      await findRows(store.read, 'sign_in_browsers'),
    ]);
    for (const text of [email, email.split('@')[0]!, `"${last.code}"`, last.flow, browser, '127.0.0.1']) {
      assert.equal(rows.includes(text), false, text);
    }
    assert.ok(cookie.endsWith(flow));
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'expired codes do not add up': async (store) => {
    const world = await openWorld(store);
    for (let i = 0; i < 15; i++) await codeFor(world, newEmail());
    world.advance(10 * MINUTE);
    for (let i = 0; i < 15; i++) await codeFor(world, newEmail());
    const codes = await findRows(store.read, 'sign_in_codes');
    assert.deepEqual(
      codes.filter(({ expires_at }) => expires_at <= world.now()),
      [],
    );
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
    await bad('/auth/verify', { email, code: '12 34 5 ' }, 'code must be six digits');
    await bad('/auth/verify', { email, code: '１２３４５６' }, 'code must be six digits');
    await bad('/auth/verify', { email, code: 123456 }, 'code must be a string');
    await bad('/auth/verify', { email, code: '123456', cookie: 'yes' }, 'cookie must be true or false');
    for (const flow of ['', 'A'.repeat(21), 'A'.repeat(23), `${'A'.repeat(21)}+`]) {
      await bad('/auth/verify', { email, code: '123456', flow }, 'flow is not a flow');
    }
    await bad('/auth/verify', { email, code: '123456', flow: null }, 'flow must be a string');
    assert.deepEqual(world.mails, []);
    await world.close();
  },
});
