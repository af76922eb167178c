import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, nkeys } from '@nats-io/transport-node';
import { inState } from '../../../../test/support/feed/bus/bus-suite.ts';
import { type NatsServer, natsMissing, startNats } from '../../../../test/support/feed/bus/nats-server.ts';
import { natsWorld, SMALL_STREAMS } from '../../../../test/support/feed/bus/nats-world.ts';
import { makeSelfSigned } from '../../../base/certificates.ts';
import { type Bus, BusError, type BusState, STREAMS, SUBJECTS } from '../bus.ts';
import { answeredInOrder, readsAtOnce } from './streams.ts';

/** Until a subscription that was refused is asked for again. */
const REFUSED_MS = 5_000;

const bytes = (of: string): Uint8Array => Buffer.from(of);
const opened = async (bus: Bus): Promise<Bus> => {
  await inState(bus, 'connected');
  return bus;
};

describe('the bus over NATS', { skip: natsMissing() ?? false }, () => {
  it('is opened without a broker, and connects when there is one', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    await server.kill();
    const failed = Promise.withResolvers<unknown>();
    const bus = world.open({ onError: failed.resolve });
    let heard = '';
    bus.subscribe('one', (data) => {
      heard = Buffer.from(data).toString();
    });
    await failed.promise;
    assert.equal(bus.state(), 'disconnected');
    await assert.rejects(bus.readLast(), isFault('disconnected'));
    await server.start();
    await opened(bus);
    bus.publish('one', bytes('x'));
    await bus.readLast();
    assert.equal(heard, 'x');
    await world.close();
  });

  it('of control is connected, and live messages pass, while JetStream does not answer', async () => {
    const world = await natsWorld(await startNats(() => 'jetstream: disabled\n'));
    const [control, node] = await Promise.all([opened(world.open()), opened(world.open({ streams: null }))]);
    const heard = Promise.withResolvers<string>();
    control.respond('get', async (question) => question);
    node.subscribe('live', (data) => heard.resolve(Buffer.from(data).toString()));
    // The first one may share an attempt of before. The broker refuses the second one when it has the subscription.
    for (let twice = 0; twice < 2; twice++) await assert.rejects(control.append(bytes('a'), 0), BusError);
    await node.request('get', bytes('x'), 2_000);
    control.publish('live', bytes('change'));
    assert.equal(await heard.promise, 'change');
    assert.equal(control.state(), 'connected');
    await world.close();
  });

  it('lets the broker keep more parts of snapshots, never fewer, and says when it has no room for that', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    const control = await opened(world.open());
    const bound = async (): Promise<number> => {
      const connection = await connect({ servers: server.address });
      const { config } = await (await jetstreamManager(connection)).streams.info(STREAMS.chunks);
      await connection.close();
      return config.max_bytes;
    };
    await control.reserveChunks(SMALL_STREAMS.chunkOctets + 1);
    assert.equal(await bound(), SMALL_STREAMS.chunkOctets + 1);
    await control.reserveChunks(1);
    assert.equal(await bound(), SMALL_STREAMS.chunkOctets + 1);
    // It has 256 MB for everything.
    await assert.rejects(control.reserveChunks(2 ** 30), BusError);
    await world.close();
  });

  it('a read ends after 8 MiB of long messages, and after short ones 512 are asked for together', async () => {
    const world = await natsWorld(await startNats());
    const bus = await opened(world.open());
    const long = new Uint8Array(1_000_000);
    for (let i = 0; i < 18; i++) await bus.append(long, i);
    const first = await bus.readFrom(1, 256);
    // A slow machine brings fewer in time.
    assert.ok(first.length >= 1 && first.length <= 16, `${first.length}`);
    const next = first.length + 1;
    assert.equal((await bus.readFrom(next, 256))[0]?.seq, next);
    await world.close();
    assert.deepEqual(
      [1, 20_000, 500_000, 1_048_576].map((longest) => readsAtOnce(longest, 1_000)),
      [512, 52, 16, 16],
    );
    assert.equal(readsAtOnce(1, 3), 3);
  });

  it('of reads that a slow line does not bring in time those before the first one are used; else their error is told', async () => {
    const late = (): Promise<string> => Promise.reject(new BusError('timeout'));
    const of = (text: string): Promise<string> => Promise.resolve(text);
    assert.deepEqual(await answeredInOrder([of('a'), of('b')]), { found: ['a', 'b'], isWhole: true });
    assert.deepEqual(await answeredInOrder([of('a'), late(), of('c'), late()]), {
      found: ['a'],
      isWhole: false,
    });
    await assert.rejects(answeredInOrder([late(), of('b'), late()]), isFault('timeout'));
  });

  it('has every listener that was added while it connected', async () => {
    const world = await natsWorld(await startNats());
    const bus = world.open();
    const subjects: string[] = [];
    while (bus.state() !== 'connected') {
      const subject = `question.${subjects.length}`;
      subjects.push(subject);
      bus.respond(subject, async (data) => data);
      await nextTurn();
    }
    const asks = await opened(world.open());
    for (const subject of subjects) await asks.request(subject, bytes('x'), 2_000);
    await world.close();
  });

  it('a message above what the broker takes is reported, and ends neither the process nor the connection', async () => {
    const world = await natsWorld(await startNats(() => 'max_payload: 1000'));
    const errors: unknown[] = [];
    const bus = await opened(world.open({ streams: null, onError: (error) => errors.push(error) }));
    bus.publish('one', new Uint8Array(2_000));
    assert.equal(errors.length, 1);
    bus.respond('large', async () => new Uint8Array(2_000));
    bus.respond('small', async (data) => data);
    await assert.rejects(bus.request('large', bytes('x'), 200), isFault('timeout'));
    assert.equal(errors.length, 2);
    await bus.request('small', bytes('x'), 2_000);
    await world.close();
  });

  it('tries again until it is closed', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    await server.kill();
    let attempts = 0;
    const four = Promise.withResolvers<void>();
    const bus = world.open({
      onError: () => {
        if (++attempts === 4) four.resolve();
      },
    });
    await four.promise;
    await bus.close();
    const made = attempts;
    await world.close();
    assert.equal(attempts, made);
  });

  it('what was appended is there after a SIGKILL of the broker, which takes it in sequence again', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    const bus = await opened(world.open());
    for (let i = 0; i < 20; i++) await bus.append(bytes(`${i + 1}`), i);
    for (let round = 0; round < 3; round++) {
      await world.stop();
      await inState(bus, 'disconnected');
      await world.start();
      await inState(bus, 'connected');
      const { seq } = (await bus.readLast())!;
      assert.equal(seq, 20 + round);
      assert.equal(await bus.append(bytes('more'), seq), seq + 1);
    }
    await world.close();
  });

  it('control makes the streams where they are missing, also after the broker lost its disk; a node does not', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    const node = await opened(world.open({ streams: null }));
    await assert.rejects(node.readLast(), BusError);
    const control = await opened(world.open());
    assert.equal(await control.readLast(), null);
    assert.equal(await node.readLast(), null);
    await control.append(bytes('a'), 0);
    await server.kill();
    await inState(control, 'disconnected');
    rmSync(join(server.dir, 'store'), { recursive: true });
    await server.start();
    await inState(control, 'connected');
    await inState(node, 'connected');
    assert.equal(await control.append(bytes('b'), 0), 1);
    assert.equal((await node.readLast())?.seq, 1);
    await world.close();
  });

  it('hears nothing that was published while it was away, and no state twice', async () => {
    const server = await startNats();
    const world = await natsWorld(server);
    const bus = await opened(world.open());
    const states: BusState[] = [];
    bus.onState((state) => states.push(state));
    for (let round = 0; round < 2; round++) {
      await server.kill();
      await inState(bus, 'disconnected');
      await server.start();
      await inState(bus, 'connected');
    }
    assert.deepEqual(states, ['disconnected', 'connected', 'disconnected', 'connected']);
    await world.close();
  });
});

const isFault = (reason: BusError['reason']) => (error: unknown) =>
  error instanceof BusError && error.reason === reason;

describe('the bus over NATS with TLS and nkeys', { skip: natsMissing() ?? false }, () => {
  const pair = makeSelfSigned({ hosts: ['127.0.0.1'], now: Date.now() });
  const [control, node, stranger] = [nkeys.createUser(), nkeys.createUser(), nkeys.createUser()];
  const seedOf = (user: typeof control): string => Buffer.from(user.getSeed()).toString();

  /** Control may do everything but read a copy of the stream, the node may hear the live subject and receive answers of its own. */
  function config(dir: string): string {
    writeFileSync(join(dir, 'cert.pem'), pair.cert);
    writeFileSync(join(dir, 'key.pem'), pair.key);
    return `
      tls { cert_file: "${dir}/cert.pem", key_file: "${dir}/key.pem" }
      authorization { users: [
        { nkey: ${control.getPublicKey()}, permissions: { publish: { deny: "$JS.API.DIRECT.GET.UQRP_FEED.>" } } }
        { nkey: ${node.getPublicKey()}, permissions: {
          publish: ["${SUBJECTS.get}", "$JS.API.DIRECT.GET.UQRP_FEED", "$JS.API.DIRECT.GET.UQRP_FEED.>"]
          subscribe: ["${SUBJECTS.live}", "_INBOX.fra1.>"]
        } }
      ] }`;
  }

  const tls = { ca: pair.cert };
  async function worldOf(
    run: (server: NatsServer, world: Awaited<ReturnType<typeof natsWorld>>) => Promise<void>,
  ) {
    const server = await startNats(config);
    const world = await natsWorld(server);
    try {
      await run(server, world);
    } finally {
      await world.close();
    }
  }

  it('connects with a private CA and an nkey, and a node needs no more than its permissions', () =>
    worldOf(async (_server, world) => {
      const writer = await opened(world.open({ tls, seed: seedOf(control) }));
      writer.respond(SUBJECTS.get, async () => bytes('answer'));
      await writer.append(bytes('a'), 0);
      await writer.append(bytes('b'), 1);
      const denied = Promise.withResolvers<unknown>();
      const own = { tls, seed: seedOf(node), inboxPrefix: '_INBOX.fra1', streams: null };
      const reader = await opened(world.open({ ...own, onError: denied.resolve }));
      assert.equal((await reader.readFrom(1, 10)).length, 2);
      assert.equal((await reader.readLast())!.seq, 2);
      assert.equal(Buffer.from(await reader.request(SUBJECTS.get, bytes('x'), 2_000)).toString(), 'answer');
      // May not be written by a node: nothing arrives, and the broker says so.
      const heard: string[] = [];
      writer.subscribe(SUBJECTS.live, (data) => heard.push(Buffer.from(data).toString()));
      await writer.readLast();
      reader.publish(SUBJECTS.live, bytes('forged'));
      assert.match(String(await denied.promise), /permissions violation/i);
      await assert.rejects(reader.append(bytes('forged'), 2), BusError);
      assert.equal((await writer.readLast())!.seq, 2);
      assert.deepEqual(heard, []);
    }));

  it('asks again for a subscription that the broker refused: it may know this end later', (t) =>
    worldOf(async (server, world) => {
      const allowed = config(server.dir);
      const file = join(server.dir, 'nats-server.conf');
      const whole = readFileSync(file, 'utf8');
      const denied = Promise.withResolvers<unknown>();
      const writer = await opened(world.open({ tls, seed: seedOf(control) }));
      const own = { tls, seed: seedOf(node), inboxPrefix: '_INBOX.fra1', streams: null };
      const reader = await opened(world.open({ ...own, onError: denied.resolve }));
      let isHeard = false;
      reader.subscribe(SUBJECTS.live, () => {
        isHeard = true;
      });
      t.mock.timers.enable({ apis: ['setTimeout'] });
      writeFileSync(file, whole.replace(allowed, allowed.replace(`"${SUBJECTS.live}", `, '')));
      await server.reload();
      await denied.promise;
      writeFileSync(file, whole);
      await server.reload();
      // A busy broker may refuse it once more before it takes the file: then it is asked again later.
      while (!isHeard) {
        t.mock.timers.tick(REFUSED_MS);
        await reader.readLast();
        writer.publish(SUBJECTS.live, bytes('x'));
        await writer.readLast();
        await nextTurn();
      }
      t.mock.timers.reset();
    }));

  it('asks the leader of the stream for its end when it is control: a copy may lag behind', () =>
    worldOf(async (_server, world) => {
      const writer = await opened(world.open({ tls, seed: seedOf(control) }));
      assert.equal(await writer.readLast(), null);
      await writer.append(bytes('a'), 0);
      await writer.append(bytes('b'), 1);
      const { seq, data } = (await writer.readLast())!;
      assert.deepEqual([seq, Buffer.from(data).toString()], [2, 'b']);
    }));

  it('does not connect with an unknown nkey, without one, without TLS, or to a broker of another CA', () =>
    worldOf(async (_server, world) => {
      const other = makeSelfSigned({ hosts: ['127.0.0.1'], now: Date.now() });
      const attempts = [
        { tls, seed: seedOf(stranger) },
        { tls },
        { seed: seedOf(control) },
        { tls: { ca: other.cert }, seed: seedOf(control) },
      ];
      for (const [i, attempt] of attempts.entries()) {
        const failed = Promise.withResolvers<unknown>();
        const bus = world.open({ ...attempt, onError: failed.resolve });
        bus.onState((state) => assert.equal(state, 'disconnected', `attempt ${i}`));
        assert.ok((await failed.promise) instanceof Error, `attempt ${i}`);
        assert.equal(bus.state(), 'disconnected');
        await bus.close();
      }
    }));
});
