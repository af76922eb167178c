import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  type AttestationKey,
  type AttestedManifest,
  checkAttestation,
  readAttestationKeys,
  textFields,
} from './manifest-signature.ts';

const FIXTURES = new URL('../../../test/fixtures/attest/', import.meta.url);

function json(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, FIXTURES), 'utf8'));
}

const KEY = json('key.json') as { readonly public: string; readonly kid: string };
const TEXT = `v=svc-attest.v1;kid=${KEY.kid};alg=ed25519;pub=${KEY.public};st=1`;

describe('attestations', () => {
  for (const name of ['plain', 'normal-form', 'bounds']) {
    it(`the test vector ${name} is valid, and no changed one is`, async () => {
      const manifest = json(`${name}/signed.json`) as AttestedManifest;
      const keys = await readAttestationKeys([TEXT]);
      assert.equal(await checkAttestation(manifest, keys), 'valid');
      for (const field of ['slug', 'version', 'license', 'provenance', 'sha256'] as const) {
        const changed = { ...manifest, [field]: `${manifest[field]}x` };
        assert.equal(await checkAttestation(changed, keys), 'signature_wrong', field);
      }
      assert.equal(await checkAttestation(manifest, []), 'key_unknown');
      const ended = (end: number): readonly AttestationKey[] => keys.map((key) => ({ ...key, end }));
      assert.equal(await checkAttestation(manifest, ended(manifest.atts - 1)), 'key_ended');
      assert.equal(await checkAttestation(manifest, ended(manifest.atts)), 'valid');
    });
  }

  it('a key under the id of another one is left out', async () => {
    const wrong = [TEXT.replace(KEY.kid, '0'.repeat(16)), 'v=svc-attest.v1', 'kid=1;pub=%', ''];
    assert.deepEqual(await readAttestationKeys(wrong), []);
    assert.equal((await readAttestationKeys([`${TEXT};end=9`]))[0]?.end, 9);
  });

  it('fields are split at the first equals sign', () => {
    assert.deepEqual(
      [...textFields('a=b=c;d=;=e;f')],
      [
        ['a', 'b=c'],
        ['d', ''],
      ],
    );
  });
});
