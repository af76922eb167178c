import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decryptGcm, encryptGcm, NONCE_OCTETS, TAG_OCTETS } from './seal.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

test('test cases 4 and 16 of "The Galois/Counter Mode of Operation (GCM)", McGrew and Viega', () => {
  const nonce = hex('cafebabefacedbaddecaf888');
  const associated = hex('feedfacedeadbeeffeedfacedeadbeefabaddad2');
  const plain = hex(
    'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39',
  );
  for (const [key, encrypted] of [
    [
      'feffe9928665731c6d6a8f9467308308',
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47',
    ],
    [
      'feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308',
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b',
    ],
  ] as const) {
    assert.equal(encryptGcm(hex(key), nonce, associated, plain).toString('hex'), encrypted);
    assert.deepEqual(decryptGcm(createSecretKey(hex(key)), nonce, associated, hex(encrypted)), plain);
  }
});

test('what was changed, cut or encrypted otherwise does not open, and throws nothing', () => {
  const key = randomBytes(32);
  const nonce = randomBytes(NONCE_OCTETS);
  const encrypted = encryptGcm(key, nonce, Buffer.from('row 1'), Buffer.from('secret'));
  assert.equal(decryptGcm(key, nonce, Buffer.from('row 1'), encrypted)?.toString(), 'secret');
  for (let i = 0; i < encrypted.length; i++) {
    const changed = Buffer.from(encrypted);
    changed[i]! ^= 1;
    assert.equal(decryptGcm(key, nonce, Buffer.from('row 1'), changed), null, `octet ${i}`);
    assert.equal(decryptGcm(key, nonce, Buffer.from('row 1'), encrypted.subarray(0, i)), null, `${i} octets`);
  }
  assert.equal(decryptGcm(key, nonce, Buffer.from('row 2'), encrypted), null);
  assert.equal(decryptGcm(randomBytes(32), nonce, Buffer.from('row 1'), encrypted), null);
  assert.equal(decryptGcm(key, nonce.subarray(1), Buffer.from('row 1'), encrypted), null);
  assert.equal(encrypted.length, 'secret'.length + TAG_OCTETS);
});
