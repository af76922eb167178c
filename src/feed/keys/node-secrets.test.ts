import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { secrets as feedSecrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { changingNodes } from '../../../test/support/feed/keys/key-world.ts';
import {
  markOf,
  own,
  START,
  secretsOf,
  secretsWorld,
} from '../../../test/support/feed/keys/secrets-world.ts';
import { keysSubject, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { startSecretsService } from './control-keys.ts';
import { NoSecretsError, openNodeSecrets } from './node-keys.ts';
import { SecretsCopyError } from './secrets.ts';

describe('the secrets of a node', () => {
  it('come at the connect, and again when they change, also when every push is lost at first', async () => {
    const { broker, timers, state, control, node, close } = secretsWorld();
    control();
    broker.bend = (subject, data) => (subject === keysSubject('fra1') ? null : data);
    const keys = node();
    await timers.advance(1_000);
    assert.equal(markOf(await keys.read()), 'a');
    state.secrets = secretsOf('b');
    await timers.advance(2_000);
    broker.bend = (_subject, data) => data;
    await timers.advance(60_000);
    assert.equal(markOf(await keys.read()), 'b');
    state.secrets = secretsOf('c');
    await timers.advance(1_000);
    assert.equal(markOf(await keys.read()), 'c');
    assert.deepEqual(keys.refused, []);
    await close();
  });

  it('are used from the same time on by every node, and those before until then', async () => {
    const { timers, state, control, node, close } = secretsWorld();
    control();
    const keys = node();
    await timers.advance(1_000);
    state.secrets = secretsOf('b', START + timers.now + 5_000);
    const { from } = state.secrets.zones[0]!;
    await timers.advance(2_000);
    assert.equal(markOf(await keys.read()), 'a');
    await timers.advance(from - START - timers.now - 1);
    assert.equal(markOf(await keys.read()), 'a');
    await timers.advance(1);
    assert.equal(markOf(await keys.read()), 'b');
    await close();
  });

  it('are not replaced by those of another process whose signatures alone differ', async () => {
    const { timers, state, control, node, close } = secretsWorld();
    control();
    const keys = node();
    await timers.advance(1_000);
    const { document } = (await keys.read()).zones[0]!;
    const [zone] = state.secrets.zones;
    state.secrets = {
      ...secretsOf('a'),
      zones: [{ ...zone!, document: 'signed again' }],
      cookies: [{ period: 8, secret: Buffer.alloc(16, 3) }],
    };
    await timers.advance(2_000);
    const found = await keys.read();
    assert.equal(found.cookies[0]!.period, 8);
    assert.equal(found.zones[0]!.document, document);
    await close();
  });

  it('of an earlier time, of others and of strangers change nothing', async () => {
    const { broker, timers, state, control, node, close } = secretsWorld();
    const seen: Uint8Array[] = [];
    broker.bend = (subject, data) => {
      if (subject === keysSubject('fra1')) seen.push(data);
      return data;
    };
    control();
    const keys = node();
    await timers.advance(1_000);
    state.secrets = secretsOf('b');
    await timers.advance(2_000);
    const hostile = broker.connect('hostile');
    for (const message of [...seen]) hostile.publish(keysSubject('fra1'), message);
    await timers.advance(2_000);
    assert.equal(markOf(await keys.read()), 'b');
    assert.ok(keys.refused.includes('replayed'));
    await close();
  });

  it('are given to no node that is not in the list, and stay while control cannot read its store', async () => {
    const { timers, state, control, node, close } = secretsWorld();
    state.nodes.set('ams1');
    control();
    const keys = node();
    const first = keys.read();
    const refused = assert.rejects(first, NoSecretsError);
    await timers.advance(4_000);
    await refused;
    state.nodes.set('fra1');
    await timers.advance(0);
    assert.equal(markOf(await keys.read()), 'a');
    state.isAway = true;
    await timers.advance(120_000);
    assert.equal(markOf(await keys.read()), 'a');
    await close();
  });

  it('are kept on disk, encrypted, so that the node starts with everything else dead', async () => {
    const { path, timers, control, node, close, broker } = secretsWorld();
    const stop = control();
    await (async () => {
      const keys = node();
      await timers.advance(1_000);
      await keys.read();
      const ended = keys.stop();
      await timers.advance(5_000);
      await ended;
    })();
    const text = readFileSync(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    for (const part of ['uqrp.net', Buffer.alloc(16, 1).toString('base64')]) {
      assert.equal(text.includes(part), false);
      assert.equal(Buffer.from(text.toString(), 'base64').includes(part), false);
    }
    const ended = stop();
    await timers.advance(5_000);
    await ended;
    broker.stop();
    const again = node();
    const reading = again.read();
    let isRead = false;
    void reading.then(() => {
      isRead = true;
    });
    await timers.advance(1_499);
    assert.equal(isRead, false, 'control is waited for first: keys may have left the zone');
    await timers.advance(1);
    assert.equal(markOf(await reading), 'a');
    assert.deepEqual(again.copyFaults, []);
    await close();
  });

  it('are written again with a later delivery when the disk was full', async () => {
    const { timers, copy, control, node, close } = secretsWorld();
    let isFull = true;
    const onDisk = copy();
    control();
    const keys = node({
      ...onDisk,
      write(kept) {
        if (isFull) throw new Error('ENOSPC');
        onDisk.write(kept);
      },
    });
    await timers.advance(120_000);
    assert.equal(keys.copyFaults.length, 1, 'reported once');
    assert.equal(keys.isKept(), false);
    isFull = false;
    await timers.advance(60_000);
    assert.equal(markOf(onDisk.read()!.secrets), 'a');
    assert.equal(keys.isKept(), true);
    await close();
  });

  it('that control sent before those of the copy are refused', async () => {
    const { broker, timers, control, node, close, copy } = secretsWorld();
    const seen: Uint8Array[] = [];
    broker.bend = (subject, data) => {
      if (subject === keysSubject('fra1')) seen.push(data);
      return subject === subjectOfNode(SUBJECTS.askSecrets, 'fra1') ? null : data;
    };
    copy().write({ at: START + 3_600_000, database: 'one', secrets: secretsOf('later') });
    control();
    const keys = node();
    const reading = keys.read();
    await timers.advance(4_000);
    assert.equal(markOf(await reading), 'later');
    assert.ok(seen.length > 0 && keys.refused.includes('replayed'));
    await close();
  });

  it('on disk that are torn, of another node or of other credentials are reported, and not used', async () => {
    const { path, timers, control, node, close, copy } = secretsWorld();
    copy().write({ at: 1, database: 'one', secrets: secretsOf('a') });
    const whole = readFileSync(path, 'utf8');
    const damages: (() => void)[] = [
      () => writeFileSync(path, whole.slice(0, -9)),
      () => writeFileSync(path, ''),
      () => copy(6).write({ at: 1, database: 'one', secrets: secretsOf('a') }),
      () => copy(5, 'ams1').write({ at: 1, database: 'one', secrets: secretsOf('a') }),
    ];
    for (const damage of damages) {
      damage();
      assert.throws(() => copy().read(), SecretsCopyError);
    }
    const keys = node();
    assert.ok(keys.copyFaults[0] instanceof SecretsCopyError);
    assert.ok(keys.copyFaults[0].message.includes(path));
    control();
    await timers.advance(1_000);
    assert.equal(markOf(await keys.read()), 'a');
    assert.equal(markOf(copy().read()!.secrets), 'a', 'it is replaced');
    await close();
  });

  it('of another database are refused, running and after a restart, until they are accepted', async () => {
    const { timers, state, control, node, close } = secretsWorld();
    const first = control();
    const keys = node();
    await timers.advance(1_000);
    await Promise.all([first(), timers.advance(5_000)]);
    state.database = 'two';
    state.secrets = secretsOf('b');
    control();
    await timers.advance(70_000);
    assert.equal(markOf(await keys.read()), 'a');
    assert.ok(keys.refused.length > 0 && keys.refused.every((reason) => reason === 'epoch'));
    const again = node();
    await timers.advance(5_000);
    assert.equal(markOf(await again.read()), 'a');
    assert.ok(again.refused.includes('epoch'));
    const accepting = node(undefined, true);
    await timers.advance(5_000);
    assert.equal(markOf(await accepting.read()), 'b');
    const after = node();
    await timers.advance(5_000);
    assert.equal(markOf(await after.read()), 'b', 'the copy is of the other database now');
    await close();
  });

  it('come over NATS, beside the hourly keys', { skip: natsMissing() ?? false }, async () => {
    const nats = await natsWorld(await startNats());
    let mark = 'a';
    const [controlBus, nodeBus] = [nats.open(), nats.open()];
    const stop = startSecretsService({
      source: { read: async () => secretsOf(mark) },
      database: 'one',
      end: controlEnd(controlBus, {
        verifierOf: keyOfAny,
        signing: { signer: feedSecrets.signer, random: (octets) => randomBytes(octets) },
        clock: Date.now,
      }),
      nodes: changingNodes('fra1'),
    });
    const keys = openNodeSecrets({
      bus: nodeBus,
      rpc: nodeEnd(nodeBus, 'fra1', { random: (octets) => randomBytes(octets) }),
      verifier,
      own,
      copy: { read: () => null, write() {} },
    });
    assert.equal(markOf(await keys.read()), 'a');
    mark = 'b';
    while (markOf(await keys.read()) !== 'b') await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([stop(), keys.stop()]);
    await nats.close();
  });
});
