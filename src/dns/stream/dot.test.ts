import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as tcpConnect } from 'node:net';
import { test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
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
import { makeSelfSigned } from '../../base/certificates.ts';
import { queueShare } from '../shared/listener.ts';
import type { TlsListener } from '../shared/tls.ts';
import { FrameSplitter } from './framing.ts';
import { listenDot, type StreamLimits } from './stream-server.ts';

const tls = makeSelfSigned({ hosts: [], now: Date.now() });

interface Scene {
  readonly options: Setting;
  readonly listener: TlsListener;
  readonly peer: (extra?: ConnectionOptions) => TLSSocket;
}

async function withDot(
  limits: Partial<StreamLimits>,
  scenario: (scene: Scene) => Promise<void>,
): Promise<void> {
  const options = setting();
  const listener = await listenDot({ ...options, tls, limits, ticketKeys: Buffer.alloc(48, 1) });
  const peers: TLSSocket[] = [];
  const peer = (extra: ConnectionOptions = {}): TLSSocket => {
    const socket = connect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert, ...extra });
    socket.on('error', () => socket.destroy());
    peers.push(socket);
    return socket;
  };
  try {
    await scenario({ options, listener, peer });
  } finally {
    for (const socket of peers) socket.destroy();
    await listener.close(0);
  }
}

function repliesTo(socket: TLSSocket, ...queries: Buffer[]): Buffer[] {
  const splitter = new FrameSplitter();
  const replies: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    splitter.push(chunk);
    for (let reply = splitter.next(); reply !== null; reply = splitter.next())
      replies.push(Buffer.from(reply));
  });
  if (queries.length > 0) socket.write(Buffer.concat(queries.map((each) => frame(each))));
  return replies;
}

test('many TLS records at once: a query each, or an octet each; every query is answered', async () => {
  await withDot({}, async ({ peer }) => {
    const queries = Array.from({ length: 300 }, (_, i) => query(i, i % 3 === 0 ? 'hot' : 'slow'));
    for (const octets of [Number.POSITIVE_INFINITY, 1]) {
      const socket = peer();
      await once(socket, 'secureConnect');
      const replies = repliesTo(socket);
      for (const each of queries) {
        const framed = frame(each);
        const step = Math.min(octets, framed.length);
        for (let at = 0; at < framed.length; at += step) socket.write(framed.subarray(at, at + step));
      }
      await until(() => replies.length === queries.length);
      assert.deepEqual(replies.map(idOf), queries.map(idOf));
    }
  });
});

test('queries over TLS, with ALPN or without, with a server name or without', async () => {
  await withDot({}, async ({ options, peer }) => {
    for (const extra of [
      {},
      { ALPNProtocols: ['dot'] },
      { servername: 'localhost' },
      { maxVersion: 'TLSv1.2' },
    ] as const) {
      const socket = peer({
        ...extra,
        ALPNProtocols: [...('ALPNProtocols' in extra ? extra.ALPNProtocols : [])],
      });
      const replies = repliesTo(socket, query(1, 'hot'), query(2, 'big'), query(3, 'echo'));
      await until(() => replies.length === 3);
      assert.deepEqual(replies.map(idOf), [1, 2, 3]);
      assert.equal(socket.authorized, true);
      assert.equal(socket.alpnProtocol, 'ALPNProtocols' in extra ? 'dot' : false);
      socket.destroy();
    }
    await until(() => options.observe.count('dot closed') === 4);
    assert.equal(options.observe.count('dot opened'), 4);
    assert.equal(options.observe.count('dot reply 0'), 12);
    assert.deepEqual(
      new Set(options.handler.shares),
      new Set([queueShare('127.0.0.1')]),
      'its share of the queue, no address',
    );
  });
});

test('other protocols by ALPN, TLS 1.1 and plain DNS are refused', async () => {
  await withDot({}, async ({ options, listener, peer }) => {
    await assert.rejects(once(peer({ ALPNProtocols: ['h2'] }), 'secureConnect'));
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(once(peer(old), 'secureConnect'));
    const plain = tcpConnect(listener.address.port, '127.0.0.1');
    plain.on('error', () => plain.destroy());
    plain.write(frame(query(1, 'echo'), query(1, 'echo').length));
    plain.resume();
    await new Promise<void>((resolve) => plain.once('close', () => resolve()));
    assert.deepEqual(options.handler.asked, []);
    await until(() => options.observe.count('dot closed') === 3);
  });
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a ${version} session resumes`, async () => {
    await withDot({}, async ({ peer }) => {
      const first = peer({ minVersion: version, maxVersion: version });
      const [[session]] = await Promise.all([
        once(first, 'session') as Promise<[Buffer]>,
        until(() => repliesTo(first, query(1, 'hot')) !== null),
      ]);
      const second = peer({ minVersion: version, maxVersion: version, session });
      const replies = repliesTo(second, query(2, 'hot'));
      await until(() => replies.length === 1);
      assert.equal(second.isSessionReused(), true);
    });
  });
}

test('connections count before their handshake; idle ones are closed', async () => {
  await withDot({ connectionsPerAddress: 2, idleMs: 200 }, async ({ options, listener, peer }) => {
    const silent = tcpConnect(listener.address.port, '127.0.0.1');
    silent.on('error', () => silent.destroy());
    const idle = peer();
    await once(idle, 'secureConnect');
    await assert.rejects(once(peer(), 'secureConnect'));
    assert.equal(options.observe.count('dot refused'), 1);
    idle.resume();
    await new Promise<void>((resolve) => idle.once('close', () => resolve()));
    await until(() => options.observe.count('dot closed') === 1);
    await listener.close(0);
    await until(() => options.observe.count('dot closed') === 2);
    silent.destroy();
  });
});

test('an idle connection ends with an alert, so that its peer can tell the end from a cut', async () => {
  await withDot({ idleMs: 200 }, async ({ listener, peer }) => {
    const sent: Buffer[] = [];
    const relay = createServer((client) => {
      const server = tcpConnect(listener.address.port, '127.0.0.1');
      server.on('data', (octets: Buffer) => sent.push(octets));
      client.pipe(server).pipe(client);
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const { port } = relay.address() as AddressInfo;
    // In TLS 1.3 the type of an encrypted record is not to be seen.
    const idle = peer({ port, maxVersion: 'TLSv1.2' });
    const replies = repliesTo(idle, query(1, 'hot'));
    await once(idle, 'close');
    relay.close();
    assert.deepEqual(replies.map(idOf), [1]);
    assert.equal(recordTypes(Buffer.concat(sent)).at(-1), ALERT);
  });
});

/** Of a TLS record (RFC 8446 §5.1). */
const ALERT = 21;
const RECORD_HEAD_OCTETS = 5;

function recordTypes(octets: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at < octets.length; at += RECORD_HEAD_OCTETS + octets.readUInt16BE(at + 3))
    types.push(octets[at]!);
  return types;
}

test('padding to multiples of 468 octets and the idle timeout, when asked for', async () => {
  await withDot({ idleMs: 8000 }, async ({ peer }) => {
    const asked = { options: [option(11), option(12, '00')] };
    const replies = repliesTo(peer(), ednsQuery(1, 'hot600', asked), ednsQuery(1, 'size60', asked));
    await until(() => replies.length === 2);
    assert.deepEqual(
      replies.map((reply) => reply.length),
      [936, 468],
    );
    for (const reply of replies) assert.match(optionsOf(reply).join(' '), /^11:0050 12:(?:00)+$/);
  });
});

test('a peer that does not finish its handshake is closed', async () => {
  const options = setting();
  const listener = await listenDot({ ...options, tls, handshakeMs: 100 });
  for (const octets of ['', '160301020001']) {
    const silent = tcpConnect(listener.address.port, '127.0.0.1');
    silent.on('error', () => silent.destroy());
    silent.write(Buffer.from(octets, 'hex'));
    silent.resume();
    await new Promise<void>((resolve) => silent.once('close', () => resolve()));
  }
  await until(() => options.observe.count('dot closed') === 2);
  await listener.close(0);
});

test('half-close and orderly closing work as over TCP', async () => {
  await withDot({}, async ({ options, listener, peer }) => {
    const socket = peer({ allowHalfOpen: true } as ConnectionOptions);
    const replies = repliesTo(socket, query(1, 'wait'), query(2, 'echo'));
    socket.end();
    await until(() => replies.length === 1);
    options.handler.gate.open();
    await until(() => replies.length === 2);
    await until(() => options.observe.count('dot closed') === 1);
    const other = peer();
    await once(other, 'secureConnect');
    other.resume();
    await listener.close(60_000);
  });
});

test('another certificate is taken into use', async () => {
  await withDot({}, async ({ listener, peer }) => {
    const other = makeSelfSigned({ hosts: ['other.example'], now: Date.now() });
    listener.reloadTls(other);
    const socket = peer({ ca: other.cert, servername: 'other.example' });
    await once(socket, 'secureConnect');
    assert.throws(() => listener.reloadTls({ cert: tls.cert, key: other.key }));
  });
});

test('a session resumes on another listener with the same ticket keys, and no more once they are replaced', async () => {
  await withDot({}, async ({ options, listener, peer }) => {
    const keys = Buffer.alloc(48, 1);
    const other = await listenDot({ ...options, port: 0, tls, ticketKeys: keys });
    try {
      const begin = peer({ maxVersion: 'TLSv1.2' });
      const [session] = (await once(begin, 'session')) as [Buffer];
      const resumes = async (port: number): Promise<boolean> => {
        const socket = peer({ maxVersion: 'TLSv1.2', port, session });
        await once(socket, 'secureConnect');
        return socket.isSessionReused();
      };
      assert.deepEqual(
        [await resumes(listener.address.port), await resumes(other.address.port)],
        [true, true],
      );
      // A new certificate alone leaves the ticket keys as they are.
      listener.reloadTls(tls);
      assert.equal(await resumes(listener.address.port), true);
      listener.reloadTls(tls, Buffer.alloc(48, 2));
      assert.deepEqual(
        [await resumes(listener.address.port), await resumes(other.address.port)],
        [false, true],
      );
      listener.reloadTls(tls);
      assert.equal(await resumes(listener.address.port), false);
    } finally {
      await other.close(0);
    }
  });
});
