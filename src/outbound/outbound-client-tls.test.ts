import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import type { SecureContextOptions, TLSSocketOptions } from 'node:tls';
import { makeCertificate } from '../../test/support/outbound/certificates.ts';
import {
  ANSWER,
  chainOf,
  GOOD,
  HOST,
  intermediate,
  leaf,
  type Peer,
  ROOT_PEM,
  says,
  startTcp,
  startTls,
} from '../../test/support/outbound/peer.ts';
import { createOutboundClient } from './outbound-client.ts';
import type { OutboundFault } from './request.ts';

/** Every way in which TLS may fail, by real servers, with the options of a webhook. */

const stranger = makeCertificate({ commonName: 'stranger', isAuthority: true });
const lapsed = makeCertificate({ commonName: 'lapsed', isAuthority: true, from: -9, until: -2 });
const good = leaf();
/** Signs as if it were an authority, which its own certificate denies. */
const upstart = makeCertificate({ commonName: 'leaf', hosts: ['evil.example.com'], issuer: intermediate });
const hosts = [HOST];

interface Case {
  readonly context?: SecureContextOptions;
  readonly options?: TLSSocketOptions;
  /** Of the URL, where it is not the one in the certificate. */
  readonly host?: string;
  readonly expected: OutboundFault | number;
}

const TABLE: Readonly<Record<string, Case>> = {
  'a good chain': { expected: 200 },
  'a wildcard': { context: chainOf(leaf({ hosts: ['*.example.com'] }), intermediate), expected: 200 },
  'a name among others': { context: chainOf(leaf({ hosts: ['a.test', HOST] }), intermediate), expected: 200 },
  'the name with a dot': { host: `${HOST}.`, expected: 200 },
  'the name in capitals': { host: HOST.toUpperCase(), expected: 200 },
  'an address': {
    context: chainOf(leaf({ hosts: ['127.0.0.1'] }), intermediate),
    host: '127.0.0.1',
    expected: 200,
  },
  'another address': {
    context: chainOf(leaf({ hosts: ['127.0.0.3'] }), intermediate),
    host: '127.0.0.1',
    expected: 'tls_error',
  },
  'a name where an address is asked for': { host: '127.0.0.1', expected: 'tls_error' },
  'another name': {
    context: chainOf(leaf({ hosts: ['other.example.com'] }), intermediate),
    expected: 'tls_error',
  },
  'the parent of the name': {
    context: chainOf(leaf({ hosts: ['example.com'] }), intermediate),
    expected: 'tls_error',
  },
  'a wildcard one level too high': {
    context: chainOf(leaf({ hosts: ['*.com'] }), intermediate),
    expected: 'tls_error',
  },
  'a certificate that has expired': {
    context: chainOf(leaf({ from: -30, until: -1 }), intermediate),
    expected: 'tls_error',
  },
  'one that is not valid yet': {
    context: chainOf(leaf({ from: 1, until: 30 }), intermediate),
    expected: 'tls_error',
  },
  'one that signed itself': {
    context: chainOf(makeCertificate({ commonName: HOST, hosts })),
    expected: 'tls_error',
  },
  'a chain without its intermediate': { context: chainOf(good), expected: 'tls_error' },
  'a chain in the wrong order': {
    context: { key: good.key, cert: good.cert + stranger.cert + intermediate.cert },
    expected: 200,
  },
  'an unknown authority': {
    context: chainOf(makeCertificate({ commonName: 'leaf', hosts, issuer: stranger }), stranger),
    expected: 'tls_error',
  },
  'an authority that has expired': {
    context: chainOf(makeCertificate({ commonName: 'leaf', hosts, issuer: lapsed }), lapsed),
    expected: 'tls_error',
  },
  'a leaf that plays the authority': {
    context: chainOf(makeCertificate({ commonName: 'x', hosts, issuer: upstart }), upstart, intermediate),
    expected: 'tls_error',
  },
  'TLS 1.1 at most': {
    context: { ...GOOD, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
    expected: 'tls_error',
  },
  'TLS 1.2 at most': { context: { ...GOOD, maxVersion: 'TLSv1.2' }, expected: 200 },
  'TLS 1.3 at least': { context: { ...GOOD, minVersion: 'TLSv1.3' }, expected: 200 },
  'no cipher in common': {
    context: { ...GOOD, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0' },
    expected: 'tls_error',
  },
  'HTTP/1.1 among others by ALPN': { options: { ALPNProtocols: alpn('h2', 'http/1.1') }, expected: 200 },
  'HTTP/2 alone by ALPN': { options: { ALPNProtocols: alpn('h2') }, expected: 'tls_error' },
  'a demand for our certificate, TLS 1.2': {
    context: { ...GOOD, maxVersion: 'TLSv1.2' },
    options: { requestCert: true, rejectUnauthorized: true },
    expected: 'tls_error',
  },
  'a demand for our certificate, TLS 1.3': {
    context: { ...GOOD, minVersion: 'TLSv1.3' },
    options: { requestCert: true, rejectUnauthorized: true },
    expected: 'tls_error',
  },
  'a wish for our certificate': {
    options: { requestCert: true, rejectUnauthorized: false },
    expected: 200,
  },
};

/** A list of protocols as ALPN writes it (RFC 7301 §3.1). */
function alpn(...names: readonly string[]): Buffer {
  return Buffer.concat(names.flatMap((name) => [Buffer.of(name.length), Buffer.from(name)]));
}

/** No TLS at all, or its beginning: what is said to a ClientHello. */
const RAW: Readonly<Record<string, [octets: Uint8Array, expected: OutboundFault]>> = {
  'an alert': [Buffer.from('15030300020270', 'hex'), 'tls_error'],
  'plain HTTP': [Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'), 'tls_error'],
  'a banner': [Buffer.from('SSH-2.0-OpenSSH_9.6\r\n'), 'tls_error'],
  zeros: [Buffer.alloc(100_000), 'tls_error'],
  'a record too large': [Buffer.from('160303ffff', 'hex'), 'tls_error'],
  'half a ServerHello': [Buffer.from('160303007a0200007603', 'hex'), 'timeout'],
};

async function meet(peer: Peer, host: string, deadlineMs: number): Promise<OutboundFault | number> {
  const client = createOutboundClient({
    policy: { allows: () => true, admits: () => true },
    resolve: async () => ['127.0.0.1'],
    deadlineMs,
    ca: ROOT_PEM,
  });
  const { signal } = new AbortController();
  const url = new URL(`https://${host}:${peer.port}/`);
  const result = await client(
    { method: 'POST', url, headers: {}, body: Buffer.from('{}'), maxBytes: 0 },
    signal,
  );
  await peer.idle();
  assert.equal(peer.count(), 1, 'one connection');
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  return result.kind === 'failed' ? result.fault : result.status;
}

describe('an outbound client before TLS servers', () => {
  it('reports a bad certificate or handshake, and leaves nothing open', async () => {
    for (const [name, { context, options, host = HOST, expected }] of Object.entries(TABLE)) {
      const peer = await startTls(says(ANSWER), context, options);
      try {
        assert.equal(await meet(peer, host, 20_000), expected, name);
      } finally {
        peer.close();
      }
    }
  });

  it('reports what is not TLS', async () => {
    for (const [name, [octets, expected]] of Object.entries(RAW)) {
      const peer = await startTcp((raw) => raw.once('data', () => raw.write(octets)));
      try {
        assert.equal(await meet(peer, HOST, expected === 'timeout' ? 200 : 20_000), expected, name);
      } finally {
        peer.close();
      }
    }
  });

  it('ends a handshake that drips', async () => {
    const peer = await startTcp((raw) => {
      raw.resume();
      raw.write(Buffer.from('1603034000', 'hex'));
      const timer = setInterval(() => raw.write(Buffer.of(2)), 5);
      raw.on('close', () => clearInterval(timer));
    });
    try {
      assert.equal(await meet(peer, HOST, 200), 'timeout');
    } finally {
      peer.close();
    }
  });

  it('names the host in the handshake, and no address', async () => {
    const table: readonly [host: string, name: string | false][] = [
      [HOST, HOST],
      [`${HOST}.`, HOST],
      [HOST.toUpperCase(), HOST],
      ['127.0.0.1', false],
    ];
    for (const [host, name] of table) {
      const names: unknown[] = [];
      const peer = await startTls(
        ({ secure }) => {
          secure.once('secure', () => {
            names.push(Reflect.get(secure, 'servername'));
            secure.end(ANSWER);
          });
        },
        chainOf(leaf({ hosts: [HOST, '127.0.0.1'] }), intermediate),
      );
      try {
        await meet(peer, host, 20_000);
        assert.deepEqual(names, [name], host);
      } finally {
        peer.close();
      }
    }
  });

  it('makes a whole handshake every time', async () => {
    const resumed: boolean[] = [];
    const peer = await startTls((side) => {
      side.secure.once('secure', () => resumed.push(side.secure.isSessionReused()));
      says(ANSWER)(side);
    });
    const client = createOutboundClient({
      policy: { allows: () => true, admits: () => true },
      resolve: async () => ['127.0.0.1'],
      deadlineMs: 20_000,
      ca: ROOT_PEM,
    });
    try {
      for (let n = 0; n < 5; n++) {
        const url = new URL(`https://${HOST}:${peer.port}/`);
        const result = await client({ method: 'POST', url, headers: {}, maxBytes: 0 });
        assert.equal(result.kind, 'response');
      }
      await peer.idle();
      assert.equal(peer.count(), 5);
      assert.deepEqual(resumed, [false, false, false, false, false]);
    } finally {
      peer.close();
    }
  });
});
