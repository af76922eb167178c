import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { attest, attestationKeyId, keyTxt, rawPublicKey } from './attestation.ts';
import { type Manifest, manifestTxt, readManifest, type SignedManifest } from './manifest.ts';
import { checkPublished, readKeyTxt, readManifestTxt } from './published.ts';
import type { PublishedKey } from './signed-text.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = rawPublicKey(privateKey);
const KEY: PublishedKey = { publicKey, since: 100, end: null };
const STATED: Manifest = {
  slug: 'gtin-demo',
  version: '1.2.0',
  license: 'CC0-1.0',
  provenance: 'Liste = Préfixes',
  url: 'https://data.example.net/a?b=c%3Bd',
};
const signed = attest(STATED, 'a'.repeat(64), privateKey, 1000);

/** Code of the fault, or null. */
function faultOf(
  manifest: string | Uint8Array,
  keys: readonly (string | Uint8Array)[] = [keyTxt(KEY)],
  version: string | null = null,
): string | null {
  const octets = (text: string | Uint8Array) => (typeof text === 'string' ? Buffer.from(text) : text);
  const checked = checkPublished({
    slug: 'gtin-demo',
    version,
    manifest: octets(manifest),
    keys: keys.map(octets),
  });
  return checked.valid ? null : checked.code;
}

const txt = (changed: Partial<SignedManifest> = {}) => manifestTxt({ ...signed, ...changed });

describe('published manifests', () => {
  it('are read as they are written', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'é', 'e\u0301', '=', '日', ' ', '"'),
      minLength: 1,
      maxLength: 20,
    });
    let read = 0;
    fc.assert(
      fc.property(
        text,
        text,
        fc.constantFrom('http://a', 'https://a.example/x?y=z;w'),
        (license, provenance, url) => {
          const manifest = readManifest({ ...STATED, license, provenance, url });
          fc.pre(manifest.ok);
          const whole = attest(manifest.value, 'b'.repeat(64), privateKey, 5);
          assert.deepEqual(readManifestTxt(Buffer.from(manifestTxt(whole))), { ok: true, value: whole });
          read++;
        },
      ),
    );
    assert.ok(read > 50);
  });

  it('are valid by the key that attested them, with fields of later versions passed over', () => {
    assert.equal(faultOf(txt()), null);
    assert.equal(faultOf(`${txt()};new=field`), null);
    assert.equal(faultOf(txt(), [keyTxt(KEY)], '1.2.0'), null);
    const checked = checkPublished({
      slug: 'gtin-demo',
      version: null,
      manifest: Buffer.from(txt()),
      keys: [Buffer.from(keyTxt(KEY))],
    });
    assert.ok(checked.valid);
    assert.deepEqual(checked.manifest, signed);
    assert.deepEqual(Buffer.from(checked.key.publicKey), publicKey);
  });

  it('are wrong with any signed field changed', () => {
    for (const changed of [
      { license: 'CC0-1.1' },
      { provenance: 'Liste' },
      { sha256: 'b'.repeat(64) },
      { version: '1.2.1' },
      { attsig: Buffer.alloc(64).toString('base64') },
    ]) {
      assert.equal(faultOf(txt(changed)), 'signature_wrong', JSON.stringify(changed));
    }
    // The URL is not signed: only the hash identifies the items.
    assert.equal(faultOf(txt({ url: 'https://other.example' })), null);
  });

  it('are those of another dataset or version, when a server gives these', () => {
    assert.equal(
      faultOf(manifestTxt(attest({ ...STATED, slug: 'gtin-x' }, signed.sha256, privateKey, 1))),
      'other_manifest',
    );
    assert.equal(faultOf(txt(), [keyTxt(KEY)], '1.2.1'), 'other_manifest');
  });

  it('need a key that is published, and one that has not ended before', () => {
    const other = rawPublicKey(generateKeyPairSync('ed25519').privateKey);
    assert.equal(faultOf(txt(), []), 'key_unknown');
    assert.equal(faultOf(txt(), [keyTxt({ ...KEY, publicKey: other })]), 'key_unknown');
    assert.equal(faultOf(txt(), [keyTxt({ ...KEY, publicKey: other }), keyTxt(KEY)]), null);
    assert.equal(faultOf(txt(), [keyTxt({ ...KEY, end: 1000 })]), null);
    assert.equal(faultOf(txt(), [keyTxt({ ...KEY, end: 999 })]), 'key_ended');
    assert.equal(
      faultOf(txt({ attkid: attestationKeyId(other) }), [keyTxt({ ...KEY, publicKey: other })]),
      'signature_wrong',
    );
  });

  it('are malformed when they are not such text, and no input throws', () => {
    for (const wrong of [
      '',
      'v=svc1;s=ok',
      'v=svc-attest.v1',
      txt().replace('att=attested', 'att=none'),
      txt().replace('ds=', 'ds=x;ds='),
      txt().replace('atts=1000', 'atts=1e3'),
      txt().replace('atts=1000', 'atts=9999999999999'),
      Buffer.concat([Buffer.from(txt()), Buffer.from([0xff])]),
      `\ufeff${txt()}`,
    ]) {
      assert.equal(faultOf(wrong), 'manifest_malformed', wrong.toString());
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.uint8Array({ maxLength: 80 }), (manifest, key) => {
        assert.equal(faultOf(manifest, [key]), 'manifest_malformed');
        assert.equal(faultOf(txt(), [key]), 'key_unknown');
      }),
    );
  });

  it('name keys that are read as they are written; others are passed over', () => {
    for (const end of [null, 0, 253_402_300_799]) {
      const read = readKeyTxt(Buffer.from(keyTxt({ ...KEY, end })));
      assert.deepEqual({ ...read, publicKey: Buffer.from(read!.publicKey) }, { ...KEY, end });
    }
    const text = keyTxt({ ...KEY, end: 5 });
    for (const wrong of [
      text.replace('ed25519', 'rsa'),
      text.replace('end=5', 'end=-5'),
      text.replace('st=100', 'st='),
      text.replace('pub=', 'pub=A'),
      text.replace('svc-attest.v1', 'svc-attest.v2'),
    ]) {
      assert.equal(readKeyTxt(Buffer.from(wrong)), null, wrong);
    }
  });
});
