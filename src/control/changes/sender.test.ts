import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { openWorld } from '../../../test/support/http/world.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { Actor } from '../../http/actor.ts';
import type { LiveFollower } from '../live/reader.ts';
import { epochTag, openPositions } from '../unit.ts';
import { readChanges } from './pages.ts';
import type { FeedRow } from './rows.ts';
import { changeSender, createTurns } from './sender.ts';

const QUERY = { since: null, namespace: null, cascade: false } as const;

apiScenarios('changes, sender', {
  'what comes while a live client has no room is read from the log when it has': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const actor = { customerId: owner.id, namespaces: null } as Actor;
    const digest = createHash('sha256').update('positions').digest();
    const positions = openPositions(aesGcmEncryption(digest, (bytes) => randomBytes(bytes), 0));
    const deps = { store, clock: world.now, positions };
    const { epoch, head } = await store.changes.bounds();
    const written: string[] = [];
    let isReady = true;
    let place = head;
    let follower: LiveFollower<FeedRow> | null = null;
    const sender = changeSender(
      {
        ...deps,
        reader: {
          follow(one) {
            follower = one;
            return () => {};
          },
          place: () => place,
          epoch: () => epoch,
          reached: async () => true,
          async close() {},
        },
        turns: createTurns(1),
        onError: (error) => assert.fail(String(error)),
      },
      actor,
      { ...QUERY, since: { seq: head, at: world.now(), epoch: epochTag(epoch) } },
      {
        isReady: () => isReady,
        write(text) {
          written.push(/"key":"([abc])/.exec(text)?.[1] ?? (text.includes('checkpoint') ? '.' : ''));
          return isReady;
        },
        cutOff() {},
      },
    );
    const offer = async (letter: string): Promise<void> => {
      await owner.record(`${letter}${place}.r.${name}.v1`);
      const since = { seq: place, at: world.now(), epoch: epochTag(epoch) };
      const page = await readChanges(deps, actor, QUERY, { since, limit: 9 });
      assert.ok(typeof page !== 'string');
      place = page.place.seq;
      follower!.offer(page.rows);
    };
    sender.begin();
    sender.tick(false);
    const keys = (): string => written.join('');
    while (!keys().includes('a')) await offer('a');
    const told = keys();
    await (await world.customer()).namespace();
    place = (await store.changes.bounds()).head;
    sender.tick(false);
    assert.equal(keys(), told, 'what others write moves its place without a word');
    sender.tick(true);
    assert.equal(keys(), `${told}.`, 'but for the heartbeat');
    isReady = false;
    await offer('b');
    isReady = true;
    while (!keys().includes('c')) {
      sender.tick(false);
      await offer('c');
    }
    assert.match(keys().replaceAll('.', ''), /^a+bc+$/);
    await world.close();
  },
});
