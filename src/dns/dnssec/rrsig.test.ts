import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRrsig, txt } from '../../../test/support/dns/dnssec/keys.ts';
import { fromHex, toHex, wireName } from '../../../test/support/protocol/dns/fixtures.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { generateKey } from './key-set.ts';
import { canonicalRdata, canonicalRdatas, prepareKey, signatureWindow, signRrsetWith } from './rrsig.ts';

const HOUR = 3600;
const zsk = generateKey('zsk', 'active', 0, new Set());
const RRSET = txt('example.com', 1, 'x');
const example = { signer: wireName('example.com') };

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
    const { inception, expiration, renewAt } = signatureWindow(now, RRSET);
    assert.equal(inception, noon / 1000 - HOUR);
    assert.equal(expiration, noon / 1000 + 7 * 24 * HOUR);
    assert.ok(renewAt > now && renewAt - inception * 1000 < (expiration - inception) * 500);
  }
  assert.equal(signatureWindow(noon + 3_600_000, RRSET).inception, noon / 1000);
});

test('renewals of signatures that were made in one hour are spread over half a day by owner and type, on all nodes alike', () => {
  const noon = Date.UTC(2026, 5, 1, 12);
  const last = noon + 72 * HOUR * 1000;
  const renewalOf = (name: string, type: number = RRTYPE.TXT, now = noon): number =>
    signatureWindow(now, { ...txt(name, 60, 'x'), type }).renewAt;
  const quarters = new Array<number>(48).fill(0);
  for (let i = 0; i < 4800; i++) {
    const renewAt = renewalOf(`get.${i}-km-to-mi.units.public.v1.uqrp.net`);
    assert.ok(renewAt > last - 12 * HOUR * 1000 && renewAt <= last, String(i));
    quarters[Math.ceil((last - renewAt) / (HOUR * 250)) % 48]!++;
  }
  // 100 each, were the spread perfect.
  for (const count of quarters) assert.ok(count > 50 && count < 150, quarters.join(' '));
  assert.equal(renewalOf('A.Example.com', RRTYPE.TXT, noon + 3_599_999), renewalOf('a.eXample.COM'));
  const others = [renewalOf('b.example.com'), renewalOf('a.example.com', RRTYPE.NSEC)];
  assert.ok(!others.includes(renewalOf('a.example.com')));
});

test('times wrap in 2106', () => {
  const { inception, expiration } = signatureWindow(Date.UTC(2106, 1, 7, 6, 0), RRSET);
  const rrsig = readRrsig(
    signRrsetWith(txt('example.com', 1, 'x'), [prepareKey(zsk)], { ...example, inception, expiration })[0]!,
  );
  assert.equal(rrsig.inception, inception);
  assert.equal(rrsig.expiration, expiration - 2 ** 32);
});
