/** What a node may do over a broker that runs with the files of `uqrp feed init`, and what it may not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { NatsConnection } from '@nats-io/transport-node';
import { type Bus, BusError } from '../../src/feed/bus/bus.ts';
import { NODE_ACCOUNT_LIMITS } from '../../src/feed/nodes/broker-config.ts';
import { parseCredentials } from '../../src/feed/ports/credentials.ts';
import { type BrokerFolder, brokerFolder, rawConnection } from '../support/feed/broker-folder.ts';
import { inState } from '../support/feed/bus/bus-suite.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';

const bytes = (of: string): Uint8Array => Buffer.from(of);
const text = (of: Uint8Array | null): string => (of === null ? '' : Buffer.from(of).toString());

describe('what a node may do over the broker', { skip: natsMissing() ?? false }, () => {
  let broker: BrokerFolder;
  let control: Bus;

  before(async () => {
    broker = await brokerFolder('fra1', 'ams1');
    control = broker.open(broker.credentials('control'));
    await inState(control, 'connected');
    for (let i = 0; i < 3; i++) await control.append(bytes(`m${i + 1}`), i);
    await control.putChunk('s1.1', bytes('chunk'));
  });
  after(() => broker?.close());

  /** Nothing that is stored has changed. */
  async function assertIntact(why = 'stored'): Promise<void> {
    const stored = (await control.readFrom(1, 10)).map(({ seq, data }) => `${seq} ${text(data)}`);
    assert.deepEqual(stored, ['1 m1', '2 m2', '3 m3'], why);
    assert.equal(text(await control.getChunk('s1.1')), 'chunk', why);
  }

  const HEARS = ['uqrp.v1.live', 'uqrp.v1.head', 'uqrp.v1.keys.fra1'];
  const SENDS = ['uqrp.v1.meter.fra1', 'uqrp.v1.state.fra1'];
  const ASKS = [
    'uqrp.v1.get.fra1',
    'uqrp.v1.get.keys.fra1',
    'uqrp.v1.get.secrets.fra1',
    'uqrp.v1.page.0123456789abcdef0123456789abcdef',
  ];

  async function assertWorks(node: Bus): Promise<void> {
    const heard: string[] = [];
    const stops = [
      ...HEARS.map((subject) => node.subscribe(subject, () => heard.push(subject))),
      ...SENDS.map((subject) => control.subscribe(subject, () => heard.push(subject))),
      ...ASKS.map((subject) => control.respond(subject, async (data) => bytes(`${subject} ${text(data)}`))),
    ];
    await Promise.all([control.readLast(), node.readLast()]);
    for (const subject of HEARS) control.publish(subject, bytes('x'));
    for (const subject of SENDS) node.publish(subject, bytes('x'));
    for (const subject of ASKS) {
      assert.equal(text(await node.request(subject, bytes('x'), 2_000)), `${subject} x`);
    }
    await Promise.all([control.readLast(), node.readLast()]);
    assert.deepEqual(heard.toSorted(), [...HEARS, ...SENDS].toSorted());
    assert.equal((await node.readFrom(1, 10)).length, 3);
    assert.equal((await node.readLast())!.seq, 3);
    assert.equal(text(await node.getChunk('s1.1')), 'chunk');
    for (const stop of stops) stop();
  }

  it('a node hears the feed, asks control, writes its own subjects, and goes on after a reload', async () => {
    const errors: unknown[] = [];
    const node = broker.open(broker.credentials('fra1'), (error) => errors.push(error));
    await inState(node, 'connected');
    await assertWorks(node);
    await broker.run('node', 'add', 'sin1');
    await broker.server.reload();
    await assertWorks(node);
    assert.deepEqual([errors, node.state(), control.state()], [[], 'connected', 'connected']);
    await node.close();
  });

  const DENIED: readonly (readonly ['publish' | 'subscription', string])[] = [
    // In the place of control.
    ['publish', 'uqrp.v1.live'],
    ['publish', 'uqrp.v1.log'],
    ['publish', 'uqrp.v1.head'],
    ['publish', 'uqrp.v1.snap.s1.1'],
    ['publish', 'uqrp.v1.keys.fra1'],
    ['publish', 'uqrp.v1.keys.ams1'],
    ['subscription', 'uqrp.v1.get.fra1'],
    ['subscription', 'uqrp.v1.get.*'],
    ['subscription', 'uqrp.v1.page.*'],
    // With the rights of an operator.
    ['publish', 'uqrp.v1.status'],
    ['publish', 'uqrp.v1.command'],
    // As another node.
    ['publish', 'uqrp.v1.meter.ams1'],
    ['publish', 'uqrp.v1.state.ams1'],
    ['publish', 'uqrp.v1.ask.ams1'],
    ['publish', 'uqrp.v1.get'],
    ['publish', 'uqrp.v1.get.ams1'],
    ['publish', 'uqrp.v1.get.keys.ams1'],
    ['publish', 'uqrp.v1.get.secrets.ams1'],
    ['publish', '_INBOX.ams1.x'],
    ['publish', '_INBOX.control.x'],
    // What is stored.
    ['publish', '$JS.API.STREAM.PURGE.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.DELETE.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.UPDATE.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.MSG.DELETE.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.MSG.GET.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.SNAPSHOT.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.INFO.UQRP_FEED'],
    ['publish', '$JS.API.STREAM.NAMES'],
    ['publish', '$JS.API.INFO'],
    ['publish', '$JS.API.DIRECT.GET.UQRP_SNAP'],
    ['publish', '$JS.API.DIRECT.GET.OTHER'],
    // State of its own in the broker.
    ['publish', '$JS.API.STREAM.CREATE.OTHER'],
    ['publish', '$JS.API.STREAM.RESTORE.OTHER'],
    ['publish', '$JS.API.CONSUMER.CREATE.UQRP_FEED'],
    ['publish', '$JS.API.CONSUMER.DURABLE.CREATE.UQRP_FEED.d'],
    ['publish', '$JS.API.CONSUMER.MSG.NEXT.UQRP_FEED.d'],
    // What others say.
    ['subscription', '>'],
    ['subscription', 'uqrp.v1.>'],
    ['subscription', 'uqrp.v1.*'],
    ['subscription', 'uqrp.v1.log'],
    ['subscription', 'uqrp.v1.keys.ams1'],
    ['subscription', 'uqrp.v1.keys.*'],
    ['subscription', 'uqrp.v1.meter.ams1'],
    ['subscription', 'uqrp.v1.state.>'],
    ['subscription', '_INBOX.ams1.>'],
    ['subscription', '_INBOX.control.>'],
    ['subscription', '_INBOX.>'],
    ['subscription', '_R_.>'],
    ['subscription', '$JS.>'],
    ['subscription', '$JS.EVENT.>'],
    ['subscription', '$SYS.>'],
    ['publish', '$SYS.REQ.SERVER.PING'],
  ];

  it('a node may do nothing else', async () => {
    const connection = await rawConnection(broker.credentials('fra1'));
    const denied = violations(connection);
    for (const [kind, subject] of DENIED) {
      if (kind === 'publish') connection.publish(subject, bytes(''));
      else connection.subscribe(subject, { queue: 'uqrp', callback: () => {} });
      await connection.flush();
    }
    await connection.close();
    assert.deepEqual(
      await denied,
      DENIED.map(([kind, subject]) => `${kind} ${subject}`),
    );
    await assertIntact();
  });

  /** Where a node may send to, and what is answered: nothing found, and control's empty answer. */
  const REQUESTS: readonly (readonly [string, string])[] = [
    ['$JS.API.DIRECT.GET.UQRP_FEED', '{"seq":1}'],
    ['$JS.API.DIRECT.GET.UQRP_FEED', '{"seq":99}'],
    ['$JS.API.DIRECT.GET.UQRP_SNAP.uqrp.v1.snap.none', ''],
    ['uqrp.v1.get.fra1', ''],
  ];
  /** Where it must not make the broker or control send to. */
  const ELSEWHERE = [
    '$JS.API.STREAM.PURGE.UQRP_FEED',
    '$JS.API.STREAM.DELETE.UQRP_FEED',
    '$JS.API.STREAM.DELETE.UQRP_SNAP',
    'uqrp.v1.log',
    'uqrp.v1.live',
    'uqrp.v1.snap.s1.1',
    'uqrp.v1.command',
  ];

  it('an answer that a node wants elsewhere changes nothing, and control does not hear it', async () => {
    const heard: string[] = [];
    const stops = [
      control.respond('uqrp.v1.get.*', async () => bytes('')),
      ...['uqrp.v1.live', 'uqrp.v1.command'].map((subject) =>
        control.subscribe(subject, () => heard.push(subject)),
      ),
    ];
    await control.readLast();
    const connection = await rawConnection(broker.credentials('fra1'));
    for (const [subject, body] of REQUESTS) {
      for (const reply of ELSEWHERE) {
        connection.publish(subject, body, { reply });
        // The next answer comes behind the one that went elsewhere.
        await connection.request(subject, body, { timeout: 5_000 }).catch(() => {});
        await assertIntact(`${subject}, answered at ${reply}`);
      }
    }
    assert.deepEqual(heard, []);
    await connection.close();
    for (const stop of stops) stop();
  });

  it('an answer that a node wants at a subject of another one stays with it (finding 3)', async () => {
    // Added while the broker runs, as most nodes are: its account must work after one SIGHUP.
    const added = parseCredentials(await broker.run('node', 'add', 'nyc1'));
    await broker.server.reload();
    for (const thief of [broker.credentials('fra1'), added]) {
      const victim = await rawConnection(broker.credentials('ams1'));
      const heard: string[] = [];
      const subjects = ['uqrp.v1.live', 'uqrp.v1.head', 'uqrp.v1.keys.ams1', '_INBOX.ams1.>'];
      for (const subject of subjects)
        victim.subscribe(subject, { callback: (_, { subject: at }) => void heard.push(at) });
      await victim.flush();
      const stop = control.respond(`uqrp.v1.get.${thief.name}`, async () => bytes('answer'));
      await control.readLast();
      const connection = await rawConnection(thief);
      for (const reply of ['uqrp.v1.live', 'uqrp.v1.head', 'uqrp.v1.keys.ams1', '_INBOX.ams1.x']) {
        connection.publish('$JS.API.DIRECT.GET.UQRP_FEED', '{"seq":1}', { reply });
        connection.publish(`uqrp.v1.get.${thief.name}`, 'x', { reply });
      }
      // Answers to the thief itself come behind those that it wanted elsewhere.
      const own = await connection.request('$JS.API.DIRECT.GET.UQRP_FEED', '{"seq":1}', { timeout: 5_000 });
      assert.equal(text(own.data), 'm1', thief.name);
      assert.equal(
        text((await connection.request(`uqrp.v1.get.${thief.name}`, 'x', { timeout: 5_000 })).data),
        'answer',
      );
      await victim.flush();
      assert.deepEqual(heard, []);
      // The feed itself still arrives.
      control.publish('uqrp.v1.live', bytes('batch'));
      await control.readLast();
      await victim.flush();
      assert.deepEqual(heard, ['uqrp.v1.live']);
      stop();
      await connection.close();
      await victim.close();
    }
    await broker.run('node', 'remove', 'nyc1');
    await broker.server.reload();
  });

  it('a node has a bounded number of subscriptions and connections: a stolen file does not take those of the others', async () => {
    const { connections, subscriptions } = NODE_ACCOUNT_LIMITS;
    const fra1 = broker.credentials('fra1');
    const opened = [await rawConnection(fra1)];
    const refused = violations(opened[0]!);
    for (let i = 0; i < 1_100; i++) opened[0]!.subscribe(`_INBOX.fra1.${i}`, { callback: () => {} });
    await opened[0]!.flush();
    while (opened.length < connections) opened.push(await rawConnection(fra1));
    await assert.rejects(rawConnection(fra1), /maximum.*connections/i);
    const other = await rawConnection(broker.credentials('ams1'));
    await other.flush();
    for (const connection of [...opened, other]) await connection.close();
    assert.equal((await refused).length, 1_100 - subscriptions);
    await (await rawConnection(fra1)).close();
    await assertIntact();
  });

  it('strangers do not come in: each has one thing that is wrong', async () => {
    const own = broker.credentials('fra1');
    const other = await brokerFolder('fra1');
    const stranger = other.credentials('fra1');
    await other.close();
    await (await rawConnection(own)).close();
    const attempts = {
      'an nkey of another feed': () => rawConnection({ ...own, seed: stranger.seed }),
      'a certificate of another authority': () =>
        rawConnection({ ...own, cert: stranger.cert, key: stranger.key }),
      'no certificate': () => rawConnection(own, { ca: own.ca }),
      'a broker of another authority': () => rawConnection({ ...own, ca: stranger.ca }),
    };
    for (const [name, attempt] of Object.entries(attempts)) await assert.rejects(attempt(), Error, name);
  });

  it('without TLS nobody comes in', async () => {
    const [host, port] = broker.server.address.split(':');
    const socket = connectTcp(Number(port), host);
    let said = '';
    socket.on('data', (chunk: Buffer) => {
      if (said === '') socket.write('CONNECT {"verbose":true}\r\nPING\r\n');
      said += chunk.toString();
    });
    socket.on('error', () => {});
    await once(socket, 'close');
    assert.match(said, /^INFO .*"tls_required":true/);
    assert.doesNotMatch(said, /PONG|\+OK/);
  });

  it('a removed node is cut off when the broker reads its file again, and comes in no more', async () => {
    const [removed, stays] = [broker.credentials('ams1'), broker.credentials('fra1')].map((of) => {
      const errors: unknown[] = [];
      return { bus: broker.open(of, (error) => errors.push(error)), errors };
    }) as [{ bus: Bus; errors: unknown[] }, { bus: Bus; errors: unknown[] }];
    await Promise.all([inState(removed.bus, 'connected'), inState(stays.bus, 'connected')]);
    await broker.run('node', 'remove', 'ams1');
    await broker.server.reload();
    await inState(removed.bus, 'disconnected');
    const { length } = removed.errors;
    while (removed.errors.length < length + 2) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(removed.bus.state(), 'disconnected');
    await assert.rejects(removed.bus.readLast(), BusError);
    assert.deepEqual([control.state(), stays.bus.state(), stays.errors], ['connected', 'connected', []]);
    await assertWorks(stays.bus);
    // Its name may be given again: with a new nkey.
    const again = parseCredentials(await broker.run('node', 'add', 'ams1'));
    assert.notEqual(again.seed, broker.credentials('ams1').seed);
    await broker.server.reload();
    await assert.rejects(rawConnection(broker.credentials('ams1')));
    await (await rawConnection(again)).close();
  });
});

/** What the broker refused, once the connection is closed. */
async function violations(connection: NatsConnection): Promise<string[]> {
  const found: string[] = [];
  for await (const status of connection.status()) {
    if (status.type !== 'error') continue;
    const { operation, subject } = status.error as { operation?: string; subject?: string };
    found.push(`${operation} ${subject}`);
  }
  return found;
}
