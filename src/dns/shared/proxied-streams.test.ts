import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { Agent, get as httpsGet } from 'node:https';
import { type Socket, connect as tcpConnect } from 'node:net';
import { after, describe, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { gather, get } from '../../../test/support/dns/doh/doh-clients.ts';
import { frame, labelOf, query, type Setting, setting, until } from '../../../test/support/dns/fakes.ts';
import { headerOf, proxyHeader, type Relay, startRelay, tlv, WAYS } from '../../../test/support/dns/proxy.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { LIMITS } from '../../base/limits.ts';
import { addressSet } from '../../base/network/address.ts';
import { listenDoh } from '../doh/listener.ts';
import { FrameSplitter } from '../stream/framing.ts';
import { listenDot, listenTcp } from '../stream/stream-server.ts';
import { type Listener, queueShare } from './listener.ts';

const tls = makeSelfSigned({ hosts: [], now: Date.now() });
const json = () => ({ kind: 'refused', error: '' }) as const;
const LOOPBACK = addressSet(['127.0.0.1']);
const LOCAL = headerOf({ command: 0x20, family: 0, block: Buffer.alloc(0) });

type Extra = Pick<Setting, 'proxies'> & {
  readonly limits?: object;
  readonly headerMs?: number;
  readonly admit?: (address: string) => number;
};

interface Kind {
  readonly transport: 'tcp' | 'dot' | 'doh';
  readonly listen: (options: Setting, extra: Extra) => Promise<Listener>;
  /** Asks one question over a connection of its own, which stays open. @returns the label that came back; null: closed without an answer */
  readonly ask: (port: number, label: string) => Promise<string | null>;
}

const closers: (() => void)[] = [];
after(() => {
  for (const close of closers) close();
});

function overStream(socket: Socket, label: string): Promise<string | null> {
  closers.push(() => socket.destroy());
  const splitter = new FrameSplitter();
  socket.write(frame(query(1, label)));
  return new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(null));
    socket.on('data', (chunk: Buffer) => {
      splitter.push(chunk);
      const reply = splitter.next();
      if (reply !== null) resolve(labelOf(reply));
    });
  });
}

const meterOf = (admit: Extra['admit']) => (admit ? (address: string) => () => admit(address) : null);

const KINDS: Readonly<Record<string, Kind>> = {
  tcp: {
    transport: 'tcp',
    listen: (options, { limits, headerMs, admit, ...extra }) =>
      listenTcp({
        ...options,
        ...extra,
        meter: meterOf(admit),
        limits: { ...limits, ...(headerMs && { idleMs: headerMs }) },
      }),
    ask: (port, label) => overStream(tcpConnect({ port, host: '127.0.0.1' }), label),
  },
  dot: {
    transport: 'dot',
    listen: (options, { limits = {}, headerMs, admit, ...extra }) =>
      listenDot({
        ...options,
        ...extra,
        meter: meterOf(admit),
        limits,
        tls,
        ...(headerMs && { handshakeMs: headerMs }),
      }),
    ask: (port, label) => overStream(tlsConnect({ port, host: '127.0.0.1', ca: tls.cert }), label),
  },
  'doh over HTTP/2': {
    transport: 'doh',
    listen: listenForHttp,
    ask: async (port, label) => {
      const session = http2.connect(`https://localhost:${port}`, { ca: tls.cert });
      closers.push(() => session.destroy());
      session.on('error', () => session.destroy());
      const stream = session.request({ ':path': get(label) });
      return gather(stream).then(labelOf, () => null);
    },
  },
  'doh over HTTP/1.1': {
    transport: 'doh',
    listen: listenForHttp,
    ask: (port, label) =>
      new Promise((resolve) => {
        const agent = new Agent({ ca: tls.cert, keepAlive: true });
        closers.push(() => agent.destroy());
        httpsGet({ host: 'localhost', port, path: get(label), agent }, (response) => {
          gather(response).then(
            (body) => resolve(labelOf(body)),
            () => resolve(null),
          );
        }).once('error', () => resolve(null));
      }),
  },
};

function listenForHttp(
  options: Setting,
  { limits = {}, headerMs, admit, ...extra }: Extra,
): Promise<Listener> {
  return listenDoh({
    ...options,
    ...extra,
    limits,
    tls,
    json,
    admit: admit ?? null,
    ...(headerMs && { handshakeMs: headerMs }),
  });
}

for (const [name, { transport, listen, ask }] of Object.entries(KINDS)) {
  describe(`${name} behind a proxy`, () => {
    async function withProxied(
      extra: Partial<Extra>,
      scenario: (
        options: Setting,
        port: number,
        relay: (header: Buffer, way?: (typeof WAYS)[number]) => Promise<Relay>,
      ) => Promise<void>,
    ): Promise<void> {
      const options = setting();
      const listener = await listen(options, { proxies: LOOPBACK, ...extra });
      const relays: Relay[] = [];
      try {
        await scenario(options, listener.address.port, async (header, way) => {
          const relay = await startRelay(listener.address.port, () => header, way);
          relays.push(relay);
          return relay;
        });
        assert.deepEqual(options.faults, []);
      } finally {
        for (const relay of relays) relay.close();
        await listener.close(0);
      }
    }

    test('the client of the header is what limits count, in however many pieces it comes', async () => {
      const counted: string[] = [];
      const admit = (address: string): number => {
        counted.push(address);
        return 0;
      };
      await withProxied({ admit }, async (options, _port, relay) => {
        const headers: [Buffer, string][] = [
          [proxyHeader('192.0.2.1'), '192.0.2.1'],
          [proxyHeader('2001:db8::1', tlv(0xe0, Buffer.alloc(400))), '2001:db8::1'],
          [proxyHeader('::ffff:192.0.2.2'), '192.0.2.2'],
          [LOCAL, '127.0.0.1'],
        ];
        for (const way of WAYS) {
          for (const [header, client] of headers) {
            const { port } = await relay(header, way);
            assert.equal(await ask(port, 'echo'), 'echo', `${way} ${client}`);
            assert.deepEqual(options.handler.shares.at(-1), queueShare(client));
            assert.equal(counted.at(-1), client);
            assert.equal(await ask(port, 'hot'), 'hot');
          }
        }
      });
    });

    test('each client has its limit of connections, the proxy has none', async () => {
      await withProxied({ limits: { connectionsPerAddress: 2 } }, async (options, _port, relay) => {
        for (let client = 1; client <= 4; client++) {
          const { port } = await relay(proxyHeader(`192.0.2.${client}`));
          for (let i = 0; i < 2; i++) assert.equal(await ask(port, 'hot'), 'hot', `client ${client}`);
        }
        const full = await relay(proxyHeader('192.0.2.1'));
        assert.equal(await ask(full.port, 'hot'), null, 'its own connections are too many');
        assert.equal(options.observe.count(`${transport} refused`), 1);
        assert.equal(options.observe.count(`${transport} opened`), 8);
      });
    });

    test('a full listener evicts the client with most connections', async () => {
      await withProxied(
        { limits: { connections: 4, connectionsPerAddress: 0 } },
        async (options, _port, relay) => {
          const many = await relay(proxyHeader('192.0.2.1'));
          const one = await relay(proxyHeader('198.51.100.1'));
          const another = await relay(proxyHeader('203.0.113.1'));
          assert.equal(await ask(one.port, 'hot'), 'hot');
          for (let i = 0; i < 3; i++) assert.equal(await ask(many.port, 'hot'), 'hot');
          assert.equal(await ask(another.port, 'hot'), 'hot');
          await until(() => many.open() === 2);
          assert.deepEqual([one.open(), another.open()], [1, 1], 'neither the one that is idle for longest');
          assert.equal(options.observe.count(`${transport} evicted`), 1);
          assert.equal(options.observe.count(`${transport} refused`), 0);
        },
      );
    });

    test('a proxy without a header is closed, and so is version 1, a wrong one and a peer that leaves', async () => {
      await withProxied({}, async (options, port, relay) => {
        assert.equal(await ask(port, 'hot'), null);
        const wrong = [
          Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 4711 53\r\n'),
          proxyHeader('192.0.2.1', tlv(3, Buffer.alloc(4))),
          headerOf({ length: 600 }),
        ];
        for (const header of wrong) assert.equal(await ask((await relay(header)).port, 'hot'), null);
        for (const leave of ['end', 'resetAndDestroy'] as const) {
          const socket = tcpConnect({ port, host: '127.0.0.1' });
          socket.on('error', () => socket.destroy());
          await once(socket, 'connect');
          socket.resume().write(proxyHeader('192.0.2.1').subarray(0, 20));
          socket[leave]();
        }
        await until(() => options.observe.count(`${transport} refused`) === 6);
        assert.equal(options.observe.count(`${transport} opened`), 0);
        assert.deepEqual(options.handler.asked, []);
      });
    });

    test('a header that does not end is given up', async () => {
      await withProxied({ headerMs: 30 }, async (options, port) => {
        for (const octets of [0, 1, 20]) {
          const socket = tcpConnect({ port, host: '127.0.0.1' });
          socket.resume().write(proxyHeader('192.0.2.1').subarray(0, octets));
          await once(socket, 'close');
        }
        assert.equal(options.observe.count(`${transport} refused`), 3);
      });
    });

    test('from anyone else a header is refused like any other octets', async () => {
      await withProxied(
        { proxies: addressSet(['192.0.2.0/24']), headerMs: 200 },
        async (options, port, relay) => {
          assert.equal(await ask(port, 'hot'), 'hot');
          assert.equal(await ask((await relay(proxyHeader('198.51.100.1'))).port, 'hot'), null);
          assert.equal(options.handler.asked.length, 1);
        },
      );
    });
  });
}

test('header, question and the end of the stream in one segment: the question is answered', async () => {
  const options = setting();
  const listener = await listenTcp({ ...options, proxies: LOOPBACK });
  const socket = tcpConnect({ port: listener.address.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(Buffer.concat([proxyHeader('192.0.2.1'), frame(query(1, 'echo')), frame(query(2, 'hot'))]));
  const replies = await gather(socket);
  assert.deepEqual([labelOf(replies.subarray(2)), options.handler.asked], ['echo', ['echo', 'hot']]);
  await listener.close(0);
});

test('connections that wait for a header: a closing listener ends them, and above proxyHeaders the oldest gives way', async () => {
  const options = setting();
  // Their own time is not over in this test.
  const listener = await listenTcp({ ...options, proxies: LOOPBACK, limits: { idleMs: 3_600_000 } });
  const sockets: Socket[] = [];
  const refused = (): number => options.observe.count('tcp refused');
  for (let i = 0; i < LIMITS.proxyHeaders + 2; i++) {
    const socket = tcpConnect({ port: listener.address.port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => socket.destroy()).resume();
    await once(socket, 'connect');
    if (i === LIMITS.proxyHeaders - 1) assert.equal(refused(), 0);
  }
  await until(() => sockets[1]!.destroyed);
  assert.deepEqual([refused(), sockets[0]!.destroyed, sockets[2]!.destroyed], [2, true, false]);
  await listener.close(60_000);
  assert.equal(refused(), LIMITS.proxyHeaders + 2);
  for (const socket of sockets) socket.destroy();
});
