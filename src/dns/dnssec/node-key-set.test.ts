import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRrsig, txt, verifies } from '../../../test/support/dns/dnssec/keys.ts';
import { generateKey, generateKeySet, KeyError, type KeySet, type ZoneKey } from './key-set.ts';
import {
  dnskeyTags,
  isPresigned,
  PRESIGN_EVERY_MS,
  type PresignedSetData,
  presignedSetData,
  readPresignedSet,
} from './node-key-set.ts';
import { makePresignedSigner, makeSigner, SigningError } from './signer.ts';

const DAY_MS = 86_400_000;
const NOW = 7_000 * PRESIGN_EVERY_MS + 5 * 3_600_000;
const basic = generateKeySet('x.net', NOW);
const [ksk, zsk] = basic.keys as readonly [ZoneKey, ZoneKey];
const busy: KeySet = {
  zone: 'x.net',
  keys: [
    ksk,
    zsk,
    generateKey('ksk', 'published', NOW, new Set([ksk.keyTag, zsk.keyTag])),
    { ...generateKey('zsk', 'published', NOW, new Set([ksk.keyTag, zsk.keyTag])), state: 'retired' },
  ],
};
const signerOf = (data: PresignedSetData, now = NOW) =>
  makePresignedSigner({ ...readPresignedSet(data), clock: () => now });

describe('a key set without the KSK', () => {
  it('has no private part of a KSK in it, also while KSKs roll', () => {
    for (const keys of [basic, busy]) {
      const data = presignedSetData(keys, NOW);
      const text = JSON.stringify(data);
      assert.deepEqual(
        dnskeyTags(data),
        keys.keys.map(({ keyTag }) => keyTag),
      );
      assert.ok(isPresigned(data));
      assert.ok(data.keys.every(({ role }) => role === 'zsk'));
      for (const { role, privateKey } of keys.keys) {
        const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
        assert.equal(text.includes(JSON.stringify(pem).slice(1, -1)), role === 'zsk');
        const { d = '' } = privateKey.export({ format: 'jwk' });
        const raw = Buffer.from(d, 'base64url');
        assert.equal(role === 'ksk' && text.includes(raw.toString('base64').slice(0, 40)), false);
      }
    }
  });

  it('serves the rrsets that the whole set serves, each with a signature of the KSK', () => {
    for (const keys of [basic, busy]) {
      const whole = makeSigner({ keys, mode: 'split', clock: () => NOW });
      const node = signerOf(JSON.parse(JSON.stringify(presignedSetData(keys, NOW))) as PresignedSetData);
      for (const name of ['dnskey', 'cds', 'cdnskey'] as const) {
        const rrset = node[name];
        const plain = (rdata: readonly Uint8Array[]): string[] =>
          rdata.map((one) => Buffer.from(one).toString('hex'));
        assert.deepEqual(
          { ...rrset, rdata: plain(rrset.rdata) },
          { ...whole[name], rdata: plain(whole[name].rdata) },
        );
        const { rrsigs } = node.sign(rrset);
        assert.equal(rrsigs.length, 1);
        assert.ok(verifies(rrset, rrsigs[0]!, ksk.dnskeyRdata));
      }
      const answer = txt('a.x.net', 60, 'x');
      const { rrsigs } = node.sign(answer);
      assert.deepEqual(
        rrsigs.map((rrsig) => readRrsig(rrsig).keyTag),
        [zsk.keyTag],
      );
      assert.ok(verifies(answer, rrsigs[0]!, zsk.dnskeyRdata));
    }
  });

  it('is signed again after three days of seven; a node that gets nothing more serves it to the end, and then fails', () => {
    const data = presignedSetData(basic, NOW);
    const [{ validFrom, validUntil }] = data.rrsets as [PresignedSetData['rrsets'][number]];
    const start = 7_000 * PRESIGN_EVERY_MS;
    assert.deepEqual([validFrom, validUntil], [start - 3_600_000, start + 7 * DAY_MS]);
    const last = presignedSetData(basic, start + PRESIGN_EVERY_MS - 1);
    assert.equal(last.rrsets[0]!.validUntil, validUntil);
    const next = presignedSetData(basic, start + PRESIGN_EVERY_MS);
    assert.equal(next.rrsets[0]!.validUntil, validUntil + PRESIGN_EVERY_MS);
    const before = signerOf(data, validUntil - 1);
    assert.equal(before.sign(before.dnskey).renewAt, validUntil);
    const after = signerOf(data, validUntil);
    assert.throws(() => after.sign(after.dnskey), SigningError);
    assert.ok(after.sign(txt('a.x.net', 60, 'x')));
  });

  it('that is not whole is a KeyError that names the zone and nothing else', () => {
    const data = presignedSetData(busy, NOW);
    const [dnskey, ...others] = data.rrsets;
    const active = data.keys.filter(({ state }) => state === 'active');
    const strange = generateKey('zsk', 'active', NOW, new Set());
    const damages: unknown[] = [
      { ...data, rrsets: others },
      { ...data, rrsets: [...others, dnskey] },
      { ...data, rrsets: [{ ...dnskey, rrsigs: [] }, ...others] },
      { ...data, rrsets: [{ ...dnskey, validUntil: '1' }, ...others] },
      { ...data, rrsets: [{ ...dnskey, ttl: -1 }, ...others] },
      { ...data, rrsets: null },
      { ...data, keys: [] },
      { ...data, keys: [...active, ...active] },
      { ...data, keys: presignedSetData({ ...basic, keys: [ksk, strange] }, NOW).keys },
      { ...data, keys: [{ ...active[0], privateKey: 'none' }] },
    ];
    for (const damaged of damages) {
      assert.throws(
        () => readPresignedSet(damaged as PresignedSetData),
        (error) => error instanceof KeyError && /^(the signed keys|key 1) of x\.net/.test(error.message),
      );
    }
  });
});
