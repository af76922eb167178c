import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { connect as tcpConnect } from 'node:net';
import { describe, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { DNS, gather, get, tls, withDoh } from '../../../test/support/dns/doh/doh-clients.ts';
import { until } from '../../../test/support/dns/fakes.ts';
import { makeSelfSigned } from '../../base/certificates.ts';

describe('limits', () => {
  test('a request that does not become whole is given up, over both versions', async () => {
    await withDoh({ limits: { requestMs: 200 } }, async ({ options, listener, session }) => {
      const half = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
      half.write('GET /dns-query HTTP/1.1\r\nHost: local');
      assert.match((await gather(half)).toString(), /^HTTP\/1.1 408 /);
      const dripping = session.request({ ':method': 'POST', ':path': '/dns-query', 'content-type': DNS });
      dripping.on('error', () => {});
      const drip = setInterval(() => dripping.write('x'), 20);
      const [headers] = (await once(dripping, 'response')) as [IncomingHttpHeaders];
      clearInterval(drip);
      assert.equal(headers[':status'], 408);
      assert.deepEqual(options.faults, []);
    });
  });

  test('idle connections are closed, over both versions', async () => {
    await withDoh({ limits: { idleMs: 200 } }, async ({ options, clients, session }) => {
      await clients.h2({ path: get('hot') });
      await clients['http/1.1']({ path: get('hot') });
      await until(() => session.closed && options.observe.count('doh closed') === 2);
    });
  });

  test('peers that reset their streams at once cost the session in the end, not the server', async () => {
    await withDoh({}, async ({ options, clients, session }) => {
      await clients.h2({ path: get('hot') });
      const { asked } = options.handler;
      const isOver = (): boolean => options.observe.count('doh closed') > 0;
      while (!isOver()) {
        const before = asked.length;
        const streams = session.closed
          ? []
          : Array.from({ length: 50 }, () => session.request({ ':path': get('wait') }));
        for (const stream of streams) stream.on('error', () => {});
        // A stream above the limit of streams is refused, and not asked.
        const seen = (): number => asked.length - before + streams.filter(({ closed }) => closed).length;
        await until(() => isOver() || seen() >= streams.length);
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      }
      assert.ok(options.handler.asked.length < 1000);
      options.handler.gate.open();
      assert.equal((await clients['http/1.1']({ path: get('echo') })).status, 200);
      assert.deepEqual(options.faults, []);
    });
  });

  test('the rate limit answers 429 with the time to come back', async () => {
    const seen = new Set<string>();
    const admit = (address: string): number => {
      seen.add(address);
      return 7;
    };
    await withDoh({ admit }, async ({ clients, options }) => {
      for (const version of ['h2', 'http/1.1'] as const) {
        const { status, headers, body } = await clients[version]({ path: get('echo') });
        assert.equal(status, 429);
        assert.equal(headers['retry-after'], '7');
        assert.deepEqual(JSON.parse(body.toString()), { error: 'Rate limit exceeded' });
      }
      assert.deepEqual(options.handler.asked, []);
      assert.ok([...seen].every((address) => /^(::ffff:)?127\.0\.0\.1$/.test(address)));
    });
  });

  test('without a schema function there is no /schema', async () => {
    await withDoh({ schema: null }, async ({ clients }) => {
      assert.equal((await clients.h2({ path: '/schema?q=x' })).status, 404);
    });
  });

  test('connections of one address: the limit, and one more', async () => {
    await withDoh({ limits: { connectionsPerAddress: 2 } }, async ({ options, listener, clients }) => {
      await clients.h2({ path: get('hot') });
      await clients['http/1.1']({ path: get('hot') });
      const third = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
      third.on('error', () => {});
      await new Promise<void>((resolve) => third.once('close', () => resolve()));
      assert.equal(options.observe.count('doh refused'), 1);
      assert.equal((await clients.h2({ path: get('hot') })).status, 200);
    });
  });

  test('a peer that does not finish its handshake is closed', async () => {
    await withDoh({ handshakeMs: 100 }, async ({ options, listener }) => {
      for (const octets of ['', '160301020001']) {
        const silent = tcpConnect(listener.address.port, '127.0.0.1');
        silent.on('error', () => silent.destroy());
        silent.write(Buffer.from(octets, 'hex'));
        silent.resume();
        await new Promise<void>((resolve) => silent.once('close', () => resolve()));
      }
      await until(() => options.observe.count('doh closed') >= 2);
    });
  });

  test('another certificate is taken into use for new connections', async () => {
    await withDoh({}, async ({ listener, clients }) => {
      await clients.h2({ path: get('hot') });
      const other = makeSelfSigned({ hosts: ['other.example'], now: Date.now() });
      listener.reloadTls(other);
      const options = {
        host: '127.0.0.1',
        port: listener.address.port,
        ca: other.cert,
        servername: 'other.example',
      };
      const socket = tlsConnect({ ...options, ALPNProtocols: ['h2'] });
      await once(socket, 'secureConnect');
      assert.equal(socket.alpnProtocol, 'h2');
      socket.destroy();
      assert.throws(() => listener.reloadTls({ cert: other.cert, key: tls.key }));
      const again = tlsConnect(options);
      await once(again, 'secureConnect');
      again.destroy();
      assert.equal((await clients.h2({ path: get('hot') })).status, 200);
    });
  });

  test('header fields: 64 of them, and one more; a tunnel is not made', async () => {
    await withDoh({}, async ({ clients, session }) => {
      // Four of its own, and those of the client.
      const fields = (count: number): Record<string, string> =>
        Object.fromEntries(Array.from({ length: count - 4 }, (_, i) => [`x-${i}`, '1']));
      const asked = { path: get('hot') };
      assert.equal((await clients.h2({ ...asked, headers: fields(64) })).status, 200);
      const { status, body } = await clients.h2({ ...asked, headers: fields(65) });
      assert.deepEqual(
        [status, JSON.parse(body.toString())],
        [431, { error: 'Request header fields too large' }],
      );
      const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'elsewhere.example:443' });
      const [headers] = (await once(tunnel, 'response')) as [IncomingHttpHeaders];
      assert.deepEqual([headers[':status'], headers.allow], [405, 'GET, HEAD, POST, OPTIONS']);
    });
  });

  test('TLS below 1.2 is refused', async () => {
    await withDoh({}, async ({ listener }) => {
      const old = tlsConnect({
        host: '127.0.0.1',
        port: listener.address.port,
        ca: tls.cert,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      await assert.rejects(once(old, 'secureConnect'));
    });
  });

  test('closing lets requests in flight end, over both versions', async () => {
    await withDoh({}, async ({ options, listener, clients }) => {
      await clients.h2({ path: get('hot') });
      const owed = [clients.h2({ path: get('wait') }), clients['http/1.1']({ path: get('wait') })];
      await until(() => options.handler.asked.filter((label) => label === 'wait').length === 2);
      const closed = listener.close(60_000);
      options.handler.gate.open();
      for (const { status } of await Promise.all(owed)) assert.equal(status, 200);
      await closed;
    });
  });
});
