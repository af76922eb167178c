import assert from 'node:assert/strict';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { test } from 'node:test';
import { signingSuite } from '../../../test/support/dns/dnssec/signing/signing-suite.ts';
import { generateKey } from './key-set.ts';
import { loadSodium, prepareKey, type Sodium } from './rrsig.ts';

const OCTETS = Buffer.from('what is signed');
const ksk = generateKey('ksk', 'active', 0, new Set());
const zsk = generateKey('zsk', 'active', 0, new Set());

signingSuite('node:crypto', null);
const sodium = loadSodium();
if (sodium !== null) signingSuite('libsodium', sodium);

test('a package that is missing is not loaded', () => {
  assert.equal(loadSodium('./no-such-package.cjs'), null);
});

test('libsodium and node:crypto make the same Ed25519 signatures', { skip: sodium === null }, () => {
  for (let octets = 0; octets < 300; octets++) {
    const out = Buffer.alloc(64);
    const signed = Buffer.alloc(octets, octets);
    prepareKey(zsk, sodium).sign(signed, out, 0);
    assert.deepEqual(out, sign(null, signed, zsk.privateKey));
  }
});

test('libsodium gets Ed25519 keys alone, and the octets that it got are overwritten', () => {
  const seeds: Buffer[] = [];
  const recording: Sodium = {
    sodium_malloc: (octets) => Buffer.alloc(octets),
    crypto_sign_seed_keypair: (_publicKey, _secretKey, seed) => seeds.push(seed),
    crypto_sign_detached: (signature) => signature.fill(7),
  };
  const out = Buffer.alloc(66);
  prepareKey(zsk, recording).sign(OCTETS, out, 1);
  assert.deepEqual(out, Buffer.concat([Buffer.alloc(1), Buffer.alloc(64, 7), Buffer.alloc(1)]));
  prepareKey(ksk, recording).sign(OCTETS, out, 1);
  assert.notDeepEqual(out.subarray(1, 65), Buffer.alloc(64, 7));
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  prepareKey({ ...zsk, privateKey }, recording);
  assert.deepEqual(seeds, [Buffer.alloc(32)]);
});

test('a signature has its place, and nothing beside it is written', { skip: sodium === null }, () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const out = Buffer.alloc(110, 0xaa);
  prepareKey({ ...zsk, privateKey }, sodium).sign(OCTETS, out, 36);
  assert.equal(verify(null, OCTETS, publicKey, out.subarray(36, 100)), true);
  assert.deepEqual(
    [out.subarray(0, 36), out.subarray(100)],
    [Buffer.alloc(36, 0xaa), Buffer.alloc(10, 0xaa)],
  );
});
