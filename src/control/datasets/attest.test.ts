import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pathsOf } from '../../process/operator/backup.ts';
import { attest, isAttestedBy } from '../../protocol/datasets/attestation.ts';
import { attestFiles, verifyFiles } from './attest.ts';
import { DatasetFault } from './items.ts';
import { makeAttestationKey, readAttestationKeys } from './keys.ts';

const MANIFEST = {
  slug: 'x',
  version: '1.0.0',
  license: 'CC0-1.0',
  provenance: 'made by hand',
  url: 'https://example.net/items.jsonl',
};
const ITEMS = '{"k": "a", "from": 0, "cc": "DE"}\n';

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uqrp-attest-'));
  writeFileSync(at('manifest.json'), JSON.stringify(MANIFEST));
  writeFileSync(at('items.jsonl'), ITEMS);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('attestation keys', () => {
  it('are one file each, for their user alone, and in every backup', () => {
    assert.deepEqual(readAttestationKeys(folder), []);
    const { kid } = makeAttestationKey(folder, 5);
    const name = `keys/dataset-${kid}.json`;
    assert.deepEqual(readdirSync(at('keys')), [`dataset-${kid}.json`]);
    assert.equal(statSync(at(name)).mode & 0o777, 0o600);
    assert.equal(statSync(at('keys')).mode & 0o777, 0o700);
    assert.ok(pathsOf(folder).includes(name));
  });

  it('are read from the oldest to the newest, also when the clock was set back between them', () => {
    const made = [7, 5, 6, 20].map((now) => makeAttestationKey(folder, now));
    const read = readAttestationKeys(folder);
    assert.deepEqual(
      read.map(({ kid, createdAt }) => [kid, createdAt]),
      made.map(({ kid }, i) => [kid, [7, 8, 9, 20][i]]),
    );
    assert.deepEqual(read[2]!.publicKey, made[2]!.publicKey);
  });

  it('that are damaged, or of another name, are named and not quoted', () => {
    const { kid } = makeAttestationKey(folder, 5);
    const path = at(`keys/dataset-${kid}.json`);
    const text = readFileSync(path, 'utf8');
    const other = at('keys/dataset-0123456789abcdef.json');
    for (const [file, content] of [
      [path, text.slice(0, -20)],
      [path, text.replace('PRIVATE KEY-----\\n', 'PRIVATE KEY-----\\nA')],
      [path, text.replace('"version": 1', '"version": 2')],
      [path, 'null'],
      [other, text],
    ] as const) {
      writeFileSync(path, text);
      writeFileSync(file, content);
      assert.throws(
        () => readAttestationKeys(folder),
        (error) =>
          error instanceof DatasetFault && error.message.startsWith(`${file} is not an attestation key`),
      );
    }
  });

  it('leave no half of a file behind: other files in keys/ are not read', () => {
    makeAttestationKey(folder, 5);
    writeFileSync(at('keys/uqrp.net.json'), 'none');
    writeFileSync(at('keys/dataset-0123456789abcdef.json.0a0b'), 'half');
    assert.equal(readAttestationKeys(folder).length, 1);
  });
});

describe('attested files', () => {
  const sign = () => {
    const key = makeAttestationKey(folder, 5);
    const files = { manifest: at('manifest.json'), items: at('items.jsonl') };
    const signed = attestFiles(files, key, 1_800_000_000_999, { sortFolder: folder });
    writeFileSync(at('signed.json'), JSON.stringify(signed));
    return { key, signed };
  };
  const verify = (publicKey: Uint8Array) =>
    verifyFiles({ manifest: at('signed.json'), items: at('items.jsonl') }, publicKey, { sortFolder: folder });
  const reasonOf = (publicKey: Uint8Array): string => {
    const result = verify(publicKey);
    return result.valid ? 'valid' : result.reason;
  };

  it('are signed with the second of the attestation, and verified', () => {
    const { key, signed } = sign();
    assert.equal(signed.atts, 1_800_000_000);
    assert.equal(signed.attkid, key.kid);
    assert.ok(isAttestedBy(signed, key.publicKey));
    const result = verify(key.publicKey);
    assert.ok(result.valid);
    assert.deepEqual(result.manifest, signed);
    assert.equal(result.items.windows, 1);
  });

  it('are not signed while a file has a fault', () => {
    const key = makeAttestationKey(folder, 5);
    const files = { manifest: at('manifest.json'), items: at('items.jsonl') };
    const run = () => attestFiles(files, key, 0, { sortFolder: folder });
    writeFileSync(files.items, `${ITEMS}{}\n`);
    assert.throws(run, { message: `${files.items}:2: k is required; from is required; cc is required` });
    writeFileSync(files.items, ITEMS);
    for (const [content, message] of [
      ['{', /: the manifest is not JSON in UTF-8$/],
      [Buffer.from('{"slug": "\xff"}', 'latin1'), /: the manifest is not JSON in UTF-8$/],
      [JSON.stringify({ ...MANIFEST, slug: 'A', version: '1' }), /: slug must.*\n.*: version must/],
      [JSON.stringify({ ...MANIFEST, slug: 'auth-list' }), /: slug must not begin with auth-, as tokens/],
      [JSON.stringify({ ...MANIFEST, sha256: '' }), /: sha256 is not a known field$/],
      [JSON.stringify(MANIFEST).padEnd(16_385), / is longer than 16384 octets$/],
    ] as const) {
      writeFileSync(files.manifest, content);
      assert.throws(run, (error) => error instanceof DatasetFault && message.test(error.message));
    }
    writeFileSync(files.manifest, JSON.stringify(MANIFEST).padEnd(16_384));
    assert.equal(run().slug, 'x');
  });

  it('are not valid under another key, with other items, or with another statement', () => {
    const { key, signed } = sign();
    const other = makeAttestationKey(folder, 6);
    assert.match(
      reasonOf(other.publicKey),
      /^the manifest is attested by key [0-9a-f]{16}, and this key is /,
    );
    for (const items of [ITEMS.replace('"a"', '"b"'), `${ITEMS}\n`, ITEMS.slice(1), '']) {
      writeFileSync(at('items.jsonl'), items);
      assert.match(reasonOf(key.publicKey), /is not the items file of the manifest/, items);
    }
    writeFileSync(at('items.jsonl'), ITEMS);
    for (const change of [{ license: 'none' }, { slug: 'y' }, { sha256: '0'.repeat(64) }]) {
      writeFileSync(at('signed.json'), JSON.stringify({ ...signed, ...change }));
      assert.match(reasonOf(key.publicKey), /^the signature is not that of this key/);
    }
    writeFileSync(at('signed.json'), JSON.stringify({ ...signed, attkid: other.kid }));
    assert.match(reasonOf(other.publicKey), /^the signature is not that/);
  });

  it('are not valid while signed items have a fault', () => {
    const { key, signed } = sign();
    const items = `${ITEMS}${ITEMS}`;
    writeFileSync(at('items.jsonl'), items);
    // As a program signs it that does not check the items: hash and signature are right.
    const sha256 = createHash('sha256').update(items).digest('hex');
    const { slug, version, license, provenance, url } = signed;
    const careless = attest({ slug, version, license, provenance, url }, sha256, key.privateKey, 0);
    writeFileSync(at('signed.json'), JSON.stringify(careless));
    assert.match(reasonOf(key.publicKey), /items\.jsonl:2: the window overlaps that of line 1/);
  });
});
