import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket, connect as tcpConnect } from 'node:net';
import { after, describe, test } from 'node:test';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { gather, get } from '../../../test/support/dns/doh/doh-clients.ts';
import { frame, query, type Setting, setting, until } from '../../../test/support/dns/fakes.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { type DohOptions, listenDoh } from '../doh/listener.ts';
import { listenDot } from '../stream/stream-server.ts';
import type { TlsListener } from './tls.ts';

const tls = makeSelfSigned({ hosts: [], now: Date.now() });
const NO_JSON = () => ({ kind: 'refused', error: '' }) as const;
type Limits = NonNullable<DohOptions['limits']>;

/** Listeners for TLS, and how one asks a question over a finished connection; resolves when there is an answer. */
const KINDS = {
  dot: {
    listen: (options: Setting, limits: Limits) => listenDot({ ...options, tls, limits }),
    ask: async (socket: TLSSocket, label: string): Promise<void> => {
      const message = query(1, label);
      socket.write(frame(message, message.length));
      await once(socket, 'data');
    },
  },
  doh: {
    listen: (options: Setting, limits: Limits) =>
      listenDoh({ ...options, tls, limits, json: NO_JSON, schema: null }),
    ask: async (socket: TLSSocket, label: string): Promise<void> => {
      socket.write(`GET ${get(label)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await once(socket, 'data');
    },
  },
} as const;

/** The beginning of a question that never ends. */
const UNFINISHED_TEXT = {
  dot: '\0\x40xx',
  doh: 'POST /dns-query HTTP/1.1\r\nHost: x\r\nContent-Type: application/dns-message\r\nContent-Length: 60\r\n\r\nxx',
} as const;

const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

function silent(listener: TlsListener, localAddress: string): Socket {
  const socket = tcpConnect({ host: '127.0.0.1', port: listener.address.port, localAddress });
  sockets.push(socket);
  socket.on('error', () => socket.destroy());
  socket.resume();
  return socket;
}

async function newcomer(listener: TlsListener, localAddress = '127.0.0.1'): Promise<TLSSocket> {
  const options = { host: '127.0.0.1', port: listener.address.port, ca: tls.cert, localAddress };
  const socket = tlsConnect(options);
  sockets.push(socket);
  await once(socket, 'secureConnect');
  socket.on('error', () => socket.destroy());
  return socket;
}

for (const kind of ['dot', 'doh'] as const) {
  const { listen, ask } = KINDS[kind];

  describe(`connections over ${kind} when there are too many`, () => {
    test('a message or body that does not end is no work: its connection gives way (finding 7 of the second security review)', async () => {
      const options = setting();
      const listener = await listen(options, { connections: 4, connectionsPerAddress: 0 });
      const unfinished: TLSSocket[] = [];
      for (let i = 1; i <= 4; i++) {
        const socket = await newcomer(listener, `127.0.7.${i}`);
        socket.write(UNFINISHED_TEXT[kind]);
        unfinished.push(socket);
      }
      for (let i = 1; i <= 4; i++) await ask(await newcomer(listener, `127.0.8.${i}`), 'hot');
      await until(() => options.observe.count(`${kind} evicted`) === 4);
      assert.equal(options.observe.count(`${kind} refused`), 0);
      await listener.close(0);
    });

    test('the network with most gives way, not the connection that is idle for longest', async () => {
      const time = { now: 1_700_000_000_000 };
      const options = { ...setting(), clock: () => time.now };
      const listener = await listen(options, { connections: 4, connectionsPerAddress: 0 });
      const lone = await newcomer(listener, '127.0.9.1');
      await ask(lone, 'hot');
      const many: TLSSocket[] = [];
      for (let i = 1; i <= 3; i++) {
        time.now += 10;
        many.push(await newcomer(listener, `127.0.7.${i}`));
        await ask(many.at(-1)!, 'hot');
      }
      time.now += 10;
      await ask(await newcomer(listener, '127.0.8.1'), 'hot');
      await until(() => many[0]!.destroyed);
      await ask(lone, 'hot');
      await listener.close(0);
    });

    test('42 addresses of silent TCP connections do not lock newcomers out (security finding 7)', async () => {
      const options = setting();
      const limits = { connections: 160, connectionsPerAddress: 4 };
      const listener = await listen(options, limits);
      for (let address = 1; address <= 42; address++) {
        for (let i = 0; i < 4; i++) silent(listener, `127.0.7.${address}`);
      }
      await until(() => options.observe.count(`${kind} opened`) === 168);
      assert.equal(options.observe.count(`${kind} evicted`), 8);
      for (let i = 0; i < 4; i++) await ask(await newcomer(listener), 'hot');
      assert.equal(options.observe.count(`${kind} evicted`), 12);
      assert.equal(options.observe.count(`${kind} refused`), 0);
      // A full address evicts no other connection.
      const fifth = silent(listener, '127.0.0.1');
      await until(() => fifth.destroyed);
      assert.equal(options.observe.count(`${kind} refused`), 1);
      await listener.close(0);
      await until(() => options.observe.count(`${kind} closed`) === 172);
    });

    test('eviction order: the oldest unfinished handshake, then the longest idle; a connection with a query in flight stays', async () => {
      const time = { now: 1_700_000_000_000 };
      const options = { ...setting(), clock: () => time.now };
      const listener = await listen(options, { connections: 4, connectionsPerAddress: 0 });
      const ended = (socket: Socket): Promise<unknown> =>
        new Promise((resolve) => socket.once('close', resolve));
      const waiting = await newcomer(listener);
      const answered = ask(waiting, 'wait');
      await until(() => options.handler.asked.length === 1);
      time.now += 10;
      const first = await newcomer(listener);
      await ask(first, 'hot');
      time.now += 10;
      const second = await newcomer(listener);
      await ask(second, 'hot');
      time.now += 10;
      const unfinished = silent(listener, '127.0.0.1');
      await until(() => options.observe.count(`${kind} opened`) === 4);
      const waits = (): number => options.handler.asked.filter((label) => label === 'wait').length;
      const gone = [ended(unfinished), ended(first), ended(second)];
      for (const [i, each] of gone.entries()) {
        time.now += 10;
        const socket = await newcomer(listener);
        // It has a query in flight too, so it is not evicted.
        ask(socket, 'wait').catch(() => {});
        await each;
        await until(() => waits() === i + 2);
      }
      assert.equal(options.observe.count(`${kind} evicted`), 3);
      await assert.rejects(newcomer(listener), 'no connection is idle: the new one is refused');
      assert.equal(options.observe.count(`${kind} refused`), 1);
      options.handler.gate.open();
      await answered;
      await listener.close(0);
    });

    test('a handshake has less time while the listener is crowded', async () => {
      const time = { now: 1_700_000_000_000 };
      const options = { ...setting(), clock: () => time.now };
      const listener = await listen(options, { connections: 8, connectionsPerAddress: 0 });
      const few = Array.from({ length: 6 }, () => silent(listener, '127.0.0.1'));
      await until(() => options.observe.count(`${kind} opened`) === 6);
      time.now += 1000;
      few.push(silent(listener, '127.0.0.1'));
      await until(() => options.observe.count(`${kind} closed`) === 6);
      assert.equal(few.at(-1)!.destroyed, false, 'its own time is not over');
      await listener.close(0);
    });
  });
}

/** @returns a session from a local address */
async function http2Session(listener: TlsListener, localAddress = '127.0.0.1') {
  const { connect } = await import('node:http2');
  const { port } = listener.address;
  const options = { host: '127.0.0.1', port, ca: tls.cert, localAddress, ALPNProtocols: ['h2'] };
  const socket = tlsConnect(options);
  const session = connect('https://localhost', { createConnection: () => socket });
  session.on('error', () => session.destroy());
  sockets.push(socket);
  return session;
}

const UNFINISHED = {
  ':method': 'POST',
  ':path': '/dns-query',
  'content-type': 'application/dns-message',
  'content-length': '60',
};

test('over HTTP/2 43 addresses with an unfinished POST a connection do not lock newcomers out (finding 7 of the second security review)', async () => {
  const options = setting();
  const listener = await KINDS.doh.listen(options, { connections: 86, connectionsPerAddress: 2 });
  // Another network: it asked before all of them, and keeps its connection.
  const early = await http2Session(listener);
  await gather(early.request({ ':path': get('hot') }));
  for (let address = 1; address <= 43; address++) {
    for (let i = 0; i < 2; i++) {
      const session = await http2Session(listener, `127.0.7.${address}`);
      const request = session.request(UNFINISHED, { endStream: false });
      request.on('error', () => {});
      request.write('xx');
    }
  }
  await until(() => options.observe.count('doh evicted') >= 1);
  for (let i = 1; i <= 6; i++) {
    const newcomer = await http2Session(listener, `127.0.8.${i}`);
    await gather(newcomer.request({ ':path': get('hot') }));
  }
  assert.equal(options.observe.count('doh refused'), 0);
  assert.equal(early.destroyed, false);
  await gather(early.request({ ':path': get('hot') }));
  for (const socket of sockets) socket.destroy();
  await listener.close(0);
});

test('over HTTP/2 an idle connection gives way, one with a request does not', async () => {
  const http2 = await import('node:http2');
  const time = { now: 1_700_000_000_000 };
  const options = { ...setting(), clock: () => time.now };
  const listener = await KINDS.doh.listen(options, { connections: 2, connectionsPerAddress: 0 });
  const session = (): import('node:http2').ClientHttp2Session => {
    const made = http2.connect(`https://localhost:${listener.address.port}`, { ca: tls.cert });
    made.on('error', () => made.destroy());
    return made;
  };
  const busy = session();
  const owed = busy.request({ ':path': get('wait') });
  await until(() => options.handler.asked.length === 1);
  time.now += 10;
  const idle = session();
  await gather(idle.request({ ':path': get('hot') }));
  const third = await newcomer(listener);
  await until(() => idle.destroyed);
  assert.equal(busy.destroyed, false);
  await KINDS.doh.ask(third, 'hot');
  options.handler.gate.open();
  await gather(owed);
  busy.destroy();
  await listener.close(0);
});
