import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierDocument } from '../../../../test/support/edge/dnssec/earlier-format.ts';
import { isCurrentFormat, openKeySet, SealError, sealKeySet } from './key-encryption.ts';
import { generateKeySet, keySetData } from './key-set.ts';

const ZONE = 'uqrp.net';
const KEY = Buffer.alloc(32, 1);
const set = keySetData(generateKeySet(ZONE, 1));

test('a sealed key set opens with the same key, and holds no private key in the clear', () => {
  const document = sealKeySet(set, KEY);
  assert.deepEqual(openKeySet(ZONE, document, KEY), set);
  assert.ok(!document.includes('PRIVATE KEY'));
  for (const { privateKey } of set.keys) {
    for (const line of privateKey.split('\n').filter((text) => text.length > 20)) {
      assert.ok(!document.includes(line));
    }
  }
});

test('the same set is sealed to another text each time', () => {
  assert.notEqual(sealKeySet(set, KEY), sealKeySet(set, KEY));
});

test('another secret, another zone, a key in the place of another and damaged octets do not open', () => {
  const document = sealKeySet(set, KEY);
  const data = JSON.parse(document) as { zone: string; keys: { keyTag: number; sealed: string }[] };
  const [ksk, zsk] = data.keys;
  const withKeys = (...keys: unknown[]): string => JSON.stringify({ ...data, keys });
  const damaged = `${ksk!.sealed.slice(0, 40)}${ksk!.sealed[40] === 'A' ? 'B' : 'A'}${ksk!.sealed.slice(41)}`;
  assert.throws(() => openKeySet(ZONE, document, Buffer.alloc(32, 2)), SealError);
  assert.throws(() => openKeySet('uqrp.org', JSON.stringify({ ...data, zone: 'uqrp.org' }), KEY), SealError);
  assert.throws(
    () => openKeySet(ZONE, withKeys({ ...ksk, sealed: zsk!.sealed }, { ...zsk, sealed: ksk!.sealed }), KEY),
    SealError,
  );
  assert.throws(() => openKeySet(ZONE, withKeys({ ...ksk, sealed: damaged }, zsk), KEY), SealError);
  assert.throws(() => openKeySet(ZONE, withKeys({ ...ksk, sealed: '' }, zsk), KEY), SealError);
});

test('a text that is no sealed set of the zone is an error that quotes nothing of it', () => {
  const message = 'the sealed signing keys of uqrp.net are not readable';
  for (const text of ['', '{', '[]', '{"zone":"uqrp.net"}', sealKeySet({ ...set, zone: 'uqrp.org' }, KEY)]) {
    assert.throws(() => openKeySet(ZONE, text, KEY), { name: 'KeyError', message });
  }
  const one = JSON.stringify({ ...JSON.parse(sealKeySet(set, KEY)), keys: [] });
  assert.throws(() => openKeySet(ZONE, one, KEY), { name: 'KeyError' });
});

test('a changed role, state or time, and the format named as the earlier one, do not open', () => {
  const data = JSON.parse(sealKeySet(set, KEY)) as { keys: Record<string, unknown>[] };
  const [ksk, zsk] = data.keys;
  const changes = { role: 'zsk', state: 'retired', createdAt: 2, stateSince: 2, dsSeenAt: 3 };
  for (const [name, value] of Object.entries(changes)) {
    const changed = JSON.stringify({ ...data, keys: [{ ...ksk, [name]: value }, zsk] });
    assert.throws(() => openKeySet(ZONE, changed, KEY), SealError, name);
  }
  assert.throws(() => openKeySet(ZONE, JSON.stringify({ ...data, version: 1 }), KEY), SealError);
  const later = JSON.stringify({ ...data, version: 3 });
  assert.throws(() => openKeySet(ZONE, later, KEY), { name: 'KeyError', message: /unknown version/ });
});

test('a set of the earlier format opens, and is known as such', () => {
  assert.deepEqual(openKeySet(ZONE, earlierDocument(set, KEY), KEY), set);
  assert.equal(isCurrentFormat(ZONE, earlierDocument(set, KEY)), false);
  assert.equal(isCurrentFormat(ZONE, sealKeySet(set, KEY)), true);
});
