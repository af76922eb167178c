import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import {
  frame,
  idOf,
  labelOf,
  query,
  type Setting,
  setting,
  until,
} from '../../../test/support/dns/fakes.ts';
import type { Listener } from '../shared/listener.ts';
import { FrameSplitter } from './framing.ts';
import { listenTcp, type StreamLimits } from './stream-server.ts';

interface Peer {
  readonly socket: Socket;
  readonly replies: Buffer[];
  /** The server has hung up. */
  readonly ended: () => boolean;
  readonly send: (...queries: Buffer[]) => void;
}

interface Scene {
  readonly options: Setting;
  readonly listener: Listener;
  readonly peer: () => Promise<Peer>;
}

async function withTcp(
  limits: Partial<StreamLimits>,
  scenario: (scene: Scene) => Promise<void>,
  clock: () => number = Date.now,
): Promise<void> {
  const options = { ...setting(), clock };
  const listener = await listenTcp({ ...options, limits });
  const peers: Socket[] = [];
  try {
    await scenario({
      options,
      listener,
      peer: async () => {
        const socket = connect({ port: listener.address.port, host: '127.0.0.1', allowHalfOpen: true });
        peers.push(socket);
        await once(socket, 'connect');
        return listen(socket);
      },
    });
  } finally {
    for (const socket of peers) socket.destroy();
    await listener.close(0);
  }
}

function listen(socket: Socket): Peer {
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
  const send = (...queries: Buffer[]): void => void socket.write(framed(queries));
  return { socket, replies, ended: () => ended, send };
}

/** Waits until a count has risen and then stays the same for so many ticks. */
async function unchanged(count: () => number, ticks = 200): Promise<void> {
  await until(() => count() > 0);
  for (let last = count(), left = ticks; left > 0; left--) {
    await new Promise(setImmediate);
    if (count() !== last) left = ticks;
    last = count();
  }
}

const framed = (queries: readonly Buffer[]): Buffer => Buffer.concat(queries.map((each) => frame(each)));

test('hot, slow and late answers; late ones do not hold up the others', async () => {
  await withTcp({}, async ({ options, peer }) => {
    const { replies, send } = await peer();
    send(query(1, 'wait'), query(2, 'hot'), query(3, 'echo'), query(4, 'fail'));
    await until(() => replies.length === 3);
    assert.deepEqual(replies.map(idOf), [2, 3, 4]);
    options.handler.gate.open();
    await until(() => replies.length === 4);
    assert.equal(idOf(replies[3]!), 1);
    assert.equal(options.observe.count('tcp reply 0'), 3);
    assert.equal(options.observe.count('tcp reply 2'), 1);
  });
});

test('500 queries in one write come back, hot and slow', async () => {
  await withTcp({}, async ({ peer }) => {
    for (const label of ['hot', 'echo']) {
      const { replies, send } = await peer();
      send(...Array.from({ length: 500 }, (_, id) => query(id, label)));
      await until(() => replies.length === 500);
      assert.deepEqual(
        replies.map(idOf),
        Array.from({ length: 500 }, (_, id) => id),
      );
    }
  });
});

test('a query in single octets', async () => {
  await withTcp({}, async ({ peer }) => {
    const { socket, replies } = await peer();
    for (const octet of framed([query(7, 'echo')])) {
      socket.write(Uint8Array.of(octet));
      await new Promise(setImmediate);
    }
    await until(() => replies.length === 1);
    assert.equal(labelOf(replies[0]!), 'echo');
  });
});

test('answers of 65,535 octets arrive whole', async () => {
  await withTcp({}, async ({ peer }) => {
    const { replies, send } = await peer();
    send(...Array.from({ length: 20 }, (_, id) => query(id, 'big')));
    await until(() => replies.length === 20);
    assert.deepEqual(new Set(replies.map((reply) => reply.length)), new Set([65_535]));
  });
});

test('after its FIN a peer still gets its answers, then ours', async () => {
  await withTcp({}, async ({ options, peer }) => {
    const { socket, replies, send, ended } = await peer();
    send(query(1, 'echo'), query(2, 'wait'));
    socket.end();
    await until(() => replies.length === 1);
    assert.equal(ended(), false);
    options.handler.gate.open();
    await until(ended);
    assert.deepEqual(replies.map(idOf), [1, 2]);
    await until(() => options.observe.count('tcp closed') === 1);
  });
});

test('no more than the limit are in flight on one connection', async () => {
  await withTcp({ pipeline: 4 }, async ({ options, peer }) => {
    const { socket, replies, send } = await peer();
    send(...Array.from({ length: 10 }, (_, id) => query(id, 'wait')));
    socket.end();
    const other = await peer();
    other.send(query(1, 'echo'));
    await until(() => other.replies.length === 1);
    assert.equal(options.handler.asked.filter((label) => label === 'wait').length, 4);
    options.handler.gate.open();
    await until(() => replies.length === 10);
  });
});

test('a length of zero ends the connection, after the answers before it', async () => {
  await withTcp({}, async ({ options, peer }) => {
    const { socket, replies, ended } = await peer();
    socket.write(Buffer.concat([framed([query(1, 'echo')]), Buffer.of(0, 0), framed([query(2, 'echo')])]));
    await until(ended);
    assert.deepEqual(replies.map(idOf), [1]);
    assert.equal(options.observe.count('tcp malformed'), 1);
  });
});

test('a message that is no query is ignored; a failing handler, or a reply of 65,536 octets, costs one answer', async () => {
  await withTcp({}, async ({ options, peer }) => {
    const { replies, send } = await peer();
    const bad = ['mute', 'throw', 'reject', 'huge'].map((label, id) => query(id, label));
    send(Buffer.from('short'), ...bad, query(4, 'big'), query(5, 'echo'));
    await until(() => replies.length === 2 && options.faults.length === 3);
    assert.deepEqual(
      replies.map((reply) => [idOf(reply), reply.length]),
      [
        [4, 65_535],
        [5, query(5, 'echo').length],
      ],
    );
    assert.equal(options.observe.count('tcp malformed'), 2);
  });
});

test('connections that are silent, incomplete or too slow are closed; busy and waiting ones are not', async () => {
  await withTcp({ idleMs: 300 }, async ({ options, peer }) => {
    const [silent, half, dripping, busy, waiting] = [
      await peer(),
      await peer(),
      await peer(),
      await peer(),
      await peer(),
    ];
    half.socket.write(framed([query(1, 'echo')]).subarray(0, 9));
    waiting.send(query(2, 'wait'));
    dripping.socket.write(Uint8Array.of(1));
    const drip = setInterval(() => dripping.socket.write(Uint8Array.of(1)), 20);
    const work = setInterval(() => busy.send(query(3, 'echo')), 20);
    await until(() => silent.ended() && half.ended() && dripping.ended());
    clearInterval(drip);
    clearInterval(work);
    assert.equal(busy.ended(), false);
    assert.equal(waiting.ended(), false);
    options.handler.gate.open();
    await until(() => waiting.replies.length === 1);
    await until(() => options.observe.count('tcp closed') === 5);
  });
});

test('a peer that reads no answers is not read from, and is closed after a time', async () => {
  await withTcp({ drainMs: 300, idleMs: 60_000 }, async ({ options, peer }) => {
    const { socket, send } = await peer();
    socket.pause();
    const asked = 3000;
    send(...Array.from({ length: asked }, (_, id) => query(id, 'big')));
    await until(() => options.observe.count('tcp closed') === 1);
    assert.ok(options.handler.asked.length < asked, `${options.handler.asked.length} answered`);
  });
});

test('a slow reader that does read gets everything', async () => {
  await withTcp({ drainMs: 60_000 }, async ({ options, peer }) => {
    const { socket, replies, send } = await peer();
    socket.pause();
    send(...Array.from({ length: 300 }, (_, id) => query(id, 'big')));
    // The server stops when the buffers on the way are full, and from then on answers nothing.
    await unchanged(() => options.handler.asked.length);
    assert.ok(options.handler.asked.length < 300, `${options.handler.asked.length} answered`);
    socket.resume();
    await until(() => replies.length === 300);
    assert.equal(new Set(replies.map(idOf)).size, 300);
  });
});

test('connections of one address: the limit, and one more', async () => {
  await withTcp({ connectionsPerAddress: 3 }, async ({ options, peer }) => {
    const first = await peer();
    await peer();
    await peer();
    await until(() => options.observe.count('tcp opened') === 3);
    const fourth = await peer();
    await until(fourth.ended);
    assert.equal(options.observe.count('tcp refused'), 1);
    first.socket.destroy();
    await until(() => options.observe.count('tcp closed') === 1);
    const fifth = await peer();
    fifth.send(query(1, 'echo'));
    await until(() => fifth.replies.length === 1);
  });
});

test('a full listener closes its longest idle connection; if none is idle, it refuses the new one', async () => {
  const time = { now: 1_700_000_000_000 };
  const scenario = async ({ options, peer }: Scene): Promise<void> => {
    const peers: Peer[] = [];
    for (const label of ['wait', 'echo', 'echo']) {
      const made = await peer();
      peers.push(made);
      made.send(query(1, label));
      await until(() => options.handler.asked.length === peers.length);
      time.now++;
    }
    const fourth = await peer();
    await until(() => peers[1]!.ended());
    assert.deepEqual(
      peers.map((each) => each.ended()),
      [false, true, false],
    );
    fourth.send(query(2, 'wait'));
    peers[2]!.send(query(2, 'wait'));
    await until(() => options.handler.asked.length === 5);
    const fifth = await peer();
    await until(fifth.ended);
    assert.equal(options.observe.count('tcp refused'), 1);
    options.handler.gate.open();
    await until(() => fourth.replies.length === 1 && peers[0]!.replies.length === 1);
  };
  await withTcp({ connections: 3, connectionsPerAddress: 0 }, scenario, () => time.now);
});

test('300 idle connections of one address stay open when the limit is off', async () => {
  await withTcp({ connectionsPerAddress: 0 }, async ({ peer }) => {
    const peers = await Promise.all(Array.from({ length: 300 }, peer));
    for (const each of peers) each.send(query(1, 'hot'));
    await until(() => peers.every((each) => each.replies.length === 1));
  });
});

test('closing: idle connections end, pending answers arrive, new connections are refused', async () => {
  await withTcp({}, async ({ options, listener, peer }) => {
    const idle = await peer();
    const owed = await peer();
    owed.send(query(1, 'wait'));
    await until(() => options.handler.asked.length === 1);
    const closed = listener.close(60_000);
    await until(idle.ended);
    idle.socket.end();
    await assert.rejects(peer(), { code: 'ECONNREFUSED' });
    assert.equal(owed.ended(), false);
    options.handler.gate.open();
    await until(owed.ended);
    assert.equal(owed.replies.length, 1);
    owed.socket.end();
    await closed;
    assert.equal(listener.close(0), listener.close(0));
  });
});

test('closing with a grace of nothing does not wait', async () => {
  await withTcp({}, async ({ options, listener, peer }) => {
    const owed = await peer();
    owed.send(query(1, 'wait'));
    await until(() => options.handler.asked.length === 1);
    await listener.close(0);
    await until(owed.ended);
    options.handler.gate.open();
    await new Promise(setImmediate);
    assert.deepEqual(options.faults, []);
  });
});

test('two listeners share a port with reusePort', async () => {
  const first = await listenTcp({ ...setting(), reusePort: true });
  const { port } = first.address;
  const second = await listenTcp({ ...setting(), reusePort: true, port });
  await assert.rejects(listenTcp({ ...setting(), port }), { code: 'EADDRINUSE' });
  await Promise.all([first, second].map((listener) => listener.close(0)));
});
