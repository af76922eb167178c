import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierDocument } from '../../../test/support/dns/dnssec/earlier-format.ts';
import { DecryptError, encryptKeySet, isCurrentFormat, openKeySet } from './key-files.ts';
import { generateKeySet, keySetData } from './key-set.ts';

const ZONE = 'uqrp.net';
const KEY = Buffer.alloc(32, 1);
const set = keySetData(generateKeySet(ZONE, 1));

test('an encrypted key set is decrypted with the same key, and has no readable private key', () => {
  const document = encryptKeySet(set, KEY);
  assert.deepEqual(openKeySet(ZONE, document, KEY), set);
  assert.ok(!document.includes('PRIVATE KEY'));
  for (const { privateKey } of set.keys) {
    for (const line of privateKey.split('\n').filter((text) => text.length > 20)) {
      assert.ok(!document.includes(line));
    }
  }
});

test('the same set is encrypted to another text each time', () => {
  assert.notEqual(encryptKeySet(set, KEY), encryptKeySet(set, KEY));
});

test('decryption fails for another secret, another zone, exchanged keys and damaged octets', () => {
  const document = encryptKeySet(set, KEY);
  const data = JSON.parse(document) as { zone: string; keys: { keyTag: number; sealed: string }[] };
  const [ksk, zsk] = data.keys;
  const withKeys = (...keys: unknown[]): string => JSON.stringify({ ...data, keys });
  const damaged = `${ksk!.sealed.slice(0, 40)}${ksk!.sealed[40] === 'A' ? 'B' : 'A'}${ksk!.sealed.slice(41)}`;
  assert.throws(() => openKeySet(ZONE, document, Buffer.alloc(32, 2)), DecryptError);
  assert.throws(
    () => openKeySet('uqrp.org', JSON.stringify({ ...data, zone: 'uqrp.org' }), KEY),
    DecryptError,
  );
  assert.throws(
    () => openKeySet(ZONE, withKeys({ ...ksk, sealed: zsk!.sealed }, { ...zsk, sealed: ksk!.sealed }), KEY),
    DecryptError,
  );
  assert.throws(() => openKeySet(ZONE, withKeys({ ...ksk, sealed: damaged }, zsk), KEY), DecryptError);
  assert.throws(() => openKeySet(ZONE, withKeys({ ...ksk, sealed: '' }, zsk), KEY), DecryptError);
});

test('a text that is no encrypted set of the zone is an error that does not quote it', () => {
  const message = 'the encrypted signing keys of uqrp.net are not readable';
  for (const text of [
    '',
    '{',
    '[]',
    '{"zone":"uqrp.net"}',
    encryptKeySet({ ...set, zone: 'uqrp.org' }, KEY),
  ]) {
    assert.throws(() => openKeySet(ZONE, text, KEY), { name: 'KeyError', message });
  }
  const data = JSON.parse(encryptKeySet(set, KEY)) as { keys: object[] };
  for (const sealed of [undefined, null, 7]) {
    const text = JSON.stringify({ ...data, keys: [data.keys[0], { ...data.keys[1], sealed }] });
    assert.throws(() => openKeySet(ZONE, text, KEY), { name: 'KeyError', message }, `sealed: ${sealed}`);
  }
  const one = JSON.stringify({ ...data, keys: [] });
  assert.throws(() => openKeySet(ZONE, one, KEY), { name: 'KeyError' });
});

test('decryption fails for a changed role, state or time, and for a changed format number', () => {
  const data = JSON.parse(encryptKeySet(set, KEY)) as { keys: Record<string, unknown>[] };
  const [ksk, zsk] = data.keys;
  const changes = { role: 'zsk', state: 'retired', createdAt: 2, stateSince: 2, dsSeenAt: 3 };
  for (const [name, value] of Object.entries(changes)) {
    const changed = JSON.stringify({ ...data, keys: [{ ...ksk, [name]: value }, zsk] });
    assert.throws(() => openKeySet(ZONE, changed, KEY), DecryptError, name);
  }
  assert.throws(() => openKeySet(ZONE, JSON.stringify({ ...data, version: 1 }), KEY), DecryptError);
  const later = JSON.stringify({ ...data, version: 3 });
  assert.throws(() => openKeySet(ZONE, later, KEY), { name: 'KeyError', message: /unknown version/ });
});

test('a set of the earlier format is decrypted and recognised', () => {
  assert.deepEqual(openKeySet(ZONE, earlierDocument(set, KEY), KEY), set);
  assert.equal(isCurrentFormat(ZONE, earlierDocument(set, KEY)), false);
  assert.equal(isCurrentFormat(ZONE, encryptKeySet(set, KEY)), true);
});
