import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Located, operationsOf } from '../../../test/support/http/openapi/document.ts';
import { type Fixtures, makeFixtures } from '../../../test/support/http/openapi/fixtures.ts';
import { contract } from '../../../test/support/http/openapi/response-check.ts';
import {
  type Answer,
  type Caller,
  type Customer,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';

interface Scene {
  readonly world: World;
  readonly owner: Customer;
  readonly fixtures: Fixtures;
  readonly operations: readonly Located[];
}

async function openScene(store: Store): Promise<Scene> {
  const world = await openWorld(store);
  const owner = await world.customer('enterprise');
  const fixtures = await makeFixtures(owner, owner);
  const { document } = await contract();
  return { world, owner, fixtures, operations: operationsOf(document) };
}

/** A request that is valid but for what the test is about: own ids, the body of the document's example. */
function ask({ fixtures }: Scene, caller: Caller, { method, path, operation }: Located): Promise<Answer> {
  const body = operation.requestBody?.content['application/json']?.example;
  const needsKey = (operation.parameters ?? []).some(
    (one) => 'name' in one && one.in === 'query' && one.name === 'key' && one.required === true,
  );
  const query = needsKey ? `?key=${fixtures.recordKey}` : '';
  return caller.send(method, fixtures.pathOf(path) + query, body);
}

function schemesOf({ operation }: Located): readonly string[] {
  return operation.security.flatMap((one) => Object.keys(one));
}

function isPublic({ operation }: Located): boolean {
  return operation.security.length === 0;
}

const isRead = ({ method }: Located): boolean => method === 'GET';

function hasBody({ operation }: Located): boolean {
  return operation.requestBody !== undefined;
}

function named({ method, path }: Located): string {
  return `${method} ${path}`;
}

/** Ids that belong to the user, who may act for several customers, or that are public. */
const OF_THE_USER = /^\/(?:auth|passkeys)\//;

/** Every scenario is made from the OpenAPI document, so a new operation is attacked without being listed here. */
apiScenarios('attacks made from the document', {
  "another customer's ids are 404 on every operation": async (store) => {
    const scene = await openScene(store);
    const stranger = await scene.world.customer('enterprise');
    const withIds = scene.operations.filter(({ path }) => path.includes('{') && !OF_THE_USER.test(path));
    assert.ok(withIds.length > 15);
    for (const located of withIds) {
      const answer = await ask(scene, stranger, located);
      assert.equal(answer.status, 404, `${named(located)}: ${answer.text}`);
    }
    // Nothing of the owner has changed: every read of the owner still finds it.
    for (const located of withIds.filter((one) => isRead(one) && !isPublic(one))) {
      assert.equal((await ask(scene, scene.owner, located)).status, 200, named(located));
    }
    await scene.world.close();
  },

  'without a credential, and with an invalid one, every operation that needs one is 401': async (store) => {
    const scene = await openScene(store);
    const callers = [null, 'x', '0'.repeat(64), 'e30.e30.e30'].map((token) => scene.world.caller(token));
    for (const located of scene.operations.filter((one) => !isPublic(one))) {
      for (const caller of callers) {
        assert.equal((await ask(scene, caller, located)).status, 401, named(located));
      }
    }
    await scene.world.close();
  },

  'an API key is 403 where the document names the customer token alone': async (store) => {
    const scene = await openScene(store);
    const key = await scene.owner.key();
    const forSessions = scene.operations.filter(
      (one) => !isPublic(one) && !schemesOf(one).includes('apiKey'),
    );
    assert.ok(forSessions.length > 3);
    for (const located of forSessions) {
      assert.equal((await ask(scene, key, located)).status, 403, named(located));
    }
    await scene.world.close();
  },

  'a key that reads is 403 on every write, and one that writes on every read': async (store) => {
    const scene = await openScene(store);
    const reader = await scene.owner.key({ operations: ['read'] });
    const writer = await scene.owner.key({ operations: ['write'] });
    for (const located of scene.operations.filter((one) => schemesOf(one).includes('apiKey'))) {
      const refused = await ask(scene, isRead(located) ? writer : reader, located);
      assert.equal(refused.status, 403, named(located));
    }
    await scene.world.close();
  },

  'a key of another namespace reaches nothing by its id, and no list shows it': async (store) => {
    const scene = await openScene(store);
    const { name } = await scene.owner.namespace();
    const key = await scene.owner.key({ namespaces: [name] });
    for (const located of scene.operations.filter((one) => schemesOf(one).includes('apiKey'))) {
      const answer = await ask(scene, key, located);
      if (located.path.includes('{')) assert.equal(answer.status, 403, named(located));
      assert.ok(
        !answer.text.includes(scene.fixtures.namespace.name),
        `${named(located)} shows the other namespace`,
      );
    }
    await scene.world.close();
  },

  'a body that is too large, too deep, doubled or no JSON is a refusal of the document': async (store) => {
    const scene = await openScene(store);
    const type = { 'content-type': 'application/json' };
    const nested = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    for (const located of scene.operations.filter(hasBody)) {
      const { method, path } = located;
      const send = async (text: string, headers: Readonly<Record<string, string>> = type): Promise<number> =>
        (await scene.owner.send(method, scene.fixtures.pathOf(path), text, headers)).status;
      const oversize = JSON.stringify({ x: 'x'.repeat(LIMITS.bulkBody) });
      assert.equal(await send(oversize), 413, named(located));
      assert.equal(await send('{"a":1,"a":2}'), 400, named(located));
      assert.equal(await send('{"__proto__":{"a":1}}'), 400, named(located));
      assert.equal(await send('{'), 400, named(located));
      assert.equal(await send('{}', { 'content-type': 'text/plain' }), 415, named(located));
      assert.equal(await send('{}', { ...type, 'content-encoding': 'gzip' }), 415, named(located));
      assert.ok([400, 404, 422].includes(await send(nested)), named(located));
    }
    await scene.world.close();
  },

  'no field beside the described ones is accepted': async (store) => {
    const scene = await openScene(store);
    const foreign = ['id', 'customer_id', 'user_id', 'tier', 'public_read', 'records_count', 'created_at'];
    for (const { method, path, operation } of scene.operations.filter(hasBody)) {
      const example = (operation.requestBody?.content['application/json']?.example ?? {}) as Record<
        string,
        unknown
      >;
      const [envelope] = Object.keys(example);
      const inner = example[envelope ?? ''];
      for (const field of foreign) {
        const isInside = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
        const bodies = [
          { ...example, [field]: 'x' },
          ...(isInside ? [{ [envelope!]: { ...inner, [field]: 'x' } }] : []),
        ];
        for (const body of bodies) {
          const answer = await scene.owner.send(method, scene.fixtures.pathOf(path), body);
          // `response` of a passkey is an object of WebAuthn, whose further members are ignored.
          if (envelope === 'response' && body !== bodies[0]) continue;
          assert.ok(answer.status >= 400, `${method} ${path} takes ${field}: ${answer.text}`);
        }
      }
    }
    await scene.world.close();
  },
});
