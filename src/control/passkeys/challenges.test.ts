import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { CHALLENGE_LIFE, openChallenges, type Purpose } from './challenges.ts';

const KEY = randomBytes(32);
const ADD: Purpose = { kind: 'add', userId: 'u' };

describe('passkey challenges', () => {
  let now = Date.UTC(2026, 0, 1);
  const deps = { clock: () => now, random: (bytes: number) => randomBytes(bytes) };
  const challenges = openChallenges(deps, KEY);
  const issue = (purpose: Purpose): string => Buffer.from(challenges.issue(purpose)).toString('base64url');

  it('holds for the purpose and the user that it was issued for, in every process with the same key', () => {
    const text = issue(ADD);
    const checked = challenges.check(text, ADD);
    assert.deepEqual(checked, { digest: checked?.digest, expiresAt: now + CHALLENGE_LIFE });
    assert.deepEqual(openChallenges(deps, KEY).check(text, ADD), checked);
    assert.equal(challenges.check(text, { kind: 'sign_in' }), null);
    assert.equal(challenges.check(text, { kind: 'add', userId: 'v' }), null);
    assert.equal(openChallenges(deps, randomBytes(32)).check(text, ADD), null);
    assert.throws(() => openChallenges(deps, KEY.subarray(1)), RangeError);
  });

  it('a change of any octet breaks it, its end included', () => {
    const octets = challenges.issue({ kind: 'sign_in' });
    for (let at = 0; at < octets.length; at++) {
      const changed = Buffer.from(octets);
      changed[at]! ^= 1;
      assert.equal(challenges.check(changed.toString('base64url'), { kind: 'sign_in' }), null);
    }
    for (const text of ['', 'A', '=', Buffer.from(octets).subarray(1).toString('base64url')]) {
      assert.equal(challenges.check(text, { kind: 'sign_in' }), null);
    }
  });

  it('two texts of the same octets are one challenge', () => {
    const text = issue(ADD);
    const checked = challenges.check(text, ADD);
    assert.notEqual(checked, null);
    // The last character is less than an octet.
    assert.deepEqual(challenges.check(`${text}A`, ADD), checked);
  });

  it('ends after five minutes', () => {
    const text = issue(ADD);
    now += CHALLENGE_LIFE - 1;
    assert.notEqual(challenges.check(text, ADD), null);
    now += 1;
    assert.equal(challenges.check(text, ADD), null);
  });
});
