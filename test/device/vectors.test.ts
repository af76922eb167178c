import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { publicKeyOf, signedPayload } from '../support/device/messages.ts';

interface Vector {
  readonly seed: string;
  readonly public_key: string;
  readonly key: string;
  readonly milliseconds: number;
  readonly payload: string;
  readonly data: string;
}

it('the published vectors of signed payloads are what Node makes', () => {
  const text = readFileSync(new URL('../../docs/vectors/signing.json', import.meta.url), 'utf8');
  const { vectors } = JSON.parse(text) as { vectors: readonly Vector[] };
  for (const { seed, public_key, key, milliseconds, payload, data } of vectors) {
    const secret = Buffer.from(seed, 'hex');
    assert.equal(publicKeyOf(secret).toString('hex'), public_key);
    const made = signedPayload(key, milliseconds, Buffer.from(payload, 'hex'), secret);
    assert.equal(made.toString('hex'), data, key);
  }
});
