import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostedEnvelope } from '../../../../src/dns/query/resolve.ts';
import { contentFormat, envelopeHead, FORMATS } from '../../../../src/protocol/query/envelope.ts';
import { answerSize, envelopeOctets } from './envelope-size.ts';

/** As `/meta` gives them. */
const formats = new Map(Object.entries(Object.fromEntries(FORMATS)));
const TYPES = [
  'text/plain',
  'Text/Plain; charset=utf-8',
  'application/ld+json',
  'image/svg+xml',
  'a/b+xml',
  'x/y',
];

describe('the envelope before it is written', () => {
  it('has the format, the head and the length that the server makes', () => {
    for (const type of [...TYPES, ...FORMATS.keys(), 'constructor', '__proto__']) {
      const format = contentFormat(type, formats);
      assert.equal(format, contentFormat(type, FORMATS), type);
      for (const octets of [0, 1, 2, 3, 900, 2586]) {
        for (const encoding of ['b64', 'plain'] as const) {
          const record = {
            data: new Uint8Array(octets),
            plain: encoding === 'plain',
            format,
            ttlSeconds: 300,
          };
          const made = hostedEnvelope(record);
          assert.equal(envelopeOctets(octets, encoding, format, 300), made.length);
          assert.ok(made.toString('latin1').startsWith(envelopeHead(encoding, format, 300)));
        }
      }
    }
  });

  it('knows what fits into an answer over UDP', () => {
    // 12 header, 23 + 4 question, 12 + 4 + 1000 answer, 11 OPT.
    const size = answerSize('get.a.acme.v1.uqrp.net', 1000, 'uqrp.net');
    assert.equal(size.plain, 12 + 24 + 4 + 12 + 4 + 1000 + 11);
    assert.equal(size.signed, size.plain + 12 + 18 + 10 + 64);
    assert.equal(size.fits, 'both');
    assert.equal(answerSize('get.a.acme.v1.uqrp.net', 1130, 'uqrp.net').fits, 'plain');
    assert.equal(answerSize('get.a.acme.v1.uqrp.net', 1200, 'uqrp.net').fits, 'none');
  });
});
