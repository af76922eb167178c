import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { makeSelfSigned } from './certificates.ts';
import { der } from './der.ts';

const DAY_MS = 86_400_000;

test('the certificate has the fields of a server certificate', () => {
  const now = Date.UTC(2026, 1, 28, 12);
  const { cert, key } = makeSelfSigned({
    hosts: ['dns.example', '192.0.2.7', '2001:db8::7', 'localhost'],
    now,
  });
  const read = new X509Certificate(cert);
  assert.equal(read.verify(read.publicKey), true);
  assert.equal(read.checkPrivateKey(createPrivateKey(key)), true);
  assert.equal(read.ca, false);
  assert.deepEqual(read.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  assert.equal(read.subject, 'CN=localhost');
  assert.equal(read.issuer, read.subject);
  assert.equal(read.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  assert.equal(Date.parse(read.validFrom), now - DAY_MS);
  assert.equal(Date.parse(read.validTo), now + 824 * DAY_MS);
  for (const host of ['localhost', 'dns.example']) assert.equal(read.checkHost(host), host);
  for (const ip of ['127.0.0.1', '::1', '192.0.2.7', '2001:db8::7']) assert.ok(read.checkIP(ip), ip);
  assert.equal(read.checkHost('other.example'), undefined);
  assert.equal(read.checkIP('192.0.2.8'), undefined);
  assert.equal(read.subjectAltName?.match(/localhost/g)?.length, 1);
});

test('dates from 2050 on are in the long form', () => {
  for (const now of [Date.UTC(2047, 9, 1), Date.UTC(2049, 11, 31), Date.UTC(2060, 0, 1)]) {
    const read = new X509Certificate(makeSelfSigned({ hosts: [], now }).cert);
    assert.equal(Date.parse(read.validFrom), now - DAY_MS);
    assert.equal(Date.parse(read.validTo), now + 824 * DAY_MS);
  }
});

test('every key and serial is new', () => {
  const made = Array.from(
    { length: 20 },
    () => new X509Certificate(makeSelfSigned({ hosts: [], now: Date.now() }).cert),
  );
  assert.equal(new Set(made.map((each) => each.serialNumber)).size, made.length);
  assert.equal(new Set(made.map((each) => each.fingerprint256)).size, made.length);
  for (const each of made) assert.equal(each.serialNumber.length, 32);
});

test('a client that trusts it accepts its names and no others', async () => {
  const { cert, key } = makeSelfSigned({ hosts: ['dns.example'], now: Date.now() });
  const server = createServer({ cert, key });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    for (const host of ['localhost', '127.0.0.1', 'dns.example']) {
      const servername = host === '127.0.0.1' ? {} : { servername: host };
      const socket = connect({ host: '127.0.0.1', port, ca: cert, ...servername });
      await once(socket, 'secureConnect');
      assert.equal(socket.authorized, true);
      socket.destroy();
    }
    const stranger = connect({ host: '127.0.0.1', port, ca: cert, servername: 'other.example' });
    const [fault] = (await once(stranger, 'error')) as [NodeJS.ErrnoException];
    assert.equal(fault.code, 'ERR_TLS_CERT_ALTNAME_INVALID');
  } finally {
    server.close();
  }
});

test('the encoding rules, on both sides of each length', () => {
  const cases: [element: Buffer, hex: string][] = [
    [der.octetString(Buffer.alloc(127)), '047f'],
    [der.octetString(Buffer.alloc(128)), '048180'],
    [der.octetString(Buffer.alloc(255)), '0481ff'],
    [der.octetString(Buffer.alloc(256)), '04820100'],
    [der.integer(Buffer.of(0x7f)), '02017f'],
    [der.integer(Buffer.of(0x80)), '02020080'],
    [der.integer(Buffer.of(0, 0, 5)), '020105'],
    [der.integer(Buffer.of(0)), '020100'],
    [der.oid('1.2.840.10045.4.3.2'), '06082a8648ce3d040302'],
    [der.oid('2.5.29.17'), '0603551d11'],
  ];
  for (const [element, hex] of cases) assert.equal(element.toString('hex').slice(0, hex.length), hex);
});
