import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { jwtSigner } from './jwt.ts';

const SECRET = createHash('sha256').update('a').digest();
const NOW = Date.UTC(2026, 0, 1);
const CLAIMS = { customerId: 'c', sessionId: 's', expiresAt: NOW + 60_000 };

test('what a token says', async () => {
  const token = await jwtSigner(SECRET, () => NOW).sign(CLAIMS, NOW);
  assert.deepEqual(decodeProtectedHeader(token), { alg: 'EdDSA', typ: 'JWT' });
  assert.deepEqual(decodeJwt(token), {
    iss: 'uqrp',
    aud: 'uqrp-api',
    sub: 'c',
    sid: 's',
    iat: NOW / 1000,
    exp: NOW / 1000 + 60,
  });
});

test('the key follows from the secret alone', async () => {
  const token = await jwtSigner(SECRET, () => NOW).sign(CLAIMS, NOW);
  assert.deepEqual(await jwtSigner(SECRET, () => NOW).verify(token), CLAIMS);
  const other = createHash('sha256').update('b').digest();
  assert.equal(await jwtSigner(other, () => NOW).verify(token), null);
  assert.throws(() => jwtSigner(SECRET.subarray(1), () => NOW), RangeError);
});

test('a token ends on time, remembered or not', async () => {
  let now = NOW;
  const signer = jwtSigner(SECRET, () => now);
  const token = await signer.sign(CLAIMS, NOW);
  assert.deepEqual(await signer.verify(token), CLAIMS);
  now = CLAIMS.expiresAt - 1;
  assert.deepEqual(await signer.verify(token), CLAIMS);
  now = CLAIMS.expiresAt;
  assert.equal(await signer.verify(token), null);
  assert.equal(await jwtSigner(SECRET, () => now).verify(token), null);
});

test('a change of any letter breaks it', async () => {
  const signer = jwtSigner(SECRET, () => NOW);
  const token = await signer.sign(CLAIMS, NOW);
  // The last letter carries unused bits: leaving it out is change enough.
  for (let i = 0; i < token.length - 1; i++) {
    if (token[i] === '.') continue;
    const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
    assert.equal(await signer.verify(changed), null);
  }
  assert.equal(await signer.verify(token.slice(0, -1)), null);
});
