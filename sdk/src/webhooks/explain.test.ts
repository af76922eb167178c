import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';
import { explainSignature, type SignatureHint } from './explain.ts';

const SECRET = 'c0ffee00'.repeat(8);
const OTHER = 'a'.repeat(64);
const T = 1_790_000_000;
const BODY = '{"event":"record.upserted","seq":1,"data":{"key":"a.b.c.v1"}}';
const HEADER = signatureHeader(Buffer.from(BODY), T, SECRET);
const now = T * 1000;

function hmac(key: string | Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

describe('explainSignature', () => {
  it('a genuine request: the signed text, the signature and the age', async () => {
    const explained = await explainSignature(BODY, HEADER, SECRET, { now: now + 7999 });
    const v1 = hmac(SECRET, `${T}.${BODY}`);
    assert.deepEqual(explained, {
      result: 'genuine',
      t: T,
      ageSeconds: 7,
      signedText: `${T}.${BODY}`,
      expected: v1,
      given: [v1],
      hints: [],
    });
  });

  it('the results of verifyWebhook', async () => {
    const result = async (body: string, header: string, secret: string, at = now) =>
      (await explainSignature(body, header, secret, { now: at })).result;
    assert.equal(await result(BODY, HEADER, SECRET, now + 300_999), 'genuine');
    assert.equal(await result(BODY, HEADER, SECRET, now + 301_000), 'outside_tolerance');
    assert.equal(await result(BODY, HEADER, SECRET, now - 301_000), 'outside_tolerance');
    assert.equal(await result(BODY, HEADER, OTHER), 'no_match');
    assert.equal(await result(`${BODY}x`, HEADER, SECRET), 'no_match');
    assert.equal(await result(BODY, 't=1', SECRET), 'malformed_header');
    assert.equal(await result(BODY, '', SECRET), 'malformed_header');
    assert.equal(await result(BODY, HEADER, 'short'), 'malformed_secret');
  });

  it('a body that was changed by the way it was pasted is recognised', async () => {
    const cases: readonly (readonly [string, SignatureHint])[] = [
      [JSON.stringify(JSON.parse(BODY), null, 2), 'body_rewritten'],
      [`${BODY}\n`, 'body_line_end'],
    ];
    for (const [body, hint] of cases) {
      const { result, hints } = await explainSignature(body, HEADER, SECRET, { now });
      assert.deepEqual([result, hints.includes(hint)], ['no_match', true]);
    }
  });

  it('what a program computed wrongly is recognised', async () => {
    const value: unknown = JSON.parse(BODY);
    const python = '{"event": "record.upserted", "seq": 1, "data": {"key": "a.b.c.v1"}}';
    const cases: readonly (readonly [string, readonly SignatureHint[]])[] = [
      [hmac(SECRET, `${T}.${BODY}`), []],
      [hmac(Buffer.from(SECRET, 'hex'), `${T}.${BODY}`), ['secret_decoded']],
      [hmac(SECRET, BODY), ['time_missing']],
      [hmac(SECRET, `${T}.${JSON.stringify(value, null, 2)}`), ['body_rewritten']],
      [hmac(SECRET, `${T}.${python}`), ['body_rewritten']],
      [hmac(SECRET, `${T}.${BODY}\n`), ['body_line_end']],
      [hmac(OTHER, `${T}.${BODY}`), []],
    ];
    for (const [computed, hints] of cases) {
      const explained = await explainSignature(BODY, HEADER, SECRET, {
        now,
        computed: computed.toUpperCase(),
      });
      assert.deepEqual([explained.result, explained.hints], ['genuine', hints]);
    }
  });
});
