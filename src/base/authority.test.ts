import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { issueCertificate, makeAuthority } from './certificates.ts';

const now = Date.UTC(2026, 10, 22);
const authority = makeAuthority(now);
const issued = issueCertificate(authority, { subject: 'fra1', use: ['client'], names: [], now });

test('an authority is one, and signs what it issues', () => {
  const root = new X509Certificate(authority.cert);
  const leaf = new X509Certificate(issued.cert);
  assert.equal(root.ca, true);
  assert.equal(root.verify(root.publicKey), true);
  assert.equal(leaf.ca, false);
  assert.equal(leaf.checkIssued(root), true);
  assert.equal(leaf.verify(root.publicKey), true);
  assert.equal(leaf.checkPrivateKey(createPrivateKey(issued.key)), true);
  assert.equal(leaf.subject, 'CN=fra1');
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  assert.equal(leaf.verify(new X509Certificate(makeAuthority(now).cert).publicKey), false);
});

test('a server certificate has its names, and both are valid for ten years', () => {
  const names = ['nats.example', '192.0.2.7'];
  const { cert } = issueCertificate(authority, { subject: 'broker', use: ['server', 'client'], names, now });
  const read = new X509Certificate(cert);
  assert.equal(read.checkHost('nats.example'), 'nats.example');
  assert.ok(read.checkIP('192.0.2.7'));
  assert.equal(read.checkHost('other.example'), undefined);
  for (const pem of [authority.cert, cert]) {
    const { validFrom, validTo } = new X509Certificate(pem);
    assert.equal(Date.parse(validFrom), now - 86_400_000);
    assert.equal(Date.parse(validTo), now + 3649 * 86_400_000);
  }
});
