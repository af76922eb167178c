import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { attest, attestationKeyId, isAttestedBy, keyTxt, rawPublicKey } from './attestation.ts';
import { manifestTxt, readManifest, readSignedManifest } from './manifest.ts';
import { canonicalText } from './signed-text.ts';

const FIXTURES = new URL('../../../test/fixtures/attest/', import.meta.url);
const CASES = ['plain', 'normal-form', 'bounds'];
/** RFC 8410 section 7: what stands before the 32 octets of a seed. */
const PKCS8_HEAD = '302e020100300506032b657004220420';

const octetsOf = (path: string): Buffer => readFileSync(new URL(path, FIXTURES));
const jsonOf = (path: string): unknown => JSON.parse(octetsOf(path).toString());

const KEY = jsonOf('key.json') as { seed: string; public: string; kid: string };
const PUBLIC = Buffer.from(KEY.public, 'base64');
const PRIVATE = createPrivateKey({
  key: Buffer.from(PKCS8_HEAD + KEY.seed, 'hex'),
  format: 'der',
  type: 'pkcs8',
});

function signedOf(name: string) {
  const result = readSignedManifest(jsonOf(`${name}/signed.json`));
  assert.ok(result.ok);
  return result.value;
}

/** Why this machine's OpenSSL cannot verify Ed25519 signatures, or false. */
function opensslMissing(): string | false {
  const { status, stdout, stderr } = spawnSync('openssl', ['pkeyutl', '-help'], { encoding: 'utf8' });
  if (status === null) return 'there is no openssl';
  return `${stdout}${stderr}`.includes('-rawin') ? false : 'this openssl has no pkeyutl -rawin';
}

describe('attestations', () => {
  for (const name of CASES) {
    it(`agree with the test vector ${name}`, () => {
      const manifest = readManifest(jsonOf(`${name}/manifest.json`));
      assert.ok(manifest.ok);
      const sha256 = createHash('sha256')
        .update(octetsOf(`${name}/items.jsonl`))
        .digest('hex');
      assert.deepEqual(
        Buffer.from(canonicalText({ ...manifest.value, sha256 })),
        octetsOf(`${name}/canonical.bin`),
      );
      const expected = signedOf(name);
      const signed = attest(manifest.value, sha256, PRIVATE, expected.atts);
      assert.deepEqual(signed, expected);
      assert.equal(signed.attsig, octetsOf(`${name}/signature.bin`).toString('base64'));
      assert.equal(manifestTxt(signed), octetsOf(`${name}/txt.bin`).toString());
      assert.ok(isAttestedBy(expected, PUBLIC));
    });

    it(`of the test vector ${name} are verified by openssl`, { skip: opensslMissing() }, () => {
      const path = (file: string): string => fileURLToPath(new URL(file, FIXTURES));
      const files = ['-in', path(`${name}/canonical.bin`), '-sigfile', path(`${name}/signature.bin`)];
      const key = ['-pubin', '-inkey', path('public-key.pem')];
      const out = execFileSync('openssl', ['pkeyutl', '-verify', '-rawin', ...key, ...files]);
      assert.match(out.toString(), /Verified Successfully/);
    });
  }

  it('name their key by the SHA-256 of its 32 octets', () => {
    assert.equal(attestationKeyId(PUBLIC), KEY.kid);
    assert.deepEqual(rawPublicKey(PRIVATE), PUBLIC);
    assert.deepEqual(rawPublicKey(createPublicKey(octetsOf('public-key.pem'))), PUBLIC);
  });

  it('fail for any other statement, hash, signature or key', () => {
    const signed = signedOf('plain');
    const other = rawPublicKey(generateKeyPairSync('ed25519').publicKey);
    assert.ok(!isAttestedBy(signed, other));
    for (const change of [
      { slug: 'gtin-demo2' },
      { version: '1.2.1' },
      { license: 'CC0-1.1' },
      { provenance: 'elsewhere' },
      { sha256: '0'.repeat(64) },
      { attsig: Buffer.alloc(64).toString('base64') },
      { attsig: 'no' },
    ]) {
      assert.ok(!isAttestedBy({ ...signed, ...change }, PUBLIC), JSON.stringify(change));
    }
    // The URL and the time are no part of the text.
    assert.ok(isAttestedBy({ ...signed, url: 'https://elsewhere.example', atts: 1 }, PUBLIC));
  });

  it('sign six lines in one order, with one text for all spellings of a text', () => {
    const points = [0x61, 0x3d, 0x20, 0xe9, 0xc5, 0x212b, 0x1e9b, 0x323, 0x307, 0x301, 0x338];
    const composed = [0x1112, 0x1161, 0x11ab, 0xac01, 0xfb01, 0x958, 0x1d15e];
    const letters = [...points, ...composed].map((point) => String.fromCodePoint(point));
    const any = fc.nat(0x10_ffff).map((point) => String.fromCodePoint(point));
    const text = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...letters), maxLength: 12 }) },
      { weight: 1, arbitrary: fc.string({ unit: any, maxLength: 3 }) },
    );
    const sha256 = 'f'.repeat(64);
    let accepted = 0;
    fc.assert(
      fc.property(text, text, (license, provenance) => {
        const url = 'https://example.net/';
        const stated = { slug: 'x', version: '1.0.0', license, provenance, url };
        const nfd = { ...stated, license: license.normalize('NFD'), provenance: provenance.normalize('NFD') };
        const result = readManifest(stated);
        const decomposed = readManifest(nfd);
        if (!result.ok || !decomposed.ok) return;
        accepted++;
        const octets = Buffer.from(canonicalText({ ...result.value, sha256 }));
        assert.deepEqual(Buffer.from(canonicalText({ ...decomposed.value, sha256 })), octets);
        assert.deepEqual(Buffer.from(canonicalText({ ...nfd, sha256 })), octets);
        const written = octets.toString();
        assert.equal(written, written.normalize('NFC'));
        const lines = written.split(/\r\n|[\r\n\u0085\u2028\u2029]/);
        assert.deepEqual(
          lines.map((line) => line.split('=')[0]),
          ['svc-attest.v1', 'name', 'version', 'license', 'provenance', 'sha256'],
        );
        assert.equal(lines[5], `sha256=${sha256}`);
        assert.ok(!octets.includes('\r') && !octets.includes('\\'));
      }),
      { numRuns: 500 },
    );
    assert.ok(accepted > 100, `only ${accepted} texts were accepted`);
  });

  it('have public keys that are published with their times', () => {
    const key = { publicKey: PUBLIC, since: 1_800_000_000, end: null };
    const head = `v=svc-attest.v1;kid=${KEY.kid};alg=ed25519;pub=${KEY.public};st=1800000000`;
    assert.equal(keyTxt(key), head);
    assert.equal(keyTxt({ ...key, end: 1_900_000_000 }), `${head};end=1900000000`);
  });
});
