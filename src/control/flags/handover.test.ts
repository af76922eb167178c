import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  ALL_FLAGS,
  askFlags,
  base64,
  flagShop,
  plainFlag,
} from '../../../test/support/control/flags/asking.ts';
import { listen, openEvents } from '../../../test/support/control/query-log/event-reader.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { type Answer, type Customer, openWorld, type World } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { openChangeReader } from '../changes/api.ts';
import { setPublicRead, setSuspended } from '../namespaces/rules.ts';
import { authorize } from './access.ts';
import type { FlagNamespace, FlagSource } from './source.ts';
import { openFlagSource } from './store-source.ts';

const SECRET = 'PRIVATE-VALUE-OF-THE-NEXT-OWNER';
const BODY = JSON.stringify({ context: { targetingKey: 'u' } });

interface Scene {
  readonly world: World;
  readonly shop: Awaited<ReturnType<typeof flagShop>>;
}

/** Deletes the namespace, and gives its name to another customer, who writes a private flag. */
async function handOver({ world, shop }: Scene, next?: Customer): Promise<string> {
  const { owner, id, name } = shop;
  assert.equal((await owner.del(`/namespaces/${id}`)).status, 204);
  await runLoops(world.store, () => world.now());
  const other = next ?? (await world.customer());
  const taken = await other.namespace(name);
  await other.record(`a.flags.${name}.v1`, { data: base64(plainFlag(SECRET)) });
  return taken.id;
}

interface End {
  readonly status: 401 | 403;
  /** By a key instead of a token, by the name in the URL without a credential. */
  readonly by?: 'key' | 'nothing';
  readonly act: (scene: Scene & { readonly keyId: string }) => Promise<unknown>;
}

/** What may happen while a request waits, and what it is answered then. */
const ENDS: Readonly<Record<string, End>> = {
  'the token is revoked': {
    status: 401,
    act: ({ shop: { owner, id, tokenId } }) => owner.del(`/namespaces/${id}/query_tokens/${tokenId}`),
  },
  'the API key is deleted': {
    by: 'key',
    status: 401,
    act: ({ shop: { owner }, keyId }) => owner.del(`/api_keys/${keyId}`),
  },
  'the namespace is deleted': {
    status: 401,
    act: ({ shop: { owner, id } }) => owner.del(`/namespaces/${id}`),
  },
  'another customer has the name, a token asks': { status: 401, act: (scene) => handOver(scene) },
  'another customer has the name, a key asks': { by: 'key', status: 403, act: (scene) => handOver(scene) },
  'another customer has the name, which was open before': {
    by: 'nothing',
    status: 401,
    act: (scene) => handOver(scene),
  },
  'the same customer has the name again': {
    by: 'key',
    status: 401,
    act: (scene) => handOver(scene, scene.shop.owner),
  },
  'the namespace is suspended': {
    status: 403,
    act: ({ world, shop }) => setSuspended(world.deps, shop.name, true),
  },
  'the namespace is open no more': {
    by: 'nothing',
    status: 401,
    act: ({ world, shop }) => setPublicRead(world.deps, shop.name, false),
  },
};

/** A shop, its credential of the kind, and the path under which its flags are asked for with it. */
async function shopFor(world: World, by: End['by']) {
  const shop = await flagShop(world, { a: plainFlag(1) });
  const key = await shop.owner.key({ operations: ['read'], namespaces: [shop.name] });
  if (by === 'nothing') await setPublicRead(world.deps, shop.name, true);
  const credential = by === 'nothing' ? null : by === 'key' ? key.token : shop.token;
  return { shop, key, credential, base: by === undefined ? '' : `/flags/${shop.name}` };
}

function assertRefused({ status, text }: Answer, expected: number, title: string): void {
  assert.equal(status, expected, `${title}: ${text}`);
  assert.doesNotMatch(text, /PRIVATE|value/, title);
}

/** A world whose notices of the log are lost and whose timers stand still: it knows what it knew, until the time moves. */
async function lateWorld(store: Store) {
  const timers = createManualTimers();
  const wrap = (real: Store): Store => ({ ...real, changes: { ...real.changes, onChange: () => () => {} } });
  return { timers, world: await openWorld(store, { timers, wrap }) };
}

apiScenarios('flags of a name that another customer has taken', {
  'what ends while a body comes is not answered, nor the flags of the next owner': async (store) => {
    const world = await openWorld(store);
    for (const [title, { by, status, act }] of Object.entries(ENDS)) {
      for (const path of [ALL_FLAGS, `${ALL_FLAGS}/a`]) {
        const { shop, key, credential, base } = await shopFor(world, by);
        async function* body(end: () => Promise<unknown>): AsyncGenerator<Buffer> {
          yield Buffer.from(BODY.slice(0, 1));
          await end();
          yield Buffer.from(BODY.slice(1));
        }
        const ask = (end: () => Promise<unknown>): Promise<Answer> =>
          world.inject({
            method: 'POST',
            url: `${base}${path}`,
            headers: {
              'content-type': 'application/json',
              ...(credential !== null && { authorization: `Bearer ${credential}` }),
            },
            payload: Readable.from(body(end)),
          });
        assert.equal((await ask(async () => {})).status, 200, title);
        assertRefused(await ask(() => act({ world, shop, keyId: key.id })), status, title);
      }
    }
    await world.close();
  },

  'what ends while an evaluation waits for a state of the flags is not answered': async (store) => {
    const timers = createManualTimers();
    const world = await openWorld(store, { timers });
    for (const [title, { by, status, act }] of Object.entries(ENDS)) {
      const { shop, key, credential, base } = await shopFor(world, by);
      assert.equal((await askFlags(world, credential, `${base}${ALL_FLAGS}`)).status, 200, title);
      const asked = askFlags(world, credential, `${base}${ALL_FLAGS}?flagConfigEtag=nothing-has-this`);
      while (!timers.pending().includes(LIMITS.flagWaitMs)) await nextTurn();
      await act({ world, shop, keyId: key.id });
      await timers.advance(LIMITS.flagWaitMs);
      assertRefused(await asked, status, title);
    }
    await world.close();
  },

  'a process that has not read the log yet gives the next owner its own flags, and the former one none':
    async (store) => {
      const world = await openWorld(store);
      const shop = await flagShop(world, { a: plainFlag('old') });
      const late = await lateWorld(store);
      const valueFor = async (token: string): Promise<unknown> => {
        const { status, json } = await askFlags(late.world, token, `${ALL_FLAGS}/a`);
        return status === 200 ? json.value : status;
      };
      assert.equal(await valueFor(shop.token), 'old');
      const next = await world.customer();
      const id = await handOver({ world, shop }, next);
      const minted = await next.post(`/namespaces/${id}/query_tokens`, { name: 'web' });
      assert.deepEqual([await valueFor(minted.json.token), await valueFor(shop.token)], [SECRET, 401]);
      await Promise.all([world.close(), late.world.close()]);
    },

  'the source has nothing of a namespace whose name another one has': async (store) => {
    const world = await openWorld(store);
    const { name, id } = await flagShop(world, { a: plainFlag(1) });
    const onError = assert.ifError;
    const changeReader = openChangeReader(world.deps, onError);
    const source = openFlagSource({ ...world.deps, changeReader, apiKey: async () => null, onError });
    const namespace = await source.namespace(name, { kind: 'token', namespace: { id, name } });
    assert.ok(namespace);
    const former = { ...namespace, id: 'former' };
    assert.deepEqual([await source.documents(former), await source.hold(former)], [null, null]);
    const tags = [(await source.documents(namespace))?.tag(), (await source.hold(namespace))?.tag()];
    assert.deepEqual([typeof tags[0], tags[1]], ['string', tags[0]]);
    source.close();
    await changeReader.close();
    await world.close();
  },

  'what is held of a namespace that is gone gives no place behind flags that its owner writes under its name again':
    async (store) => {
      const world = await openWorld(store);
      const shop = await flagShop(world, { a: plainFlag(1) });
      const { name, id, owner } = shop;
      const onError = assert.ifError;
      const changeReader = openChangeReader(world.deps, onError);
      const source = openFlagSource({ ...world.deps, changeReader, apiKey: async () => null, onError });
      const namespace = await source.namespace(name, { kind: 'token', namespace: { id, name } });
      const held = await source.hold(namespace!);
      assert.equal(held!.isSettled(), true);
      await handOver({ world, shop }, owner);
      const { head } = await store.changes.bounds();
      while ((changeReader.place() ?? head) < head) await nextTurn();
      assert.equal(held!.isSettled(), false);
      source.close();
      await changeReader.close();
      await world.close();
    },

  'a stream ends when its name is that of another namespace of the same customer': async (store) => {
    const timers = createManualTimers();
    const world = await openWorld(store, { timers });
    const port = await listen(world);
    const { shop, credential } = await shopFor(world, 'key');
    const path = `/flags/${shop.name}/ofrep/v1/events`;
    const headers = { authorization: `Bearer ${credential}` };
    const reader = await openEvents(port, null, { base: '', path, headers });
    await reader.take(1);
    await handOver({ world, shop }, shop.owner);
    let hasEnded = false;
    const ended = reader.ended().then(() => {
      hasEnded = true;
    });
    while (!hasEnded) await timers.advance(1_000);
    await ended;
    await world.close();
  },
});

it('a token does not open a namespace that takes the name while the token is looked up', async () => {
  const namespace = (id: string): FlagNamespace => ({
    id,
    name: 'shop',
    customerId: id,
    isOpen: false,
    isSuspended: false,
  });
  const access = (id: string) => {
    const source: Pick<FlagSource, 'token' | 'namespace'> = {
      token: async () => ({ kind: 'token', namespace: namespace('former') }),
      namespace: async () => namespace(id),
    };
    return authorize(source as FlagSource, { kind: 'token', digest: '' }, undefined);
  };
  assert.equal((await access('former')).namespace.id, 'former');
  await assert.rejects(access('next'), { status: 401 });
});
