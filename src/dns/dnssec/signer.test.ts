import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readRrsig, txt, verifies } from '../../../test/support/dns/dnssec/keys.ts';
import { toHex, wireName } from '../../../test/support/protocol/dns/fixtures.ts';
import { LIMITS } from '../../base/limits.ts';
import { selectWindow } from '../../protocol/datasets/item.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { concatOctets } from '../../protocol/dns/octets.ts';
import { dsRdata, generateKey, generateKeySet, type KeySet, type ZoneKey } from './key-set.ts';
import { ROLLOVER_TIMES } from './rollover.ts';
import type { SignableRrset } from './rrsig.ts';
import { DNSKEY_TTL, makeSigner, RrsigCache, type Signed, type SigningMode } from './signer.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);
const BOUNDED = { entries: 64, octets: 65_536 };
const basic = generateKeySet('x.net', NOW);
const [ksk, zsk] = basic.keys as readonly [ZoneKey, ZoneKey];

/** Everything that may be in DNSKEY at once: two rollovers under way. */
const busy: KeySet = {
  zone: 'x.net',
  keys: [
    ksk,
    zsk,
    generateKey('ksk', 'published', NOW, new Set()),
    { ...generateKey('zsk', 'active', NOW, new Set()), state: 'retired' },
  ],
};

test('which keys sign which rrsets', () => {
  const cases: [SigningMode, number, readonly ZoneKey[]][] = [
    ['full', RRTYPE.TXT, [ksk, zsk]],
    ['full', RRTYPE.NSEC, [ksk, zsk]],
    ['full', RRTYPE.DNSKEY, [ksk, zsk]],
    ['full', RRTYPE.CDS, [ksk, zsk]],
    ['split', RRTYPE.TXT, [zsk]],
    ['split', RRTYPE.NSEC, [zsk]],
    ['split', RRTYPE.SOA, [zsk]],
    ['split', RRTYPE.DNSKEY, [ksk]],
    ['split', RRTYPE.CDS, [ksk]],
    ['split', RRTYPE.CDNSKEY, [ksk]],
  ];
  for (const keys of [basic, busy]) {
    for (const [mode, type, expected] of cases) {
      const signer = makeSigner({ keys, mode, clock: () => NOW });
      const { rrsigs } = signer.sign({ ...txt('a.x.net', 60, 'x'), type });
      const tags = rrsigs.map((rrsig) => readRrsig(rrsig).keyTag);
      const expectedTags = expected.map(({ keyTag }) => keyTag);
      assert.deepEqual(tags, expectedTags, `${mode} ${type}`);
    }
  }
});

test('the rrsets of the apex, and their signatures', () => {
  const signer = makeSigner({ keys: busy, mode: 'full', clock: () => NOW });
  const apex = wireName('x.net');
  const published = busy.keys[2]!;
  const expected: [SignableRrset, number, readonly Uint8Array[]][] = [
    [signer.dnskey, RRTYPE.DNSKEY, busy.keys.map(({ dnskeyRdata }) => dnskeyRdata)],
    [signer.cds, RRTYPE.CDS, [dsRdata(apex, ksk), dsRdata(apex, published)]],
    [signer.cdnskey, RRTYPE.CDNSKEY, [ksk.dnskeyRdata, published.dnskeyRdata]],
  ];
  for (const [rrset, type, rdata] of expected) {
    assert.deepEqual(rrset, { owner: apex, type, ttl: 3600, rdata });
    const { rrsigs, renewAt } = signer.sign(rrset);
    assert.ok(verifies(rrset, rrsigs[0]!, ksk.dnskeyRdata));
    assert.ok(verifies(rrset, rrsigs[1]!, zsk.dnskeyRdata));
    assert.ok(renewAt > NOW + 60 * HOUR_MS && renewAt <= NOW + 72 * HOUR_MS);
  }
});

test('the original TTL of a signature is that of the rrset, above a day too: datasets have a week (K08)', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  for (const ttl of [0, 60, 86_400, 86_401, 604_800]) {
    const rrset = txt('a.x.net', ttl, 'x');
    const { rrsigs } = signer.sign(rrset);
    for (const [index, key] of [ksk, zsk].entries()) {
      assert.equal(readRrsig(rrsigs[index]!).ttl, ttl);
      assert.ok(verifies(rrset, rrsigs[index]!, key.dnskeyRdata), `${ttl}`);
    }
  }
});

test('a signature outlives every copy in a cache: to the last moment before its renewal more is left than the TTL (RFC 4035 section 5.3.1)', () => {
  const settled = selectWindow([{ from: null, to: 100 }], 0, NOW);
  assert.ok(settled.kind === 'window');
  assert.equal(settled.ttl, ROLLOVER_TIMES.maxTtl, 'the longest that is sent');
  const ttls = [0, 30, 60, DNSKEY_TTL, LIMITS.openTtlMax, settled.ttl];
  for (const madeAt of [NOW, NOW + HOUR_MS - 1]) {
    const signer = makeSigner({ keys: basic, mode: 'full', clock: () => madeAt });
    for (const ttl of ttls) {
      const { rrsigs, renewAt } = signer.sign(txt('a.x.net', ttl, 'x'));
      for (const { expiration } of rrsigs.map(readRrsig)) {
        const left = expiration - (renewAt - 1) / 1000;
        assert.ok(left >= ttl, `${ttl}: ${left}`);
        assert.equal(expiration - NOW / 1000, 7 * 86_400 + (ttl > 86_400 ? ttl : 0), `${ttl}`);
      }
    }
  }
});

test('signatures are cached until they are due for renewal', () => {
  let now = NOW;
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => now });
  const rrset = txt('a.x.net', 60, 'x');
  signer.sign(rrset);
  const first = signer.sign(rrset);
  now = first.renewAt - 1;
  const again = signer.sign(txt('A.X.net', 60, 'x'));
  assert.deepEqual(again.rrsigs.map(toHex), first.rrsigs.map(toHex), 'any spelling of the owner');
  assert.deepEqual([first.isFresh, again.isFresh], [true, false]);
  now = first.renewAt;
  const second = signer.sign(rrset);
  assert.notEqual(second, first);
  assert.ok(second.renewAt > first.renewAt);
  assert.ok(readRrsig(second.rrsigs[0]!).inception > readRrsig(first.rrsigs[0]!).inception);
});

test('the SOA record that every denial has gets new signatures when they are due, and when the clock was set back', () => {
  let now = NOW;
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => now });
  const soa = { ...txt('x.net', 60, 'x'), type: RRTYPE.SOA, rdata: [new Uint8Array(22)] };
  const first = signer.sign(soa);
  for (const held of [signer.sign(soa), signer.sign(soa), signer.sign({ ...soa })]) {
    assert.equal(held.isFresh, false);
    assert.deepEqual(held.rrsigs.map(toHex), first.rrsigs.map(toHex));
  }
  assert.equal(signer.sign({ ...soa, ttl: 61 }).isFresh, true, 'another rrset');
  now = first.validFrom - 1;
  assert.equal(signer.sign(soa).isFresh, true, 'before inception');
  assert.equal(signer.sign(soa).isFresh, false);
  now = first.renewAt;
  assert.equal(signer.sign(soa).isFresh, true, 'due for renewal');
  assert.equal(signer.sign(soa).isFresh, false);
});

test('signatures that are kept do not change when later ones are made', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  const names = Array.from({ length: 200 }, (_, i) => txt(`n${i}.x.net`, 60, `${i}`));
  for (const rrset of names) signer.sign(rrset);
  const made = names.map((rrset) => signer.sign(rrset).rrsigs.map(toHex));
  assert.deepEqual(
    names.map((rrset) => signer.sign(rrset).rrsigs.map(toHex)),
    made,
  );
  for (const rrset of names) assert.ok(verifies(rrset, signer.sign(rrset).rrsigs[0]!, ksk.dnskeyRdata));
});

test('signatures of answers and denials are kept when a name is asked for again, each of its own accord', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  for (const type of [RRTYPE.TXT, RRTYPE.HINFO, RRTYPE.NSEC]) {
    const rrset = { ...txt('a.x.net', 60, 'x'), type };
    const fresh = [1, 2, 3, 4].map(() => signer.sign(rrset).isFresh);
    assert.deepEqual(fresh, [true, true, false, false], String(type));
  }
  const other = { ...txt('x.net', 60, 'x'), type: RRTYPE.NS };
  assert.deepEqual([signer.sign(other).isFresh, signer.sign(other).isFresh], [true, false]);
});

test('an rrset that differs in any field has its own signature', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  const rrset = txt('a.x.net', 60, 'x', 'y');
  const others = [
    txt('a.x.net', 61, 'x', 'y'),
    txt('a.x.net', 60, 'x', 'z'),
    txt('a.x.net', 60, 'x'),
    txt('b.x.net', 60, 'x', 'y'),
    { ...rrset, type: RRTYPE.SPF },
    // Not ASCII, so no case: two names.
    { ...rrset, owner: wireName('\\201.x.net') },
    { ...rrset, owner: wireName('\\233.x.net') },
  ];
  const signed = signer.sign(rrset);
  const seen = new Set([signed]);
  for (const other of others) {
    const { rrsigs } = signer.sign(other);
    assert.ok(verifies(other, rrsigs[1]!, zsk.dnskeyRdata));
    seen.add(signer.sign(other));
  }
  assert.equal(seen.size, others.length + 1);
});

test('a later change to the arrays of the caller does not change the cache', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  const rrset = txt('a.x.net', 60, 'x');
  const first = signer.sign(rrset);
  rrset.rdata[0]![1] = 0x79;
  assert.notEqual(signer.sign(rrset), first);
});

test('an rrset that cannot be signed throws, and the message does not name it', () => {
  const signer = makeSigner({ keys: basic, mode: 'full', clock: () => NOW });
  const secret = txt('secret.x.net', 60, 'x');
  const broken: KeySet = { ...basic, keys: [ksk, { ...zsk, privateKey: ksk.privateKey }] };
  const cases: [() => unknown, string][] = [
    [() => signer.sign({ ...secret, owner: wireName('secret.y.net') }), 'another zone'],
    [() => signer.sign({ ...secret, rdata: [] }), 'no records'],
    [() => signer.sign({ ...secret, ttl: -1 }), 'a TTL out of range'],
  ];
  for (const [run, name] of cases) {
    assert.throws(run, { name: 'SigningError', message: 'signing failed' }, name);
  }
  const wrongKey = makeSigner({
    keys: { ...broken, keys: [ksk, { ...zsk, algorithm: 8 }] },
    mode: 'full',
    clock: () => NOW,
  });
  assert.throws(() => wrongKey.sign(secret), { name: 'SigningError' });
});

test('a signer needs an active key of each role', () => {
  for (const keys of [[], [ksk], [zsk], [ksk, { ...zsk, state: 'retired' as const }]]) {
    assert.throws(() => makeSigner({ keys: { zone: 'x.net', keys }, mode: 'split', clock: () => NOW }), {
      name: 'KeyError',
    });
  }
});

const SIGNED: Signed = {
  rrsigs: [new Uint8Array(64)],
  validFrom: NOW,
  renewAt: NOW + 1,
  isFresh: true,
};

test('the cache stays within its limits of entries and octets', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(500), fc.nat(4000), fc.boolean()), { minLength: 200, maxLength: 400 }),
      (asked) => {
        const cache = new RrsigCache(BOUNDED);
        for (const [name, size, read] of asked) {
          const rrset = { ...txt(`n${name}.x.net`, 60), rdata: [new Uint8Array(size)] };
          if (read) cache.get(rrset, NOW);
          else cache.set(rrset, SIGNED);
          assert.ok(cache.octets <= BOUNDED.octets && cache.entries <= BOUNDED.entries);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test('a name in use stays cached during a flood of other names', () => {
  const cache = new RrsigCache(BOUNDED);
  const hot = txt('hot.x.net', 60, 'x');
  const cold = txt('cold.x.net', 60, 'x');
  cache.set(hot, SIGNED);
  cache.set(cold, SIGNED);
  for (let i = 0; i < 1000; i++) {
    cache.set(txt(`n${i}.x.net`, 60, 'x'), SIGNED);
    if (i % 16 === 0) assert.notEqual(cache.get(hot, NOW), null, String(i));
  }
  assert.equal(cache.get(cold, NOW), null);
});

test('an rrset larger than the cache is not cached', () => {
  const cache = new RrsigCache({ entries: 8, octets: 4096 });
  const large = { ...txt('large.x.net', 60), rdata: [new Uint8Array(2048)] };
  cache.set(large, SIGNED);
  assert.deepEqual([cache.get(large, NOW), cache.octets], [null, 0]);
  const fits = { ...txt('fits.x.net', 60), rdata: [concatOctets([new Uint8Array(1024)])] };
  cache.set(fits, SIGNED);
  assert.notEqual(cache.get(fits, NOW), null);
  assert.equal(cache.get(fits, SIGNED.renewAt), null);
  assert.equal(cache.get(fits, SIGNED.validFrom - 1), null);
});
