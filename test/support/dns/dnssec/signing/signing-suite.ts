/** What holds for every way to sign. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { generateKey } from '../../../../../src/dns/dnssec/key-set.ts';
import {
  prepareKey,
  type SignableRrset,
  type SignatureParams,
  type SigningKey,
  type Sodium,
  signRrsetWith,
} from '../../../../../src/dns/dnssec/rrsig.ts';

import { RRTYPE } from '../../../../../src/protocol/dns/codes.ts';
import { concatOctets } from '../../../../../src/protocol/dns/octets.ts';
import { anyName, fromHex, wireName } from '../../../protocol/dns/fixtures.ts';
import { keyFromOctets, readRrsig, txt, verifies } from '../keys.ts';

const ksk = generateKey('ksk', 'active', 0, new Set());
const zsk = generateKey('zsk', 'active', 0, new Set());
const example = { signer: wireName('example.com'), inception: 1_000_000, expiration: 2_000_000 };

/** @param sodium null: node:crypto signs */
export function signingSuite(path: string, sodium: Sodium | null): void {
  const both = [ksk, zsk].map((key) => prepareKey(key, sodium));

  function signRrset(rrset: SignableRrset, key: SigningKey, params: SignatureParams): Uint8Array {
    return signRrsetWith(rrset, [prepareKey(key, sodium)], params)[0]!;
  }

  test(`${path}: RFC 6605 section 6.1: P-256`, () => {
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

  test(`${path}: RFC 8080 section 6.1, with erratum 4935: Ed25519`, () => {
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

  test(`${path}: the fields of an RRSIG record`, () => {
    const rrset = { ...txt('A.b.Example.COM', 300, 'x') };
    const [first, second] = signRrsetWith(rrset, both, { ...example, signer: wireName('EXAMPLE.com') });
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

  test(`${path}: labels: neither the root nor a leftmost asterisk counts`, () => {
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

  test(`${path}: order, repetition and letter case do not change the signed octets`, () => {
    const one = txt('www.example.com', 60, 'b', 'a', 'aa', 'b');
    const other = txt('WWW.Example.Com', 60, 'aa', 'b', 'a');
    assert.deepEqual(signRrset(one, zsk, example), signRrset(other, zsk, example));
  });

  test(`${path}: the signature covers TTL, class, type, owner and data`, () => {
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

  test(`${path}: an empty rrset and an owner outside the zone throw a RangeError`, () => {
    assert.throws(() => signRrset({ ...txt('example.com', 1, 'x'), rdata: [] }, zsk, example), RangeError);
    assert.throws(() => signRrset(txt('example.org', 1, 'x'), zsk, example), RangeError);
  });

  test(`${path}: any rrset verifies under both algorithms`, () => {
    const strings = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(anyName(), strings, fc.nat(0x7fffffff), (name, texts, ttl) => {
        const rdata = texts.map((text) => concatOctets([Uint8Array.of(text.length), text]));
        const rrset = { owner: name, type: RRTYPE.TXT, ttl, rdata };
        const rrsigs = signRrsetWith(rrset, both, { ...example, signer: Uint8Array.of(0) });
        assert.ok(verifies(rrset, rrsigs[0]!, ksk.dnskeyRdata));
        assert.ok(verifies(rrset, rrsigs[1]!, zsk.dnskeyRdata));
      }),
      { numRuns: 60 },
    );
  });

  test(`${path}: P-256 signatures of all lengths of r and s are 64 octets`, () => {
    // One in 256 has a short r or s, one in two a padded one: 700 have all of them.
    const rrset = txt('www.example.com', 60, 'a');
    for (let i = 0; i < 700; i++) assert.ok(verifies(rrset, signRrset(rrset, ksk, example), ksk.dnskeyRdata));
  });
}
