import assert from 'node:assert/strict';
import { it } from 'node:test';
import { feedVerifier } from '../../message/keys.ts';
import { makeNkey, nkeyKeys, nkeyPublicKey } from './nkey.ts';

it('an nkey signs, and its public part verifies, as the library of NATS makes them', async () => {
  for (let i = 0; i < 20; i++) {
    const { seed, publicKey } = await makeNkey();
    const signer = nkeyKeys(seed)!.signer;
    const message = Buffer.from('message');
    const verifier = feedVerifier([nkeyPublicKey(publicKey)!]);
    assert.deepEqual(Buffer.from(verifier.open(signer.sign(message), () => signer.id)), message);
  }
});

it('anything else than an nkey of a user is none: each character changed, cut short, longer, of another kind', async () => {
  const { seed, publicKey } = await makeNkey();
  for (const [text, read] of [
    [seed, nkeyKeys],
    [publicKey, nkeyPublicKey],
  ] as const) {
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'A' ? 'B' : 'A';
      assert.equal(read(text.slice(0, at) + other + text.slice(at + 1)), null, `character ${at}`);
      assert.equal(read(text.slice(0, at)), null, `${at} characters`);
    }
    for (const bad of ['', 'x', `${text}AAAAAAAA`, text.toLowerCase()]) assert.equal(read(bad), null, bad);
  }
  assert.equal(nkeyKeys(publicKey), null);
  assert.equal(nkeyPublicKey(seed), null);
});
