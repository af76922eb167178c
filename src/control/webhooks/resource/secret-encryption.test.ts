import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { aesSeal } from './secret-encryption.ts';

const ID = '01980000-0000-7000-8000-000000000001';
const KEY = Buffer.alloc(32, 7);
const random = (bytes: number): Uint8Array => randomBytes(bytes);
const seal = aesSeal(KEY, random);
const SECRET = '0123456789abcdef'.repeat(4);

test('what is sealed opens for its webhook', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (id, bytes) => {
      const secret = Buffer.from(bytes).toString('hex');
      const sealed = seal.seal(id, secret);
      assert.equal(sealed.length, 1 + 12 + 64 + 16);
      assert.equal(seal.open(id, sealed), secret);
      // As the embedded engine hands it out.
      assert.equal(seal.open(id, new Uint8Array(sealed)), secret);
      assert.ok(!Buffer.from(sealed).toString('latin1').includes(secret));
    }),
  );
});

test('the layout: one octet, nonce, ciphertext, tag', () => {
  const nonce = Buffer.from('000102030405060708090a0b', 'hex');
  const sealed = aesSeal(KEY, (bytes) => nonce.subarray(0, bytes)).seal(ID, SECRET);
  assert.equal(Buffer.from(sealed.subarray(0, 13)).toString('hex'), `01${nonce.toString('hex')}`);
});

test('the same secret is never sealed the same', () => {
  const all = Array.from({ length: 100 }, () => Buffer.from(seal.seal(ID, SECRET)).toString('hex'));
  assert.equal(new Set(all).size, 100);
});

test('another webhook, another key: nothing opens', () => {
  const sealed = seal.seal(ID, SECRET);
  assert.throws(() => seal.open(ID.replace(/1$/, '2'), sealed));
  assert.throws(() => seal.open('', sealed));
  assert.throws(() => aesSeal(Buffer.alloc(32, 8), random).open(ID, sealed));
});

test('every bit counts, and every octet', () => {
  const sealed = seal.seal(ID, SECRET);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Uint8Array.from(sealed);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    assert.throws(() => seal.open(ID, flipped), `bit ${bit}`);
  }
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => seal.open(ID, sealed.subarray(0, length)), `${length} octets`);
  }
  assert.throws(() => seal.open(ID, Buffer.concat([sealed, Buffer.of(0)])));
});

test('no error tells of the secret', () => {
  const sealed = Uint8Array.from(seal.seal(ID, SECRET));
  sealed[40]! ^= 1;
  assert.throws(
    () => seal.open(ID, sealed),
    (error: Error) => !error.message.includes(SECRET.slice(0, 8)) && !error.message.includes(ID),
  );
});

test('a key of another length is refused', () => {
  for (const length of [0, 16, 31, 33]) {
    assert.throws(() => aesSeal(Buffer.alloc(length), random), /wrong length/);
  }
});
