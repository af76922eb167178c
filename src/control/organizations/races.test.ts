import assert from 'node:assert/strict';
import {
  accept,
  actFor,
  invited,
  newMember,
  newOrganization,
} from '../../../test/support/control/organizations/rig.ts';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import { type Answer, type Customer, created, newName, WEBHOOK } from '../../../test/support/http/world.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { deleteClosed } from '../namespaces/deletion.ts';

const { signal } = new AbortController();

/** Fails unless the answers have the statuses of one of the outcomes, in the order of the requests. */
function assertOutcome(answers: readonly Answer[], ...outcomes: readonly string[]): void {
  const outcome = answers.map(({ status }) => status).join(' ');
  assert.ok(outcomes.includes(outcome), `${outcome}: ${answers.map(({ text }) => text).join()}`);
}

const deletionOf = ({ email }: Customer) => ({ email });

raceScenarios('members of an organization', {
  'of two owners who remove each other one stays': async ({ world, race }) => {
    await race(async () => {
      const { path, owner, ...rest } = await newOrganization(world);
      const { person } = await newMember(world, { path, owner, ...rest }, 'owner');
      return {
        left: (at) => at.caller(owner.token).del(`${path}/members/${person.id}`),
        right: (at) => at.caller(person.token).del(`${path}/members/${owner.id}`),
        check: (...both) => assertOutcome(both, '204 404', '404 204'),
      };
    });
  },

  'of two owners who leave one stays': async ({ world, race }) => {
    await race(async () => {
      const organization = await newOrganization(world);
      const { path, owner } = organization;
      const { person } = await newMember(world, organization, 'owner');
      return {
        left: (at) => at.caller(owner.token).del(`${path}/members/${owner.id}`),
        right: (at) => at.caller(person.token).del(`${path}/members/${person.id}`),
        check: (...both) => assertOutcome(both, '204 422', '422 204'),
      };
    });
  },

  'of two owners who make each other a member one stays an owner': async ({ world, race }) => {
    const member = { member: { role: 'member' } };
    await race(async () => {
      const organization = await newOrganization(world);
      const { path, owner } = organization;
      const { person } = await newMember(world, organization, 'owner');
      return {
        left: (at) => at.caller(owner.token).patch(`${path}/members/${person.id}`, member),
        right: (at) => at.caller(person.token).patch(`${path}/members/${owner.id}`, member),
        check: (...both) => assertOutcome(both, '200 403', '403 200'),
      };
    });
  },

  'of two owners who delete their accounts one stays, and so beside one who steps back': async ({
    world,
    race,
  }) => {
    await race(async () => {
      const organization = await newOrganization(world);
      const { owner } = organization;
      const { person } = await newMember(world, organization, 'owner');
      return {
        left: (at) => at.caller(owner.token).send('DELETE', '/me', deletionOf(owner)),
        right: (at) => at.caller(person.token).send('DELETE', '/me', deletionOf(person)),
        check: (...both) => assertOutcome(both, '204 422', '422 204'),
      };
    });
    await race(async () => {
      const organization = await newOrganization(world);
      const { path, owner } = organization;
      const { person } = await newMember(world, organization, 'owner');
      const member = { member: { role: 'member' } };
      return {
        left: (at) => at.caller(owner.token).patch(`${path}/members/${owner.id}`, member),
        right: (at) => at.caller(person.token).send('DELETE', '/me', deletionOf(person)),
        check: (...both) => assertOutcome(both, '200 422', '422 204'),
      };
    });
  },

  'nothing of a member outlives the removal, however late it is made': async ({ world, race }) => {
    for (const made of ['query_tokens', 'webhooks']) {
      await race(async () => {
        const organization = await newOrganization(world);
        const { id, path, owner, asOwner } = organization;
        await world.deps.store.write((tx) =>
          query(tx, "update customers set tier = 'pro' where id = :id", { id }),
        );
        const { json } = await asOwner.post('/namespaces', { namespace: { name: newName() } });
        const { person, session } = await newMember(world, organization);
        return {
          left: (at) =>
            made === 'webhooks'
              ? at.caller(session.token).post('/webhooks', { webhook: WEBHOOK })
              : at.caller(session.token).post(`/namespaces/${json.id}/query_tokens`, { name: 't' }),
          right: (at) => at.caller(owner.token).del(`${path}/members/${person.id}`),
          check: (...both) => assertOutcome(both, '201 204', '401 204'),
        };
      });
    }
  },

  'a member who is removed enables no webhook': async ({ world, store, race }) => {
    await race(async () => {
      const organization = await newOrganization(world);
      const { id: customerId, path, owner } = organization;
      await world.deps.store.write((tx) =>
        query(tx, "update customers set tier = 'pro' where id = :id", { id: customerId }),
      );
      const { person, session } = await newMember(world, organization);
      const { id } = created(await session.post('/webhooks', { webhook: WEBHOOK }));
      await session.patch(`/webhooks/${id}`, { webhook: { enabled: false } });
      return {
        left: (at) => at.caller(session.token).patch(`/webhooks/${id}`, { webhook: { enabled: true } }),
        right: (at) => at.caller(owner.token).del(`${path}/members/${person.id}`),
        async check(...both) {
          assertOutcome(both, '200 204', '401 204');
          const rows = await findRows(store.read, 'webhooks', { where: { id } });
          assert.deepEqual(
            rows.filter(({ enabled }) => enabled === 1),
            [],
          );
        },
      };
    });
  },

  'a session that changes to an organization acts for it only as long as its user is a member': async ({
    world,
    race,
  }) => {
    const organization = await newOrganization(world);
    const { id, path, owner } = organization;
    await race(async () => {
      const { person, session } = await newMember(world, organization);
      await actFor(session, null);
      return {
        left: (at) => at.caller(session.token).post('/auth/organization', { organization_id: id }),
        right: (at) => at.caller(owner.token).del(`${path}/members/${person.id}`),
        async check(switched, removed) {
          assertOutcome([switched, removed], '200 204', '404 204');
          const { status } = await session.get('/records');
          assert.equal(status, switched.status === 200 ? 401 : 200);
        },
      };
    });
  },

  'an invitation is accepted once, or withdrawn': async ({ world, race }) => {
    const organization = await newOrganization(world);
    const { path, owner } = organization;
    await race(async () => {
      const person = await world.customer();
      const token = await invited(world, organization, person.email);
      return {
        left: (at) => accept(at.caller(person.token), token),
        right: (at) => accept(at.caller(person.token), token),
        check: (...both) => assertOutcome(both, '200 404', '404 200'),
      };
    });
    await race(async () => {
      const person = await world.customer();
      const token = await invited(world, organization, person.email);
      const { json } = await owner.get(`${path}/invitations`);
      return {
        left: (at) => accept(at.caller(person.token), token),
        right: (at) => at.caller(owner.token).del(`${path}/invitations/${json.at(-1).id}`),
        check: (...both) => assertOutcome(both, '200 404', '404 204'),
      };
    });
  },

  'an account that is deleted joins nothing and founds nothing': async ({ world, store, race }) => {
    const organization = await newOrganization(world);
    for (const isInvited of [true, false]) {
      await race(async () => {
        const person = await world.customer();
        const token = await invited(world, organization, person.email);
        const founded = { organization: { name: 'Own' } };
        return {
          left: (at) =>
            isInvited
              ? accept(at.caller(person.token), token)
              : at.caller(person.token).post('/organizations', founded),
          right: (at) => at.caller(person.token).send('DELETE', '/me', deletionOf(person)),
          async check(made, deleted) {
            const done = isInvited ? '200 204' : '201 422';
            assertOutcome([made, deleted], done, '401 204', '404 204');
            await deleteClosed({ store, clock: world.now, signal });
          },
        };
      });
    }
  },

  'an organization that is deleted takes along what is made in it': async ({ world, store, race }) => {
    for (const path of ['/namespaces', '/api_keys']) {
      await race(async () => {
        const { id, owner, asOwner } = await newOrganization(world);
        const body = path === '/namespaces' ? { namespace: { name: newName() } } : { api_key: { name: 'k' } };
        return {
          left: (at) => at.caller(asOwner.token).post(path, body),
          right: (at) => at.caller(owner.token).del(`/organizations/${id}`),
          async check(...both) {
            assertOutcome(both, '201 204', '401 204');
            await deleteClosed({ store, clock: world.now, signal });
            assert.deepEqual(await query(store.read, 'select id from customers where id = :id', { id }), []);
          },
        };
      });
    }
  },

  'an invitation that is accepted while the organization is deleted makes nobody a member of it': async ({
    world,
    store,
    race,
  }) => {
    await race(async () => {
      const organization = await newOrganization(world);
      const { id, owner } = organization;
      const person = await world.customer();
      const token = await invited(world, organization, person.email);
      return {
        left: (at) => accept(at.caller(person.token), token),
        right: (at) => at.caller(owner.token).del(`/organizations/${id}`),
        async check(...both) {
          assertOutcome(both, '200 204', '404 204');
          await deleteClosed({ store, clock: world.now, signal });
          assert.deepEqual((await person.get('/organizations')).json, []);
        },
      };
    });
  },
});
