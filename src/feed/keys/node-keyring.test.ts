import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { nodeKeys } from '../../../test/support/feed/batch/keys.ts';
import { secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { mulberry } from '../../../test/support/feed/bus/feed-world.ts';
import { NO_FAULTS } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { changingNodes, keyWorld } from '../../../test/support/feed/keys/key-world.ts';
import { createMemoryFeedKeys } from '../../../test/support/feed/keys/memory-feed-keys.ts';
import { keysSubject, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { startKeyService } from './control-keys.ts';
import { READ_MS, WRITE_MS } from './hourly-keys.ts';
import { openNodeKeyring } from './node-keys.ts';

const MINUTE_MS = 60_000;
const START = 600_000 * WRITE_MS;
const hex = (id: Uint8Array): string => Buffer.from(id).toString('hex');

describe('the hourly keys that a node holds', () => {
  it('are asked for when every push was lost', async () => {
    const world = keyWorld(START);
    const control = world.control('one');
    const node = world.node('fra1');
    world.broker.bend = (subject, data) => (subject === keysSubject('fra1') ? null : data);
    await world.timers.advance(1_000);
    assert.notEqual(node.ring().find(control.secrets().key.id), null, 'asked at the connect');
    await control.renew();
    const { id } = control.secrets().key;
    assert.equal(node.ring().find(id), null);
    await world.timers.advance(1_000);
    assert.notEqual(node.ring().find(id), null, 'asked because a batch named the key');
    await world.close();
  });

  it('are asked for again until control answers, at most once in two seconds, and once a second for unknown keys', async () => {
    const world = keyWorld(START);
    const node = world.node('fra1');
    let asked = 0;
    world.broker.bend = (subject, data) => {
      if (subject === subjectOfNode(SUBJECTS.askKeys, 'fra1')) asked++;
      return data;
    };
    await world.timers.advance(30_000);
    const control = world.control('one');
    await world.timers.advance(3_000);
    assert.notEqual(node.present(), null);
    assert.equal(asked, 1);
    for (let i = 0; i < 100; i++) {
      assert.equal(node.ring().find(Buffer.alloc(16, i)), null);
      await world.timers.advance(100);
    }
    assert.ok(asked > 5 && asked <= 12, `${asked} questions in 10 seconds`);
    assert.equal(hex(node.present()!.id), hex(control.secrets().key.id));
    await world.close();
  });

  it('come again after an outage, with those of now', async () => {
    const world = keyWorld(START, 10_000);
    const control = world.control('one');
    const node = world.node('fra1');
    await world.timers.advance(1_000);
    const { id } = control.secrets().key;
    world.broker.cut('fra1');
    await world.timers.advance(WRITE_MS + READ_MS - 2_000);
    assert.notEqual(node.ring().find(id), null, 'to its last second');
    await world.timers.advance(2_000);
    assert.equal(node.ring().find(id), null, 'a node that hears nothing drops it too');
    assert.equal(node.present(), null);
    world.broker.heal('fra1');
    await world.timers.advance(1_000);
    assert.equal(hex(node.present()!.id), hex(control.secrets().key.id));
    await world.close();
  });

  it('of others, strangers and earlier times change nothing and are counted', async () => {
    const world = keyWorld(START);
    const control = world.control('one');
    const node = world.node('fra1');
    const seen: Uint8Array[] = [];
    world.broker.bend = (subject, data) => {
      if (subject.startsWith(SUBJECTS.keys)) seen.push(data);
      return data;
    };
    world.node('ams1');
    await world.timers.advance(1_000);
    await control.renew();
    await world.timers.advance(1_000);
    const { id } = node.present()!;
    const broker = world.broker.connect('hostile');
    for (const message of [...seen]) broker.publish(keysSubject('fra1'), message);
    broker.publish(keysSubject('fra1'), Buffer.from('UQFK'));
    await world.timers.advance(2_000);
    assert.equal(hex(node.present()!.id), hex(id));
    assert.ok(node.refused.includes('replayed') && node.refused.includes('recipient'));
    assert.ok(node.refused.includes('size'));
    await world.close();
  });

  for (const seed of [1, 2, 3]) {
    it(`every batch is readable for two hours, and no key is held for three, on a bus that loses messages (seed ${seed})`, async () => {
      const random = mulberry(seed);
      const world = keyWorld(START + Math.floor(random() * WRITE_MS), 15_000, random);
      const controls = [world.control('one'), world.control('two')];
      const node = world.node('fra1');
      await world.timers.advance(15_000);
      world.broker.faults = { ...NO_FAULTS, drop: 0.3, delayMs: 2_000, duplicate: 0.1 };
      const written = new Map<string, { id: Uint8Array; first: number; last: number }>();
      for (const end = world.clock() + 6 * 60 * MINUTE_MS; world.clock() < end; ) {
        await world.timers.advance(1_000 + Math.floor(random() * 4 * MINUTE_MS));
        const now = world.clock();
        const { id } = controls[random() < 0.5 ? 0 : 1]!.secrets().key;
        written.set(hex(id), { first: now, ...written.get(hex(id)), id, last: now });
        for (const key of written.values()) {
          const isReadable = node.ring().find(key.id) !== null;
          if (now - key.last <= READ_MS) assert.ok(isReadable, `${(now - key.last) / MINUTE_MS} minutes`);
          if (now - key.first >= 3 * 60 * MINUTE_MS) assert.ok(!isReadable);
        }
      }
      assert.ok(written.size >= 7);
      world.broker.faults = NO_FAULTS;
      await world.close();
    });
  }

  it('come over NATS: at the connect, by push, and after a restart of the broker', {
    skip: natsMissing() ?? false,
  }, async () => {
    const world = await natsWorld(await startNats());
    const [controlBus, nodeBus] = [world.open(), world.open()];
    const nodes = changingNodes('fra1');
    const random = (octets: number): Uint8Array => randomBytes(octets);
    const signing = { signer: secrets.signer, random };
    const control = startKeyService({
      store: createMemoryFeedKeys(),
      end: controlEnd(controlBus, { verifierOf: keyOfAny, signing, clock: Date.now }),
      nodes,
    });
    const own = { node: 'fra1', privateKey: nodeKeys(1).privateKey };
    const node = openNodeKeyring({ bus: nodeBus, rpc: nodeEnd(nodeBus, 'fra1', { random }), verifier, own });
    await Promise.all([control.ready, node.ready]);
    assert.equal(hex(node.present()!.id), hex(control.secrets().key.id));
    const renewed = new Promise<void>((resolve) => node.onKeys(resolve));
    await control.renew();
    await renewed;
    assert.equal(hex(node.present()!.id), hex(control.secrets().key.id));
    await world.stop();
    await control.renew();
    await world.start();
    while (node.ring().find(control.secrets().key.id) === null)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([control.stop(), node.stop()]);
    await world.close();
  });
});
