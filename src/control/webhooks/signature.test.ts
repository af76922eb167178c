import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import Stripe from 'stripe';
import { signatureHeader } from './send-attempt.ts';

const SECRET = 'a1'.repeat(32);
const OTHER = 'b2'.repeat(32);
const BODY = Buffer.from('{"event":"record.upserted","seq":7,"data":{"key":"ü.doc.acme.v1"}}');

/** An independent receiver, with a clock of its own. */
function accepts(body: Uint8Array, header: string, secret: string, now: number): boolean {
  try {
    return Stripe.webhooks.signature!.verifyHeader(
      Buffer.from(body),
      header,
      secret,
      300,
      undefined,
      now * 1000,
    );
  } catch {
    return false;
  }
}

describe('the signature of a delivery', () => {
  it('has one form', () => {
    assert.equal(
      signatureHeader(Buffer.from('{}'), 1_700_000_000, '0'.repeat(64)),
      // printf '1700000000.{}' | openssl dgst -sha256 -hmac 0000...
      't=1700000000,v1=464c960bd7afea8a6fe6fc9461a7f5307657a451a6a3bfed05a8809d375d2b54',
    );
    assert.match(signatureHeader(BODY, 1, SECRET), /^t=1,v1=[0-9a-f]{64}$/);
  });

  it('is accepted by an independent receiver, within its tolerance either way', () => {
    const header = signatureHeader(BODY, 1_000_000, SECRET);
    const table: readonly [title: string, expected: boolean, ...Parameters<typeof accepts>][] = [
      ['at once', true, BODY, header, SECRET, 1_000_000],
      ['300 s later', true, BODY, header, SECRET, 1_000_300],
      ['301 s later', false, BODY, header, SECRET, 1_000_301],
      ['another secret', false, BODY, header, OTHER, 1_000_000],
      ['a changed octet', false, changed(BODY), header, SECRET, 1_000_000],
      ['one octet more', false, Buffer.concat([BODY, Buffer.of(10)]), header, SECRET, 1_000_000],
      [
        'another time in the header',
        false,
        BODY,
        header.replace('t=1000000', 't=1000001'),
        SECRET,
        1_000_001,
      ],
    ];
    for (const [title, expected, ...given] of table) assert.equal(accepts(...given), expected, title);
  });

  it('uses the letters of the secret as the key', () => {
    const decoded = Buffer.from(SECRET, 'hex');
    const hashed = createHash('sha256').update(SECRET).digest('hex');
    for (const [title, key] of [
      ['its 32 octets', decoded.toString('latin1')],
      ['its hash', hashed],
      ['in upper case', SECRET.toUpperCase()],
    ] as const) {
      assert.equal(accepts(BODY, signatureHeader(BODY, 5, key), SECRET, 5), false, title);
    }
  });

  it('covers octets that are no text', () => {
    const body = randomBytes(16_384);
    const header = signatureHeader(body, 5, SECRET);
    assert.equal(header, signatureHeader(Uint8Array.from(body), 5, SECRET));
    assert.notEqual(header, signatureHeader(changed(body), 5, SECRET));
  });
});

function changed(body: Uint8Array): Buffer {
  const copy = Buffer.from(body);
  copy[copy.length - 1]! ^= 1;
  return copy;
}
