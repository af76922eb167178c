import assert from 'node:assert/strict';
import { askFor, newEmail } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { softwareAuthenticator } from '../../../test/support/control/passkeys/authenticator.ts';
import { register, requestOptions } from '../../../test/support/control/passkeys/rig.ts';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import { type Answer, newName, PUBLIC_URL, type World } from '../../../test/support/http/world.ts';
import { query } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';

function assertOutcome(answers: readonly Answer[], ...outcomes: readonly string[]): void {
  const outcome = answers.map(({ status }) => status).join(' ');
  assert.ok(outcomes.includes(outcome), `${outcome}: ${answers.map(({ text }) => text).join()}`);
}

raceScenarios('sign-ins at once', {
  'of one user leave no more sessions than the limit': async ({ world, store, race }) => {
    const most = LIMITS.sessionsPerUser;
    Object.assign(LIMITS, { sessionsPerUser: 2 });
    try {
      await race(async () => {
        const customer = await world.customer();
        return {
          left: (at) => at.signIn(customer),
          right: (at) => at.signIn(customer),
          async check() {
            const { id } = customer;
            const rows = await query(store.read, 'select id from sessions where user_id = :id', { id });
            assert.equal(rows.length, 2);
          },
        };
      });
    } finally {
      Object.assign(LIMITS, { sessionsPerUser: most });
    }
  },

  'with one code are one, and the first of an address makes one account': async ({
    world,
    store,
    advance,
    race,
  }) => {
    await race(async () => {
      advance(3_600_000);
      const email = newEmail();
      const [one, other] = [await askFor(world, email), await askFor(world, email)];
      const verify = (at: World, { code, flow }: typeof one) =>
        at.caller(null).post('/auth/verify', { email, code, flow });
      return {
        left: (at) => verify(at, one),
        right: async (at) => [await verify(at, other), await verify(at, one)],
        async check(left, [second, again]) {
          assertOutcome([second!, left, again!], '200 200 401', '200 401 200');
          const rows = await query(store.read, 'select id from users where email = :email', { email });
          assert.equal(rows.length, 1);
        },
      };
    });
  },

  'beside the deletion of the account are refused, or end with it': async ({
    world,
    store,
    advance,
    race,
  }) => {
    await race(async () => {
      advance(3_600_000);
      const { id, email } = await world.customer();
      const session = await world.signIn({ email } as never);
      const { code, flow } = await askFor(world, email);
      return {
        left: (at) => at.caller(null).post('/auth/verify', { email, code, flow }),
        right: (at) => at.caller(session.token).send('DELETE', '/me', { email }),
        async check(...both) {
          assertOutcome(both, '200 204', '401 204');
          const rows = await query(store.read, 'select id from sessions where user_id = :id', { id });
          assert.deepEqual(rows, []);
        },
      };
    });
  },

  'with one answer of a passkey are one, and none after the account was deleted': async ({
    world,
    advance,
    race,
  }) => {
    const begin = async () => {
      advance(3_600_000);
      const { email } = await world.customer();
      const session = await world.signIn({ email } as never);
      const authenticator = softwareAuthenticator(PUBLIC_URL);
      assert.equal((await register(session, authenticator)).status, 201);
      const response = authenticator.get(await requestOptions(world));
      const signIn = (at: World) => at.caller(null).post('/auth/passkeys/verify', { response });
      return { email, session, signIn };
    };
    await race(async () => {
      const { signIn } = await begin();
      return { left: signIn, right: signIn, check: (...both) => assertOutcome(both, '200 401', '401 200') };
    });
    await race(async () => {
      const { email, session, signIn } = await begin();
      return {
        left: signIn,
        right: (at) => at.caller(session.token).send('DELETE', '/me', { email }),
        check: (...both) => assertOutcome(both, '200 204', '401 204'),
      };
    });
  },
});

raceScenarios('a credential that ends while a request of it runs', {
  'an API key: the request is done or refused': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const key = await customer.key();
      const body = { record: { key: `${newName()}.${name}.v1`, data: '' } };
      return {
        left: (at) => at.caller(key.token).post('/records', body),
        right: (at) => at.caller(customer.token).del(`/api_keys/${key.id}`),
        async check(...both) {
          assertOutcome(both, '201 204', '401 204');
          assert.equal((await key.get('/records')).status, 401);
        },
      };
    });
  },

  'a session leaves no token of its own behind': async ({ world, race }) => {
    const customer = await world.customer();
    const { id } = await customer.namespace();
    await race(async () => {
      const session = await world.signIn(customer);
      const mint = { name: 't', session: true };
      return {
        left: (at) => at.caller(session.token).post(`/namespaces/${id}/query_tokens`, mint),
        right: (at) => at.caller(session.token).del('/auth/session'),
        check(minted, ended) {
          assert.equal(ended.status, 204);
          assert.ok([201, 401].includes(minted.status), minted.text);
        },
      };
    });
  },

  'a session that changes its customer ends with all others': async ({ world, race }) => {
    const organization = await newOrganization(world);
    await race(async () => {
      const session = await world.signIn(organization.owner);
      const other = await world.signIn(organization.owner);
      return {
        left: (at) =>
          at.caller(session.token).post('/auth/organization', { organization_id: organization.id }),
        right: (at) => at.caller(other.token).del('/sessions'),
        async check(switched, ended) {
          assert.equal(ended.status, 204);
          assert.ok([200, 401].includes(switched.status), switched.text);
          assert.equal((await session.get('/me')).status, 401);
        },
      };
    });
  },
});
