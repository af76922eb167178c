import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  ednsQuery,
  frame,
  idOf,
  option,
  optionsOf,
  query,
  type Setting,
  setting,
  until,
} from '../../../test/support/dns/fakes.ts';
import { decodeMessage } from '../../protocol/dns/message/message.ts';
import { ServerCookies } from '../shared/cookies.ts';
import type { Listener } from '../shared/listener.ts';
import type { QueryMeter } from '../shared/rate-limit.ts';
import { FrameSplitter } from './framing.ts';
import { listenTcp, type StreamOptions } from './stream-server.ts';

const CLIENT = '0102030405060708';
const cookies = new ServerCookies(() => new Uint8Array(16), Date.now);

interface Peer {
  readonly socket: Socket;
  readonly replies: Buffer[];
  readonly ended: () => boolean;
  readonly send: (...queries: Buffer[]) => void;
}

interface Scene {
  readonly options: Setting;
  readonly listener: Listener;
  readonly peer: () => Peer;
}

async function withTcp(
  extra: Partial<StreamOptions>,
  scenario: (scene: Scene) => Promise<void>,
): Promise<void> {
  const options = setting();
  const listener = await listenTcp({ ...options, ...extra });
  const peers: Peer[] = [];
  const peer = (): Peer => {
    const made = connectTo(listener);
    peers.push(made);
    return made;
  };
  try {
    await scenario({ options, listener, peer });
  } finally {
    for (const { socket } of peers) socket.destroy();
    await listener.close(0);
  }
}

function connectTo(listener: Listener): Peer {
  const socket = connect({ port: listener.address.port, host: '127.0.0.1', allowHalfOpen: true });
  const splitter = new FrameSplitter();
  const replies: Buffer[] = [];
  let ended = false;
  socket.on('data', (chunk: Buffer) => {
    splitter.push(chunk);
    for (let reply = splitter.next(); reply !== null; reply = splitter.next())
      replies.push(Buffer.from(reply));
  });
  socket.on('error', () => socket.destroy());
  for (const event of ['end', 'close']) socket.on(event, () => (ended = true));
  const send = (...queries: Buffer[]): void =>
    void socket.write(Buffer.concat(queries.map((each) => frame(each, each.length))));
  return { socket, replies, ended: () => ended, send };
}

test('cookie and timeout come with replies from the cache and others, padding does not', async () => {
  await withTcp({ cookies, limits: { idleMs: 12_000 } }, async ({ options, peer }) => {
    const { replies, send } = peer();
    const asked = { options: [option(12, '00'), option(11), option(10, CLIENT)] };
    send(ednsQuery(1, 'hot100', asked), ednsQuery(1, 'size100', asked), ednsQuery(1, 'size100'));
    await until(() => replies.length === 3);
    for (const reply of replies.slice(0, 2)) {
      assert.match(optionsOf(reply).join(' '), new RegExp(`^10:${CLIENT}01000000[0-9a-f]{24} 11:0078$`));
    }
    assert.deepEqual(optionsOf(replies[2]!), [], 'the shared reply is as it was');
    send(ednsQuery(1, 'size65532', asked));
    await until(() => replies.length === 4);
    assert.deepEqual([replies[3]!.length, decodeMessage(replies[3]!)!.tc], [65_532, false]);
    assert.deepEqual(options.faults, []);
  });
});

test('a crowded listener tells the shorter timeout that it then keeps', async () => {
  await withTcp({ limits: { idleMs: 1200, connections: 4 } }, async ({ options, peer }) => {
    const asked = { options: [option(11)] };
    const first = peer();
    first.send(ednsQuery(1, 'hot100', asked));
    await until(() => first.replies.length === 1);
    assert.deepEqual(optionsOf(first.replies[0]!), ['11:000c']);
    for (let i = 0; i < 3; i++) peer();
    await until(() => options.observe.count('tcp opened') === 4);
    const now = Date.now();
    first.send(ednsQuery(1, 'hot100', asked));
    await until(() => first.replies.length === 2);
    assert.deepEqual(optionsOf(first.replies[1]!), ['11:0003']);
    await until(first.ended);
    assert.ok(Date.now() - now >= 300, 'never before its time');
  });
});

const WAIT_MS = 5;

/** Lets `free` queries pass, then makes each wait; the waits end when the test moves the time. */
function gate(free: number) {
  const state = { left: free, asked: 0 };
  const timers = createManualTimers();
  const meter = (): QueryMeter => () => {
    state.asked++;
    if (state.left === 0) return WAIT_MS;
    state.left--;
    return 0;
  };
  return { state, timers, extra: { meter, timers } };
}

test('over its rate a peer waits: nothing is read, nothing is lost, the order is kept', async () => {
  const { state, timers, extra } = gate(3);
  await withTcp(extra, async ({ options, peer }) => {
    const { replies, send } = peer();
    send(...Array.from({ length: 8 }, (_, id) => query(id, id % 2 === 0 ? 'hot' : 'echo')));
    await until(() => state.asked === 4 && replies.length === 3);
    await timers.advance(WAIT_MS * 10);
    assert.deepEqual([state.asked, options.handler.asked.length, replies.length], [14, 3, 3]);
    state.left = 2;
    await timers.advance(WAIT_MS);
    await until(() => replies.length === 5);
    send(query(8, 'hot'));
    state.left = 100;
    await timers.advance(WAIT_MS);
    await until(() => replies.length === 9);
    assert.deepEqual(replies.map(idOf), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

test('a peer over its rate is not idle, and gets its answers after its FIN', async () => {
  const { state, timers, extra } = gate(1);
  const time = { now: 1_700_000_000_000 };
  const limits = { idleMs: 60 };
  await withTcp({ ...extra, limits, clock: () => time.now }, async ({ options, peer }) => {
    const { replies, send, socket, ended } = peer();
    const other = peer();
    send(query(1, 'hot'), query(2, 'hot'), query(3, 'echo'));
    socket.end();
    await until(() => state.asked === 2 && options.observe.count('tcp opened') === 2);
    time.now += 59;
    await timers.advance(WAIT_MS);
    // At this time the other, which never asked, is closed; the waiting one was checked in the same tick.
    time.now += 1;
    await until(other.ended);
    assert.deepEqual([replies.length, ended()], [1, false]);
    state.left = 10;
    await timers.advance(WAIT_MS);
    await until(() => replies.length === 3);
    await until(ended);
  });
});

test('a peer that left while it waited is let go when its time comes', async () => {
  const { state, timers, extra } = gate(0);
  await withTcp(extra, async ({ options, peer }) => {
    const { send, socket } = peer();
    send(query(1, 'hot'), query(2, 'hot'));
    await until(() => state.asked > 0);
    socket.destroy();
    state.left = 2;
    await timers.advance(WAIT_MS);
    await until(() => options.observe.count('tcp closed') === 1);
    assert.deepEqual([options.faults, timers.pending()], [[], []]);
  });
});

test('closing waits for queries over their rate', async () => {
  const { state, timers, extra } = gate(0);
  await withTcp(extra, async ({ listener, peer }) => {
    const { send, replies } = peer();
    send(query(1, 'hot'));
    await until(() => state.asked > 0);
    const closed = listener.close(60_000);
    state.left = 1;
    await timers.advance(WAIT_MS);
    await closed;
    await until(() => replies.length === 1);
  });
});

test('closing waits no longer than its grace, and nothing goes on behind a closed socket', async () => {
  const { state, timers, extra } = gate(0);
  await withTcp(extra, async ({ options, listener, peer }) => {
    peer().send(query(1, 'hot'));
    await until(() => state.asked > 0);
    await listener.close(1);
    const { asked } = state;
    await timers.advance(WAIT_MS * 10);
    assert.equal(state.asked, asked, 'the rate limit is not asked again');
    assert.deepEqual(timers.pending(), [], 'nothing waits');
    assert.equal(options.observe.count('tcp closed'), 1);
  });
});
