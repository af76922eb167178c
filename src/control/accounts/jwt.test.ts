import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { jwtKeeper } from './jwt.ts';

const SECRET = createHash('sha256').update('a').digest();
const NOW = Date.UTC(2026, 0, 1);
const CLAIMS = { customerId: 'c', sessionId: 's', expiresAt: NOW + 60_000 };

test('what a token says', async () => {
  const token = await jwtKeeper(SECRET, () => NOW).sign(CLAIMS, NOW);
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
  const token = await jwtKeeper(SECRET, () => NOW).sign(CLAIMS, NOW);
  assert.deepEqual(await jwtKeeper(SECRET, () => NOW).verify(token), CLAIMS);
  const other = createHash('sha256').update('b').digest();
  assert.equal(await jwtKeeper(other, () => NOW).verify(token), null);
  assert.throws(() => jwtKeeper(SECRET.subarray(1), () => NOW), RangeError);
});

test('a token ends on time, remembered or not', async () => {
  let now = NOW;
  const keeper = jwtKeeper(SECRET, () => now);
  const token = await keeper.sign(CLAIMS, NOW);
  assert.deepEqual(await keeper.verify(token), CLAIMS);
  now = CLAIMS.expiresAt - 1;
  assert.deepEqual(await keeper.verify(token), CLAIMS);
  now = CLAIMS.expiresAt;
  assert.equal(await keeper.verify(token), null);
  assert.equal(await jwtKeeper(SECRET, () => now).verify(token), null);
});

test('a change of any letter breaks it', async () => {
  const keeper = jwtKeeper(SECRET, () => NOW);
  const token = await keeper.sign(CLAIMS, NOW);
  // The last letter carries unused bits: leaving it out is change enough.
  for (let i = 0; i < token.length - 1; i++) {
    if (token[i] === '.') continue;
    const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
    assert.equal(await keeper.verify(changed), null);
  }
  assert.equal(await keeper.verify(token.slice(0, -1)), null);
});
