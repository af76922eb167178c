import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { aesGcmEncryption } from './seal.ts';

const ID = '01980000-0000-7000-8000-000000000001';
const KEY = Buffer.alloc(32, 7);
const random = (bytes: number): Uint8Array => randomBytes(bytes);
const encryption = aesGcmEncryption(KEY, random);
const SECRET = '0123456789abcdef'.repeat(4);

test('what is encrypted is decrypted for its webhook', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (id, bytes) => {
      const secret = Buffer.from(bytes).toString('hex');
      const encrypted = encryption.encrypt(id, secret);
      assert.equal(encrypted.length, 1 + 12 + 64 + 16);
      assert.equal(encryption.decrypt(id, encrypted), secret);
      // As the embedded engine hands it out.
      assert.equal(encryption.decrypt(id, new Uint8Array(encrypted)), secret);
      assert.ok(!Buffer.from(encrypted).toString('latin1').includes(secret));
    }),
  );
});

test('the layout: one octet, nonce, ciphertext, tag', () => {
  const nonce = Buffer.from('000102030405060708090a0b', 'hex');
  const encrypted = aesGcmEncryption(KEY, (bytes) => nonce.subarray(0, bytes)).encrypt(ID, SECRET);
  assert.equal(Buffer.from(encrypted.subarray(0, 13)).toString('hex'), `01${nonce.toString('hex')}`);
});

test('the same secret never gives the same ciphertext', () => {
  const all = Array.from({ length: 100 }, () => Buffer.from(encryption.encrypt(ID, SECRET)).toString('hex'));
  assert.equal(new Set(all).size, 100);
});

test('another webhook or another key cannot decrypt it', () => {
  const encrypted = encryption.encrypt(ID, SECRET);
  assert.throws(() => encryption.decrypt(ID.replace(/1$/, '2'), encrypted));
  assert.throws(() => encryption.decrypt('', encrypted));
  assert.throws(() => aesGcmEncryption(Buffer.alloc(32, 8), random).decrypt(ID, encrypted));
});

test('a changed bit or a missing octet is refused', () => {
  const encrypted = encryption.encrypt(ID, SECRET);
  for (let bit = 0; bit < encrypted.length * 8; bit++) {
    const flipped = Uint8Array.from(encrypted);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    assert.throws(() => encryption.decrypt(ID, flipped), `bit ${bit}`);
  }
  for (let length = 0; length < encrypted.length; length++) {
    assert.throws(() => encryption.decrypt(ID, encrypted.subarray(0, length)), `${length} octets`);
  }
  assert.throws(() => encryption.decrypt(ID, Buffer.concat([encrypted, Buffer.of(0)])));
});

test('no error has the secret or the id in it', () => {
  const encrypted = Uint8Array.from(encryption.encrypt(ID, SECRET));
  encrypted[40]! ^= 1;
  assert.throws(
    () => encryption.decrypt(ID, encrypted),
    (error: Error) => !error.message.includes(SECRET.slice(0, 8)) && !error.message.includes(ID),
  );
});

test('a key of another length is refused', () => {
  for (const length of [0, 16, 31, 33]) {
    assert.throws(() => aesGcmEncryption(Buffer.alloc(length), random), /must have 32 octets/);
  }
});
