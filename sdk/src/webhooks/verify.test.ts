import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  BODY,
  check,
  checkBoth,
  HEADER,
  HEX,
  NOW,
  OTHER,
  SECRET,
  signed,
  T,
  WRONG,
} from '../../../test/support/sdk/check.ts';
import { type SigningSecrets, type VerifyOptions, verifyWebhook, verifyWebhookAsync } from './verify.ts';

type HeaderCase = readonly [
  name: string,
  header: string | readonly string[] | undefined,
  expected: ReturnType<typeof check>,
];

describe('verifyWebhook: headers', () => {
  const unknown = 'v2=Zm9v+/==';
  const pad = (length: number) => `${HEADER},x=${'y'.repeat(length - HEADER.length - 3)}`;
  const cases: readonly HeaderCase[] = [
    ['as we send it', HEADER, 'passed'],
    ['v1 before t', `v1=${HEX},t=${T}`, 'passed'],
    ['a second v1 that fits', `t=${T},v1=${WRONG},v1=${HEX}`, 'passed'],
    ['a first v1 that fits', `t=${T},v1=${HEX},v1=${WRONG}`, 'passed'],
    ['the same v1 twice', `t=${T},v1=${HEX},v1=${HEX}`, 'passed'],
    ['schemes that are not known', `${unknown},${HEADER},v0=abc,v11=1,T=1,V1=1`, 'passed'],
    ['1,024 characters', pad(1024), 'passed'],
    ['1,025 characters', pad(1025), 'malformed_header'],
    ['none', undefined, 'malformed_header'],
    ['empty', '', 'malformed_header'],
    ['a list of one', [HEADER], 'malformed_header'],
    ['a list of two', [HEADER, HEADER], 'malformed_header'],
    ['two joined as Node does', `${HEADER}, ${HEADER}`, 'malformed_header'],
    ['two joined without a space', `${HEADER},${HEADER}`, 'malformed_header'],
    ['t twice, the same', `t=${T},${HEADER}`, 'malformed_header'],
    ['t twice, another', `${HEADER},t=${T + 1}`, 'malformed_header'],
    ['a second t that is no number', `${HEADER},t=now`, 'malformed_header'],
    ['without t', `v1=${HEX}`, 'malformed_header'],
    ['without v1', `t=${T}`, 'malformed_header'],
    ['known to nobody alone', `t=${T},${unknown}`, 'malformed_header'],
    ['v1 in capitals', `t=${T},v1=${HEX.toUpperCase()}`, 'malformed_header'],
    ['v1 too short', `t=${T},v1=${HEX.slice(1)}`, 'malformed_header'],
    ['v1 too long', `t=${T},v1=${HEX}0`, 'malformed_header'],
    ['v1 empty', `t=${T},v1=`, 'malformed_header'],
    ['a broken v1 beside one that fits', `${HEADER},v1=zz`, 'malformed_header'],
    ['an item without =', `${HEADER},v2`, 'malformed_header'],
    ['a comma at the end', `${HEADER},`, 'malformed_header'],
    ['a space behind the comma', `t=${T}, v1=${HEX}`, 'malformed_header'],
    ['a space in front', ` ${HEADER}`, 'malformed_header'],
    ['a space within', `${HEADER},x=a b`, 'malformed_header'],
    ['a line end behind', `${HEADER}\n`, 'malformed_header'],
    ['no ASCII', `${HEADER},x=ä`, 'malformed_header'],
    ...['', '-1', '+1', '01', '1e9', '1.5', '0x10', 'now', '1'.repeat(13)].map(
      (t): HeaderCase => [`t ${t || 'empty'}`, `t=${t},v1=${HEX}`, 'malformed_header'],
    ),
    ['t of 12 digits', `t=${'1'.repeat(12)},v1=${HEX}`, 'no_match'],
    ['t 0', `t=0,v1=${HEX}`, 'no_match'],
    ['another t', `t=${T - 1},v1=${HEX}`, 'no_match'],
    ['another v1', `t=${T},v1=${WRONG}`, 'no_match'],
  ];
  for (const [name, header, expected] of cases) {
    it(`${name}: ${expected}`, async () => assert.equal(await checkBoth(BODY, header), expected));
  }

  it('many v1 that do not fit are all looked at', async () => {
    const many = Array.from({ length: 12 }, () => `v1=${WRONG}`).join(',');
    assert.equal(await checkBoth(BODY, `t=${T},${many},v1=${HEX}`), 'passed');
    assert.equal(await checkBoth(BODY, `t=${T},${many}`), 'no_match');
  });
});

describe('verifyWebhook: secrets', () => {
  const cases: readonly [string, SigningSecrets, ReturnType<typeof check>][] = [
    ['the signing secret', SECRET, 'passed'],
    ['another', OTHER, 'no_match'],
    ['empty', '', 'malformed_secret'],
    ['in capitals', SECRET.toUpperCase(), 'malformed_secret'],
    ['with the line end of its file', `${SECRET}\n`, 'malformed_secret'],
    ['cut short', SECRET.slice(1), 'malformed_secret'],
    ['one too many', `${SECRET}0`, 'malformed_secret'],
    ['with a prefix', `whsec_${SECRET}`, 'malformed_secret'],
    ['a list of one', [SECRET], 'passed'],
    ['the new one of two', [SECRET, OTHER], 'passed'],
    ['the old one of two', [OTHER, SECRET], 'passed'],
    ['the same twice', [SECRET, SECRET], 'passed'],
    ['two others', [OTHER, WRONG], 'no_match'],
    ['an empty list', [], 'malformed_secret'],
    ['one of two is malformed', [SECRET, 'short'], 'malformed_secret'],
    ['one of two is no string', [SECRET, 1] as never, 'malformed_secret'],
    ['none', null as never, 'malformed_secret'],
    ['octets', Buffer.from(SECRET) as never, 'malformed_secret'],
  ];
  for (const [name, secret, expected] of cases) {
    it(`${name}: ${expected}`, async () => assert.equal(await checkBoth(BODY, HEADER, secret), expected));
  }

  it('while a secret is replaced, deliveries of both pass, and each signature counts alone', async () => {
    const secrets = [OTHER, SECRET];
    for (const secret of secrets)
      assert.equal(await checkBoth(BODY, signed(BODY, T, secret), secrets), 'passed');
    const both = `${signed(BODY, T, WRONG)},v1=${signed(BODY, T, OTHER).slice(-64)}`;
    assert.equal(await checkBoth(BODY, both, secrets), 'passed');
    assert.equal(await checkBoth(BODY, signed(BODY, T, WRONG), secrets), 'no_match');
  });
});

describe('verifyWebhook: age', () => {
  const sides: readonly [number, VerifyOptions, ReturnType<typeof check>][] = [
    [300, {}, 'passed'],
    [-300, {}, 'passed'],
    [300.999, {}, 'passed'],
    [301, {}, 'outside_tolerance'],
    [-300.001, {}, 'outside_tolerance'],
    [-301, {}, 'outside_tolerance'],
    [10, { toleranceSeconds: 10 }, 'passed'],
    [11, { toleranceSeconds: 10 }, 'outside_tolerance'],
    [-10, { toleranceSeconds: 10 }, 'passed'],
    [-11, { toleranceSeconds: 10 }, 'outside_tolerance'],
    [0, { toleranceSeconds: 0 }, 'passed'],
    [1, { toleranceSeconds: 0 }, 'outside_tolerance'],
    [-1, { toleranceSeconds: 0 }, 'outside_tolerance'],
    [1e9, { toleranceSeconds: Number.POSITIVE_INFINITY }, 'passed'],
    [Number.NaN, {}, 'outside_tolerance'],
    [300, { toleranceSeconds: undefined }, 'passed'],
    [301, { toleranceSeconds: undefined }, 'outside_tolerance'],
  ];
  for (const [age, options, expected] of sides) {
    it(`${age} s, tolerance ${options.toleranceSeconds ?? 'not given'}: ${expected}`, async () => {
      const now = NOW + age * 1000;
      assert.equal(await checkBoth(BODY, HEADER, SECRET, { ...options, now }), expected);
      assert.equal(check(BODY, HEADER, SECRET, { ...options, now: () => now }), expected);
    });
  }

  it('is compared with the clock of the machine unless another is given', () => {
    const t = Math.floor(Date.now() / 1000);
    for (const options of [{}, { now: undefined }]) {
      assert.equal(check(BODY, signed(BODY, t), SECRET, options), 'passed');
      assert.equal(check(BODY, signed(BODY, t - 3600), SECRET, options), 'outside_tolerance');
      assert.equal(check(BODY, signed(BODY, t + 3600), SECRET, options), 'outside_tolerance');
    }
  });

  it('a tolerance that is none is a fault of the caller', async () => {
    for (const toleranceSeconds of [-1, Number.NaN]) {
      assert.throws(() => verifyWebhook(BODY, HEADER, SECRET, { toleranceSeconds }), RangeError);
      await assert.rejects(verifyWebhookAsync(BODY, HEADER, SECRET, { toleranceSeconds }), RangeError);
    }
  });
});

describe('verifyWebhook: the order of the checks', () => {
  const old = { now: NOW + 301_000 };
  it('the signature before the age', () => assert.equal(check(BODY, HEADER, OTHER, old), 'no_match'));
  it('the age before the body', () =>
    assert.equal(check('no JSON', signed('no JSON'), SECRET, old), 'outside_tolerance'));
  it('the signature before the body', () => assert.equal(check('no JSON', HEADER), 'no_match'));
  it('the secret before the header', () => assert.equal(check(BODY, '', 'short'), 'malformed_secret'));
});
