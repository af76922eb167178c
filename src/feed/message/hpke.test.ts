import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeKeys, x25519Keys } from '../../../test/support/feed/batch/keys.ts';
import { AES_128_GCM, hpkeDecrypt, hpkeEncrypt } from './hpke.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** RFC 9180, appendix A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, mode Base, sequence number 0. */
const VECTOR = {
  ephemeral: x25519Keys(hex('52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736')),
  recipient: x25519Keys(hex('4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8')),
  info: hex('4f6465206f6e2061204772656369616e2055726e'),
  associated: hex('436f756e742d30'),
  plain: hex('4265617574792069732074727574682c20747275746820626561757479'),
  encapsulated: hex('37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431'),
  ciphertext: hex(
    'f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a',
  ),
};

describe('HPKE', () => {
  it('makes and reads the message of RFC 9180, appendix A.1.1', () => {
    const { ephemeral, recipient, plain, encapsulated, ciphertext } = VECTOR;
    const message = hpkeEncrypt(recipient.publicKey, VECTOR, plain, AES_128_GCM, ephemeral);
    assert.deepEqual(message, Buffer.concat([encapsulated, ciphertext]));
    assert.deepEqual(hpkeDecrypt(recipient.privateKey, VECTOR, message, AES_128_GCM), plain);
  });

  it('gives nothing to another key, for another purpose, with other associated data, or after a change', () => {
    const text = { info: Buffer.from('info'), associated: Buffer.from('a') };
    const { publicKey, privateKey } = nodeKeys(1);
    const plain = Buffer.from('secret');
    const message = hpkeEncrypt(publicKey, text, plain);
    assert.deepEqual(hpkeDecrypt(privateKey, text, message), plain);
    assert.equal(hpkeDecrypt(nodeKeys(2).privateKey, text, message), null);
    assert.equal(hpkeDecrypt(privateKey, { ...text, info: Buffer.from('other') }, message), null);
    assert.equal(hpkeDecrypt(privateKey, { ...text, associated: Buffer.from('b') }, message), null);
    for (let i = 0; i < message.length; i++) {
      const changed = Buffer.from(message);
      changed[i]! ^= 1;
      assert.equal(hpkeDecrypt(privateKey, text, changed), null, `octet ${i}`);
      assert.equal(hpkeDecrypt(privateKey, text, message.subarray(0, i)), null, `${i} octets`);
    }
  });

  it('refuses an encapsulated key of small order: its shared secret would be known to everybody', () => {
    const { privateKey } = nodeKeys(1);
    const text = { info: Buffer.alloc(0), associated: Buffer.alloc(0) };
    assert.equal(hpkeDecrypt(privateKey, text, Buffer.alloc(32 + 16)), null);
  });

  it('uses another key for each message', () => {
    const text = { info: Buffer.alloc(0), associated: Buffer.alloc(0) };
    const { publicKey } = nodeKeys(1);
    const plain = Buffer.from('x');
    assert.notDeepEqual(hpkeEncrypt(publicKey, text, plain), hpkeEncrypt(publicKey, text, plain));
  });
});
