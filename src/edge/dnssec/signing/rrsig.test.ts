import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { keyFromOctets, readRrsig, txt, verifies } from '../../../../test/support/edge/dnssec/keys.ts';
import { anyName, fromHex, toHex, wireName } from '../../../../test/support/edge/wire/fixtures.ts';
import { RRTYPE } from '../../wire/codes.ts';
import { concatOctets } from '../../wire/octets.ts';
import { generateKey } from '../keys/key-set.ts';
import { canonicalRdata, canonicalRdatas, type SignableRrset } from './canonical.ts';
import { type SignatureParams, type SigningKey, signatureWindow, signRrsetWith } from './rrsig.ts';

function signRrset(rrset: SignableRrset, key: SigningKey, params: SignatureParams): Uint8Array {
  return signRrsetWith(rrset, [key], params)[0]!;
}

const HOUR = 3600;
const ksk = generateKey('ksk', 'active', 0, new Set());
const zsk = generateKey('zsk', 'active', 0, new Set());
const example = { signer: wireName('example.com'), inception: 1_000_000, expiration: 2_000_000 };

test('RFC 6605 section 6.1: P-256', () => {
  const key = keyFromOctets(
    257,
    13,
    'GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=',
    'GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==',
  );
  assert.equal(key.keyTag, 55648);
  const rrset = {
    owner: wireName('www.example.net'),
    type: RRTYPE.A,
    ttl: 3600,
    rdata: [fromHex('c0000201')],
  };
  const times = {
    signer: wireName('example.net'),
    inception: Date.UTC(2010, 7, 12, 10, 4, 39) / 1000,
    expiration: Date.UTC(2010, 8, 9, 10, 4, 39) / 1000,
  };
  const ours = signRrset(rrset, key, times);
  const published = Buffer.from(
    'qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw==',
    'base64',
  );
  const theirs = concatOctets([ours.subarray(0, ours.length - 64), published]);
  assert.ok(verifies(rrset, theirs, key.dnskeyRdata), 'the published signature is over the same octets');
  assert.ok(verifies(rrset, ours, key.dnskeyRdata));
  assert.equal(readRrsig(ours).keyTag, 55648);
});

test('RFC 8080 section 6.1, with erratum 4935: Ed25519', () => {
  const cases = [
    {
      privateKey: 'ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=',
      publicKey: 'l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=',
      tag: 3613,
      signature: 'oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==',
    },
    {
      privateKey: 'DSSF3o0s0f+ElWzj9E/Osxw8hLpk55chkmx0LYN5WiY=',
      publicKey: 'zPnZ/QwEe7S8C5SPz2OfS5RR40ATk2/rYnE9xHIEijs=',
      tag: 35217,
      signature: 'zXQ0bkYgQTEFyfLyi9QoiY6D8ZdYo4wyUhVioYZXFdT410QPRITQSqJSnzQoSm5poJ7gD7AQR0O7KuI5k2pcBg==',
    },
  ];
  for (const { privateKey, publicKey, tag, signature } of cases) {
    const key = keyFromOctets(257, 15, privateKey, publicKey);
    assert.equal(key.keyTag, tag);
    const rdata = [concatOctets([Uint8Array.of(0, 10), wireName('mail.example.com')])];
    const rrset = { owner: wireName('example.com'), type: RRTYPE.MX, ttl: 3600, rdata };
    const rrsig = signRrset(rrset, key, {
      signer: wireName('example.com'),
      inception: 1_438_207_200,
      expiration: 1_440_021_600,
    });
    assert.equal(Buffer.from(readRrsig(rrsig).signature).toString('base64'), signature);
  }
});

test('the fields of an RRSIG record', () => {
  const rrset = { ...txt('A.b.Example.COM', 300, 'x') };
  const [first, second] = signRrsetWith(rrset, [ksk, zsk], { ...example, signer: wireName('EXAMPLE.com') });
  for (const [rrsig, key] of [
    [first!, ksk],
    [second!, zsk],
  ] as const) {
    const { signature, ...fields } = readRrsig(rrsig);
    assert.equal(signature.length, 64);
    assert.deepEqual(fields, {
      covered: RRTYPE.TXT,
      algorithm: key.algorithm,
      labels: 4,
      ttl: 300,
      expiration: 2_000_000,
      inception: 1_000_000,
      keyTag: key.keyTag,
      signer: wireName('example.com'),
    });
    assert.ok(verifies(rrset, rrsig, key.dnskeyRdata));
  }
});

test('labels: neither the root nor a leftmost asterisk counts', () => {
  const cases: [string, number][] = [
    ['example.com', 2],
    ['www.example.com', 3],
    ['*.example.com', 2],
    ['a.*.example.com', 4],
    ['**.example.com', 3],
  ];
  for (const [owner, labels] of cases) {
    assert.equal(readRrsig(signRrset(txt(owner, 1, 'x'), zsk, example)).labels, labels, owner);
  }
});

test('order, repetition and letter case do not change the signed octets', () => {
  const one = txt('www.example.com', 60, 'b', 'a', 'aa', 'b');
  const other = txt('WWW.Example.Com', 60, 'aa', 'b', 'a');
  assert.deepEqual(signRrset(one, zsk, example), signRrset(other, zsk, example));
});

test('the signature covers TTL, class, type, owner and data', () => {
  const rrset = txt('www.example.com', 60, 'a');
  const rrsig = signRrset(rrset, zsk, example);
  const changed = [
    { ...rrset, ttl: 61 },
    { ...rrset, type: RRTYPE.SPF },
    { ...rrset, owner: wireName('wwx.example.com') },
    txt('www.example.com', 60, 'b'),
  ];
  for (const other of changed) assert.equal(verifies(other, rrsig, zsk.dnskeyRdata), false);
  assert.notDeepEqual(signRrset({ ...rrset, class: 3 }, zsk, example), rrsig);
});

test('an empty rrset and an owner outside the zone throw a RangeError', () => {
  assert.throws(() => signRrset({ ...txt('example.com', 1, 'x'), rdata: [] }, zsk, example), RangeError);
  assert.throws(() => signRrset(txt('example.org', 1, 'x'), zsk, example), RangeError);
});

test('any rrset verifies under both algorithms', () => {
  const strings = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(anyName(), strings, fc.nat(0x7fffffff), (name, texts, ttl) => {
      const rdata = texts.map((text) => concatOctets([Uint8Array.of(text.length), text]));
      const rrset = { owner: name, type: RRTYPE.TXT, ttl, rdata };
      const rrsigs = signRrsetWith(rrset, [ksk, zsk], { ...example, signer: Uint8Array.of(0) });
      assert.ok(verifies(rrset, rrsigs[0]!, ksk.dnskeyRdata));
      assert.ok(verifies(rrset, rrsigs[1]!, zsk.dnskeyRdata));
    }),
    { numRuns: 60 },
  );
});

test('P-256 signatures of all lengths of r and s are 64 octets', () => {
  // One in 256 has a short r or s, one in two a padded one: 700 have all of them.
  const rrset = txt('www.example.com', 60, 'a');
  for (let i = 0; i < 700; i++) assert.ok(verifies(rrset, signRrset(rrset, ksk, example), ksk.dnskeyRdata));
});

test('rdata are ordered as octets, the shorter first (RFC 4034 section 6.3)', () => {
  const cases: [readonly string[], readonly string[]][] = [
    [
      ['02', '01'],
      ['01', '02'],
    ],
    [
      ['0100', '01', '00ff'],
      ['00ff', '01', '0100'],
    ],
    [
      ['ff', '7f', '80'],
      ['7f', '80', 'ff'],
    ],
    [['01', '01'], ['01']],
  ];
  for (const [given, expected] of cases) {
    const rrset = { owner: wireName('a'), type: RRTYPE.TXT, ttl: 0, rdata: given.map(fromHex) };
    assert.deepEqual(canonicalRdatas(rrset).map(toHex), expected);
  }
});

test('names in rdata are in lower case for the types of RFC 4034 section 6.2, and for no others', () => {
  const upper = toHex(wireName('A.B'));
  const lower = toHex(wireName('a.b'));
  const cases: [number, string, string][] = [
    [RRTYPE.NS, upper, lower],
    [RRTYPE.DNAME, upper, lower],
    [RRTYPE.SOA, `${upper}${upper}41424344${'00'.repeat(16)}`, `${lower}${lower}41424344${'00'.repeat(16)}`],
    [RRTYPE.MX, `4142${upper}`, `4142${lower}`],
    [RRTYPE.SRV, `414243444546${upper}`, `414243444546${lower}`],
    [RRTYPE.NAPTR, `41424344014101420143${upper}`, `41424344014101420143${lower}`],
    [RRTYPE.RRSIG, `${'41'.repeat(18)}${upper}4141`, `${'41'.repeat(18)}${lower}4141`],
    [RRTYPE.NSEC, `${upper}000141`, `${upper}000141`],
    [RRTYPE.TXT, '0141', '0141'],
    [RRTYPE.SVCB, `0001${upper}`, `0001${upper}`],
    [RRTYPE.CNAME, '0341', '0361'],
  ];
  for (const [type, given, expected] of cases) {
    assert.equal(toHex(canonicalRdata(type, fromHex(given))), expected, String(type));
  }
});

test('the window: from an hour ago to seven days ahead, on whole hours, renewed before half of it is over', () => {
  const noon = Date.UTC(2026, 5, 1, 12);
  for (const now of [noon, noon + 1, noon + 3_599_999]) {
    const { inception, expiration, renewAt } = signatureWindow(now);
    assert.equal(inception, noon / 1000 - HOUR);
    assert.equal(expiration, noon / 1000 + 7 * 24 * HOUR);
    assert.ok(renewAt > now && renewAt - inception * 1000 < (expiration - inception) * 500);
  }
  assert.equal(signatureWindow(noon + 3_600_000).inception, noon / 1000);
});

test('times wrap in 2106', () => {
  const { inception, expiration } = signatureWindow(Date.UTC(2106, 1, 7, 6, 0));
  const rrsig = readRrsig(signRrset(txt('example.com', 1, 'x'), zsk, { ...example, inception, expiration }));
  assert.equal(rrsig.inception, inception);
  assert.equal(rrsig.expiration, expiration - 2 ** 32);
});
