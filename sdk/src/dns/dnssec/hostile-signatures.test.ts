import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  type Answer,
  APEX,
  dnskey,
  ENTRY_POINT,
  type HandKey,
  handKey,
  handSigned,
  keyWithTagOf,
  reply,
  SIGNED_AT,
  txt,
} from '../../../../test/support/sdk/hand-signed.ts';
import { nameFromText } from '../message/cursor.ts';
import { checkKeys, type KeysCheck, type KeysOptions } from './check-answer.ts';
import { checkSignatures, type SignatureReason } from './check-signatures.ts';
import { verifierOf } from './verify-signature.ts';
import { dsOf, type ZoneKey } from './zone-keys.ts';

const ZONE = nameFromText(APEX);
const TRUE_KEY = handKey(1);
const DS = await dsOf(ZONE, TRUE_KEY);

function keysOf(answers: readonly Answer[], options: KeysOptions & Authorities = {}): Promise<KeysCheck> {
  const { authorities, ...rest } = options;
  return checkKeys(reply('DNSKEY', APEX, answers, authorities), ZONE, { ds: [DS], now: SIGNED_AT, ...rest });
}

interface Authorities {
  readonly authorities?: readonly Answer[];
}

const keySet = (...keys: readonly HandKey[]): readonly Answer[] => keys.map((key) => dnskey(APEX, key));
const summary = ({ result, isAnchored, keys }: KeysCheck) => [result, isAnchored, keys.length];
const FORGED = ['not_valid', false, 0];

describe('keys that the DS of the parent does not name', () => {
  const twin = keyWithTagOf(TRUE_KEY);

  it('a key with the tag of the true one cannot sign in its place', async () => {
    assert.deepEqual([twin.tag, twin.isEntryPoint], [TRUE_KEY.tag, true]);
    for (const set of [keySet(twin, TRUE_KEY), keySet(TRUE_KEY, twin)]) {
      assert.deepEqual(summary(await keysOf(handSigned(set, twin))), FORGED);
      const own = await keysOf(handSigned(set, TRUE_KEY));
      assert.deepEqual(summary(own), ['valid', true, 2]);
      assert.deepEqual(own.signatures[0]?.key?.rdata, Uint8Array.from(TRUE_KEY.rdata));
    }
  });

  it('a key that is no entry point cannot sign in the place of one with its tag', async () => {
    const plain = keyWithTagOf(TRUE_KEY, ENTRY_POINT & ~1);
    assert.equal(plain.isEntryPoint, false);
    const forged = await keysOf(handSigned(keySet(plain, TRUE_KEY), plain), { ds: undefined });
    assert.deepEqual(summary(forged), ['not_valid', null, 0]);
  });

  it('the type of the digest must be that of the DS', async () => {
    const answers = handSigned(keySet(TRUE_KEY), TRUE_KEY);
    assert.deepEqual(summary(await keysOf(answers)), ['valid', true, 1]);
    assert.deepEqual(summary(await keysOf(answers, { ds: [{ ...DS, digestType: 4 }] })), FORGED);
  });

  it('a signature of the true key over other records does not vouch for added keys', async () => {
    const other = handKey(2);
    const good = handSigned(keySet(TRUE_KEY), TRUE_KEY);
    const added = handSigned(keySet(TRUE_KEY, other), other);
    assert.deepEqual(summary(await keysOf(added, { authorities: good })), FORGED);
    const asLong = handSigned(keySet(TRUE_KEY, handKey(3)), TRUE_KEY);
    assert.deepEqual(summary(await keysOf(added, { authorities: asLong })), FORGED);
    const ofOtherClass = handSigned([dnskey(APEX, other, 'CH')], other);
    assert.deepEqual(summary(await keysOf([...good, ...ofOtherClass])), FORGED);
  });
});

describe('messages that cost many verifications', () => {
  const name = `a.${APEX}`;
  const [text, rrsig] = handSigned([txt(name)], TRUE_KEY);
  const decoys = (count: number): readonly ZoneKey[] =>
    Array.from({ length: count }, (_, at) => ({ ...handKey(10 + at), tag: TRUE_KEY.tag }));

  async function reasons(keys: readonly ZoneKey[], signatures: number): Promise<readonly SignatureReason[]> {
    assert.ok(text !== undefined && rrsig !== undefined);
    const message = reply('TXT', name, [text, ...Array.from({ length: signatures }, () => rrsig)]);
    const checks = await checkSignatures(message, ZONE, keys, { now: SIGNED_AT });
    assert.ok(checks.every(({ isValid, key }) => key === (isValid ? TRUE_KEY : null)));
    return checks.map(({ reason }) => reason);
  }

  it('four keys of one tag are tried, and not the fifth', async () => {
    assert.deepEqual(await reasons([...decoys(3), TRUE_KEY], 1), ['valid']);
    assert.deepEqual(await reasons([...decoys(4), TRUE_KEY], 1), ['no_match']);
  });

  it('sixteen verifications are made, and not the seventeenth', async () => {
    const all = (count: number) => Array.from({ length: count }, () => 'valid');
    assert.deepEqual(await reasons([TRUE_KEY], 16), all(16));
    assert.deepEqual(await reasons([TRUE_KEY], 17), [...all(16), 'too_many']);
    assert.deepEqual(await reasons([...decoys(3), TRUE_KEY], 5), [...all(4), 'too_many']);
    // The sixth signature has one verification left of the three that it needs.
    assert.deepEqual(await reasons([...decoys(2), TRUE_KEY], 6), [...all(5), 'too_many']);
  });

  it('a key is imported once', async () => {
    const publicKey = Uint8Array.from(TRUE_KEY.publicKey);
    const verify = verifierOf({ ...TRUE_KEY, publicKey });
    const octets = new TextEncoder().encode('octets');
    const signature = sign(null, octets, TRUE_KEY.privateKey);
    assert.equal(await verify(signature, octets), 'valid');
    publicKey.fill(0);
    assert.equal(await verify(signature, octets), 'valid');
  });
});
