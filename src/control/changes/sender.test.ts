import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { openWorld } from '../../../test/support/http/world.ts';
import { createTurns } from '../../base/lifecycle/turns.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { Actor } from '../../http/actor.ts';
import type { Store } from '../../store/store.ts';
import type { LiveFollower } from '../live/reader.ts';
import { epochTag, openPositions } from '../unit.ts';
import { readChanges } from './pages.ts';
import type { FeedRow } from './rows.ts';
import { changeSender } from './sender.ts';

const QUERY = { since: null, namespace: null, cascade: false } as const;

/** A stream whose reader offers what the test says, when it says it. @param onPage after each page that the sender reads */
async function openSender(store: Store, onPage: () => Promise<void> = async () => {}) {
  const world = await openWorld(store);
  const owner = await world.customer();
  const { name } = await owner.namespace();
  const actor = { customerId: owner.id, personId: owner.id, namespaces: null } as Actor;
  const digest = createHash('sha256').update('positions').digest();
  const positions = openPositions(aesGcmEncryption(digest, (bytes) => randomBytes(bytes), 0));
  const deps = { store, clock: world.now, positions };
  const { epoch, head } = await store.changes.bounds();
  const written: string[] = [];
  const turns = createTurns({ atOnce: 1, waiting: 1, random: randomBytes });
  let follower: LiveFollower<FeedRow> | null = null;
  const client = { isReady: true, place: head };
  const sender = changeSender(
    {
      ...deps,
      reader: {
        follow(one) {
          follower = one;
          return () => {};
        },
        place: () => client.place,
        epoch: () => epoch,
        reached: async () => true,
        async close() {},
      },
      turns: {
        async run(asker, work) {
          const page = await turns.run(asker, work);
          await onPage();
          return page;
        },
      },
      onError: (error) => assert.fail(String(error)),
    },
    actor,
    { ...QUERY, since: { seq: head, at: world.now(), epoch: epochTag(epoch) } },
    {
      isReady: () => client.isReady,
      write(text) {
        written.push(/"key":"([abc])/.exec(text)?.[1] ?? (text.includes('checkpoint') ? '.' : ''));
        return client.isReady;
      },
      cutOff() {},
    },
  );
  return {
    world,
    client,
    sender,
    keys: () => written.join(''),
    /** The client's stream begins, and the reader admits it. */
    begin: (): void => {
      sender.begin();
      follower!.begin(client.place);
    },
    admit: (): void => follower!.begin(client.place),
    write: (letter: string) => owner.record(`${letter}${client.place}.r.${name}.v1`),
    /** Something is written, and the reader offers it. */
    offer: async (letter: string): Promise<void> => {
      await owner.record(`${letter}${client.place}.r.${name}.v1`);
      const since = { seq: client.place, at: world.now(), epoch: epochTag(epoch) };
      const page = await readChanges(deps, actor, QUERY, { since, limit: 9 });
      assert.ok(typeof page !== 'string');
      client.place = page.place.seq;
      follower!.offer(page.rows);
    },
  };
}

apiScenarios('changes, sender', {
  'what comes while a live client has no room is read from the log when it has': async (store) => {
    const { world, client, sender, keys, offer, begin } = await openSender(store);
    begin();
    sender.tick(false);
    while (!keys().includes('a')) await offer('a');
    const told = keys();
    await (await world.customer()).namespace();
    client.place = (await store.changes.bounds()).head;
    sender.tick(false);
    assert.equal(keys(), told, 'what others write moves its place without a word');
    sender.tick(true);
    assert.equal(keys(), `${told}.`, 'but for the heartbeat');
    client.isReady = false;
    await offer('b');
    client.isReady = true;
    while (!keys().includes('c')) {
      sender.tick(false);
      await offer('c');
    }
    assert.match(keys().replaceAll('.', ''), /^a+bc+$/);
    await world.close();
  },

  'what the reader reads for others before it admits the client is in a page (seed 251605423)': async (
    store,
  ) => {
    const { world, client, sender, keys, write, admit, offer } = await openSender(store);
    sender.begin();
    for (let i = 0; i < 3; i++) {
      sender.tick(false);
      await setImmediate();
    }
    // A read that began before this client joined is of other customers.
    await write('a');
    client.place = (await store.changes.bounds()).head;
    sender.tick(false);
    admit();
    while (!keys().includes('b')) {
      sender.tick(false);
      await offer('b');
    }
    assert.match(keys().replaceAll('.', ''), /^ab+$/);
    await world.close();
  },

  'what the reader offers while a page is read comes with the next page': async (store) => {
    const offered = Promise.withResolvers<void>();
    let pages = 0;
    const opened = await openSender(store, async () => {
      if (pages++ > 0) return;
      await opened.offer('a');
      offered.resolve();
    });
    const { world, sender, keys, offer } = opened;
    opened.begin();
    sender.tick(false);
    await offered.promise;
    while (!keys().includes('c')) {
      await offer('c');
      sender.tick(false);
    }
    assert.match(keys().replaceAll('.', ''), /^ac+$/);
    await world.close();
  },
});
