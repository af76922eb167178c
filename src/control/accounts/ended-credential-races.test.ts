/** A credential ends in one process while another one writes for it, in every order that a step of either allows. */
import assert from 'node:assert/strict';
import {
  accept,
  actFor,
  invited,
  newMember,
  newOrganization,
  type Organization,
} from '../../../test/support/control/organizations/rig.ts';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import type { Answer, Caller, World } from '../../../test/support/http/world.ts';
import { query } from '../../../test/support/store/rows.ts';
import type { Store } from '../../store/store.ts';
import { endSessionsOf } from './rules.ts';

/** What makes something that stays, and what ends its credential. */
interface Meeting {
  readonly make: (at: World) => Promise<Answer>;
  /** Names of what the customer has of it. */
  readonly made: () => Promise<readonly string[]>;
  readonly end: (at: World) => Promise<unknown>;
}

const KEY = { api_key: { name: 'kept' } };

const makesKey = (token: string) => (at: World) => at.caller(token).post('/api_keys', KEY);

const namesOf = (store: Store, table: 'api_keys', customer: string) => async (): Promise<readonly string[]> =>
  (
    await query<{ name: string }>(store.read, `select name from ${table} where customer_id = :customer`, {
      customer,
    })
  ).map(({ name }) => name);

const done = (answer: Answer): void => assert.equal(answer.status, 204, answer.text);

/** Each has its own people: the round before ended their credentials. */
const MEETINGS: Readonly<Record<string, (world: World, store: Store) => Promise<Meeting>>> = {
  async 'a sign-out everywhere, and an API key'(world, store) {
    const customer = await world.customer();
    const stolen = await world.signIn(customer);
    return {
      make: makesKey(stolen.token),
      made: namesOf(store, 'api_keys', customer.id),
      end: async (at) => done(await at.caller(customer.token).del('/sessions')),
    };
  },
  async 'a sign-out by the operator, and an API key'(world, store) {
    const customer = await world.customer();
    return {
      make: makesKey(customer.token),
      made: namesOf(store, 'api_keys', customer.id),
      end: (at) => endSessionsOf(at.deps, customer.email),
    };
  },
  async 'a sign-out everywhere, and an API key of an organization'(world, store) {
    const { id, owner, asOwner } = await newOrganization(world);
    return {
      make: makesKey(asOwner.token),
      made: namesOf(store, 'api_keys', id),
      end: async (at) => done(await at.caller(owner.token).del('/sessions')),
    };
  },
  async 'the removal of an owner, and an API key of the organization'(world, store) {
    const organization = await newOrganization(world);
    const { person, session } = await newMember(world, organization, 'owner');
    return {
      make: makesKey(session.token),
      made: namesOf(store, 'api_keys', organization.id),
      end: async (at) =>
        done(await at.caller(organization.owner.token).del(`${organization.path}/members/${person.id}`)),
    };
  },
  async 'the deletion of an API key, and a query token'(world, store) {
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const key = await customer.key();
    return {
      make: (at) => at.caller(key.token).post(`/namespaces/${id}/query_tokens`, { name: 'kept' }),
      made: async () =>
        (
          await query<{ name: string }>(
            store.read,
            'select name from query_tokens where namespace_id = :id',
            { id },
          )
        ).map(({ name }) => name),
      end: async (at) => done(await at.caller(customer.token).del(`/api_keys/${key.id}`)),
    };
  },
};

raceScenarios(
  'what a credential makes is there before its end is answered, or it is not made',
  Object.fromEntries(
    Object.entries(MEETINGS).map(([name, meet]) => [
      name,
      ({ world, store, race }) =>
        race(async () => {
          const { make, made, end } = await meet(world, store);
          return {
            left: make,
            async right(at) {
              await end(at);
              return made();
            },
            async check(answer, whenEnded) {
              assert.ok(Array.isArray(whenEnded), String(whenEnded));
              assert.ok([201, 401].includes(answer.status), answer.text);
              assert.equal(whenEnded.includes('kept'), answer.status === 201, 'when its end was answered');
              assert.equal((await made()).includes('kept'), answer.status === 201, 'at last');
            },
          };
        }),
    ]),
  ),
);

/** Two people, each of whom owns the organization and has two sessions: one acts for the organization. */
async function twoOwners(world: World): Promise<{
  readonly organization: Organization;
  readonly first: readonly [id: string, Caller, Caller];
  readonly second: readonly [id: string, Caller, Caller];
}> {
  const organization = await newOrganization(world);
  const { person, session } = await newMember(world, organization, 'owner');
  const { owner, asOwner } = organization;
  return {
    organization,
    first: [owner.id, owner, asOwner],
    second: [person.id, person, session],
  };
}

const statuses = (...answers: readonly Answer[]): string => answers.map(({ status }) => status).join(' ');

raceScenarios('of two that end credentials, each ends before or after the other', {
  'owners who remove each other': ({ world, race }) =>
    race(async () => {
      const { organization, first, second } = await twoOwners(world);
      const remove = (by: Caller, id: string) => (at: World) =>
        at.caller(by.token).del(`${organization.path}/members/${id}`);
      return {
        left: remove(first[2], second[0]),
        right: remove(second[2], first[0]),
        check: (...both) => assert.ok(['204 401', '401 204'].includes(statuses(...both)), statuses(...both)),
      };
    }),

  'two sessions that sign out everywhere': ({ world, race }) =>
    race(async () => {
      const { first } = await twoOwners(world);
      const signOut = (by: Caller) => (at: World) => at.caller(by.token).del('/sessions');
      return {
        left: signOut(first[1]),
        right: signOut(first[2]),
        check: (...both) => assert.ok(['204 401', '401 204'].includes(statuses(...both)), statuses(...both)),
      };
    }),

  'the deletion of an account, and a removal from its organization': ({ world, race }) =>
    race(async () => {
      const { organization, first, second } = await twoOwners(world);
      const person = second[1] as Awaited<ReturnType<World['customer']>>;
      return {
        left: (at) => at.caller(second[2].token).send('DELETE', '/me', { email: person.email }),
        right: (at) => at.caller(first[1].token).del(`${organization.path}/members/${second[0]}`),
        check: (...both) => assert.ok(['204 404', '401 204'].includes(statuses(...both)), statuses(...both)),
      };
    }),

  'an acceptance, and the deletion of the account': ({ world, race }) =>
    race(async () => {
      const organization = await newOrganization(world);
      const person = await world.customer();
      const token = await invited(world, organization, person.email);
      return {
        left: (at) => accept(at.caller(person.token), token),
        right: (at) => at.caller(person.token).send('DELETE', '/me', { email: person.email }),
        async check(accepted, deleted) {
          assert.equal(deleted.status, 204, deleted.text);
          assert.ok([200, 401, 404].includes(accepted.status), accepted.text);
          const { json } = await organization.owner.get(`${organization.path}/members`);
          assert.equal(json.length, 1);
        },
      };
    }),

  'a switch, and a removal': ({ world, race }) =>
    race(async () => {
      const { organization, first, second } = await twoOwners(world);
      return {
        left: (at) =>
          at.caller(second[1].token).post('/auth/organization', { organization_id: organization.id }),
        right: (at) => at.caller(first[2].token).del(`${organization.path}/members/${second[0]}`),
        async check(switched, removed) {
          assert.equal(removed.status, 204, removed.text);
          assert.ok([200, 404].includes(switched.status), switched.text);
          assert.equal((await second[1].get('/me')).status, switched.status === 200 ? 401 : 200);
        },
      };
    }),
});

raceScenarios('writes of one person for two customers meet no deadlock', {
  'a switch away, and what is made in both': ({ world, race }) =>
    race(async () => {
      const { first } = await twoOwners(world);
      return {
        left: async (at) => (await actFor(at.caller(first[2].token), null)) === null,
        right: (at) => at.caller(first[1].token).post('/organizations', { organization: { name: 'B' } }),
        check(isOwn, made) {
          assert.equal(isOwn, true);
          assert.equal(made.status, 201, made.text);
        },
      };
    }),
});
