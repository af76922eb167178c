import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import Stripe from 'stripe';
import {
  BODY,
  check,
  HEADER,
  HEX,
  NOW,
  OTHER,
  SECRET,
  signed,
  T,
  WRONG,
} from '../../../test/support/sdk/check.ts';
import { WebhookVerificationError, type WebhookVerificationReason } from './verification-error.ts';
import { verifyWebhook } from './verify.ts';

function stripeAccepts(body: string, header: string, secret: string, now: number): boolean {
  try {
    return Stripe.webhooks.signature?.verifyHeader(body, header, secret, 300, undefined, now) ?? false;
  } catch (error) {
    assert.ok(error instanceof Stripe.errors.StripeSignatureVerificationError);
    return false;
  }
}

describe('verifyWebhook: against the stripe package', () => {
  const now = NOW + 1000;
  const decoded = createHmac('sha256', Buffer.from(SECRET, 'hex')).update(`${T}.${BODY}`).digest('hex');
  const hashed = createHash('sha256').update(SECRET).digest('hex');
  const cases: readonly [string, string, string, string, number, ReturnType<typeof check>][] = [
    ['ours', BODY, HEADER, SECRET, now, 'passed'],
    ['the key decoded from hexadecimal', BODY, `t=${T},v1=${decoded}`, SECRET, now, 'no_match'],
    ['the key hashed', BODY, signed(BODY, T, hashed), SECRET, now, 'no_match'],
    ['a changed letter', BODY.replace('acme', 'acmf'), HEADER, SECRET, now, 'no_match'],
    [
      'the body parsed and written again',
      JSON.stringify(JSON.parse(BODY), null, 1),
      HEADER,
      SECRET,
      now,
      'no_match',
    ],
    ['another secret', BODY, HEADER, OTHER, now, 'no_match'],
    ['300 s old', BODY, HEADER, SECRET, NOW + 300_999, 'passed'],
    ['301 s old', BODY, HEADER, SECRET, NOW + 301_000, 'outside_tolerance'],
    ['two v1, one that fits', BODY, `${HEADER},v1=${WRONG}`, SECRET, now, 'passed'],
  ];
  for (const [name, body, header, secret, at, expected] of cases) {
    it(`${name}: both say ${expected}`, () => {
      assert.equal(check(body, header, secret, { now: at }), expected);
      assert.equal(stripeAccepts(body, header, secret, at), expected === 'passed');
    });
  }

  it('any body that it signs fits here, and any that we sign fits there', () => {
    const time = fc.integer({ min: 1, max: 999_999_999_999 });
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), time, (text, timestamp) => {
        const payload = JSON.stringify({ text });
        const header = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp });
        assert.equal(header, signed(payload, timestamp));
        // The body is no event: the rejection comes after the checks of signature and age.
        assert.equal(check(payload, header, SECRET, { now: timestamp * 1000 }), 'malformed_body');
        assert.ok(stripeAccepts(payload, signed(payload, timestamp), SECRET, timestamp * 1000));
      }),
    );
  });
});

describe('verifyWebhook: properties', () => {
  it('octets and text are the same', () => {
    assert.deepEqual(
      verifyWebhook(Buffer.from(BODY), HEADER, SECRET, { now: NOW }),
      verifyWebhook(BODY, HEADER, SECRET, { now: NOW }),
    );
    const within = new Uint8Array([1, ...Buffer.from(BODY), 2]).subarray(1, -1);
    assert.equal(check(within, HEADER), 'passed');
  });

  it('no body with a flipped bit passes', () => {
    const bits = fc.integer({ min: 0, max: Buffer.byteLength(BODY) * 8 - 1 });
    fc.assert(
      fc.property(bits, (bit) => {
        const body = Buffer.from(BODY);
        body.writeUInt8(body.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        assert.equal(check(body, HEADER), 'no_match');
      }),
    );
  });

  it('no header with another letter passes', () => {
    const place = fc.integer({ min: 0, max: HEADER.length - 1 });
    fc.assert(
      fc.property(place, fc.string({ minLength: 1, maxLength: 1 }), (at, letter) => {
        fc.pre(letter !== HEADER[at]);
        assert.notEqual(check(BODY, HEADER.slice(0, at) + letter + HEADER.slice(at + 1)), 'passed');
      }),
    );
  });

  it('no other header passes, and none throws anything else', () => {
    const soup = fc.string({ unit: fc.constantFrom('t', 'v', '1', '=', ',', ' ', '0', 'a', HEX, String(T)) });
    fc.assert(
      fc.property(fc.oneof(fc.string(), soup), fc.string(), (header, body) => {
        fc.pre(!header.includes(HEX));
        assert.ok(['malformed_header', 'no_match'].includes(check(body, header)));
      }),
    );
  });

  it('every reason has a message of its own, that is the same for every request', () => {
    const bad = '{"event":"very private"}';
    const faults: readonly [WebhookVerificationReason, () => unknown][] = [
      ['malformed_secret', () => verifyWebhook(BODY, HEADER, `${SECRET} `, { now: NOW })],
      ['malformed_header', () => verifyWebhook(BODY, `${HEADER},private`, SECRET, { now: NOW })],
      ['no_match', () => verifyWebhook(BODY, HEADER, OTHER, { now: NOW })],
      ['outside_tolerance', () => verifyWebhook(BODY, HEADER, SECRET, { now: 0 })],
      ['malformed_body', () => verifyWebhook(bad, signed(bad), SECRET, { now: NOW })],
      ['malformed_body', () => verifyWebhook('private', signed('private'), SECRET, { now: NOW })],
    ];
    const messages = new Map<string, string>();
    for (const [reason, run] of faults) {
      assert.throws(run, (error) => {
        assert.ok(error instanceof WebhookVerificationError);
        assert.equal(error.name, 'WebhookVerificationError');
        assert.equal(error.reason, reason);
        assert.equal(error.cause, undefined);
        assert.doesNotMatch(`${error.message}${error.stack}`, /[0-9a-f]{32}|private|acme/);
        assert.equal(error.message, messages.get(reason) ?? error.message);
        messages.set(reason, error.message);
        return true;
      });
    }
    assert.equal(new Set(messages.values()).size, 5);
  });
});
