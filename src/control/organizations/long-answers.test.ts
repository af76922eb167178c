import assert from 'node:assert/strict';
import { keep } from '../../../test/support/control/history/versions.ts';
import { actFor, newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Caller, created, newName, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';

/** Records that take several batches of a listing. */
const RECORDS = (4 * LIMITS.listingPage) / LIMITS.recordData;

interface Scene {
  readonly owner: Caller;
  /** Of the member in the organization. */
  readonly session: Caller;
  /** Of the member there. */
  readonly at: string;
}

/** What happens while the answer is read, and whether the answer goes on to its end then. */
const EVENTS: Readonly<
  Record<string, { readonly goesOn: boolean; readonly act: (scene: Scene) => Promise<unknown> }>
> = {
  nothing: { goesOn: true, act: async () => {} },
  'the session goes to the own account': { goesOn: false, act: ({ session }) => actFor(session, null) },
  'the session goes to the own account, and the member is removed': {
    goesOn: false,
    async act({ owner, session, at }) {
      await actFor(session, null);
      assert.equal((await owner.del(at)).status, 204);
    },
  },
  'the member is removed': { goesOn: false, act: ({ owner, at }) => owner.del(at) },
};

/** Paths with long answers, and the statement that reads what is in one. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  '/records': /from records/,
  '/namespaces/ID/export': /from records/,
  '/namespaces/ID/export?at=TIME': /from record_versions/,
  '/audit/export': /from audit_log/,
};

/** A store that lets an action happen once the next statement of a pattern has read, before its rows are given out. */
function pausing() {
  let next: { readonly reads: RegExp; readonly act: () => Promise<unknown> } | null = null;
  const wrap = (real: Store): Store => ({
    ...real,
    read: {
      ...real.read,
      async execute<R>(sql: string, values: readonly unknown[]) {
        const found = await real.read.execute<R>(sql, values);
        if (next?.reads.test(sql) === true) {
          const { act } = next;
          next = null;
          await act();
        }
        return found;
      },
    },
  });
  return {
    wrap,
    after: (reads: RegExp, act: () => Promise<unknown>): void => {
      next = { reads, act };
    },
    hasActed: () => next === null,
  };
}

apiScenarios('long answers of an organization', {
  'a removed member reads no more of an answer that began before, whatever its session acts for': async (
    store,
  ) => {
    const { wrap, after, hasActed } = pausing();
    const world = await openWorld(store, { wrap });
    const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const organization = await newOrganization(world);
    const { owner, asOwner } = organization;
    const { id, name } = created(await asOwner.post('/namespaces', { namespace: { name: newName() } }));
    await keep(asOwner, id);
    const data = Buffer.alloc(LIMITS.recordData).toString('base64');
    const records = Array.from({ length: RECORDS }, (_, i) => ({ key: `k${i}.r.${name}.v1`, data }));
    assert.equal((await asOwner.post('/records/bulk', { records })).status, 200);
    world.advance(1_000);
    const time = new Date(world.now()).toISOString();
    for (const [path, reads] of Object.entries(ANSWERS)) {
      for (const [title, { goesOn, act }] of Object.entries(EVENTS)) {
        const { person, session } = await newMember(world, organization, 'owner');
        const scene = { owner, session, at: `${organization.path}/members/${person.id}` };
        after(reads, () => act(scene));
        const url = `${origin}/api/v1${path.replace('ID', id).replace('TIME', time)}`;
        const answer = await fetch(url, { headers: { authorization: `Bearer ${session.token}` } });
        assert.equal(answer.status, 200, `${path}: ${title}`);
        const isWhole = await answer.text().then(
          () => true,
          () => false,
        );
        assert.deepEqual([hasActed(), isWhole], [true, goesOn], `${path}: ${title}`);
      }
    }
    await world.close();
  },

  'an owner who becomes a member reads no more of who did what, and on of the records': async (store) => {
    const { wrap, after } = pausing();
    const world = await openWorld(store, { wrap });
    const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const organization = await newOrganization(world);
    for (const [path, goesOn] of [
      ['/records', true],
      ['/audit/export', false],
    ] as const) {
      const { person, session } = await newMember(world, organization, 'owner');
      const at = `${organization.path}/members/${person.id}`;
      const demote = () => organization.owner.patch(at, { member: { role: 'member' } });
      const { name } = created(await session.post('/namespaces', { namespace: { name: newName() } }));
      await session.post('/records', { record: { key: `a.r.${name}.v1`, data: 'aGk=' } });
      after(ANSWERS[path]!, async () => assert.equal((await demote()).status, 200));
      const answer = await fetch(`${origin}/api/v1${path}`, {
        headers: { authorization: `Bearer ${session.token}` },
      });
      const isWhole = await answer.text().then(
        () => true,
        () => false,
      );
      assert.equal(isWhole, goesOn, path);
    }
    await world.close();
  },
});
