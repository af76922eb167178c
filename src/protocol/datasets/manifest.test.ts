import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manifestTxt, readManifest, readSignedManifest, type SignedManifest } from './manifest.ts';

const STATED = {
  slug: 'gtin-demo',
  version: '1.2.3',
  license: 'CC0-1.0',
  provenance: 'made by hand',
  url: 'https://example.net/items.jsonl',
};
const SIGNED = {
  ...STATED,
  sha256: '0'.repeat(64),
  att: 'attested',
  attsig: Buffer.alloc(64).toString('base64'),
  attkid: '0123456789abcdef',
  atts: 1_800_000_000,
};

/** Fields that are left out have the value undefined. */
function faultsOf(read: typeof readManifest | typeof readSignedManifest, value: unknown): readonly string[] {
  const result = read(value === undefined ? value : JSON.parse(JSON.stringify(value)));
  return result.ok ? [] : result.faults;
}

describe('manifest files', () => {
  it('have fields with bounds, on both sides', () => {
    const url = (octets: number): string => `https://a.net/${'a'.repeat(octets - 14)}`;
    const one = 'must be one line of text without control characters';
    for (const [field, value, fault] of [
      ['slug', 'a'.repeat(40), null],
      ['slug', 'a'.repeat(41), /^slug must be 1 to 40 lower-case letters/],
      ['slug', '', /^slug must be/],
      ['slug', 'A', /^slug must be/],
      ['slug', 'a-v-b', /^slug must be/],
      ['slug', 'keys', 'slug is reserved'],
      ['slug', 'a-k', 'slug must not end in -k'],
      ['slug', 5, 'slug must be a string'],
      ['slug', undefined, 'slug is required'],
      ['version', '9999999999999.0.0', /^version must be major\.minor\.patch/],
      ['version', '999999999999.0.0', null],
      ['version', '1.2', /^version must be/],
      ['license', 'a'.repeat(128), null],
      ['license', 'a'.repeat(129), 'license must have at most 128 octets'],
      ['license', '\u00e9'.repeat(64), null],
      ['license', 'e\u0301'.repeat(64), null],
      ['license', '\u00e9'.repeat(65), 'license must have at most 128 octets'],
      ['license', '', 'license must not be blank'],
      ['license', ' ', 'license must not be blank'],
      ['license', 'a;b', 'license must not contain ; or \\'],
      ['license', 'a\\b', 'license must not contain ; or \\'],
      ['license', 'a\nb', `license ${one}`],
      ['license', 'a\rb', `license ${one}`],
      ['license', 'a\u0000b', `license ${one}`],
      ['license', 'a\u007fb', `license ${one}`],
      ['license', 'a\u0085b', `license ${one}`],
      ['license', 'a\u2028b', `license ${one}`],
      ['license', '\u0338a', 'license must not begin with a combining mark'],
      ['provenance', 'a'.repeat(256), null],
      ['provenance', 'a'.repeat(257), 'provenance must have at most 256 octets'],
      ['provenance', null, 'provenance must be a string'],
      ['url', url(2048), null],
      ['url', url(2049), 'url must have at most 2048 octets'],
      ['url', `${url(2045)};`, null],
      ['url', `${url(2046)};`, 'url must have at most 2048 octets'],
      ['url', 'http://example.net', null],
      ['url', 'ftp://example.net', /^url must be an absolute http/],
      ['url', '/items.jsonl', /^url must be an absolute/],
      ['url', 'https://example.net/a b', /^url must be an absolute/],
      ['url', 'https://example.net/\u00e9', /^url must be an absolute/],
      ['url', 'https://example.net/a\\b', 'url must not contain ; or \\'],
      ['sha256', SIGNED.sha256, 'sha256 is not a known field'],
    ] as const) {
      const faults = faultsOf(readManifest, { ...STATED, [field]: value });
      const shown = `${field} ${JSON.stringify(value)}`;
      if (fault === null) assert.deepEqual(faults, [], shown);
      else if (typeof fault === 'string') assert.deepEqual(faults, [fault], shown);
      else assert.match(faults.join('\n'), fault, shown);
    }
  });

  it('have a signature, its key and its time after the attestation', () => {
    assert.deepEqual(faultsOf(readSignedManifest, SIGNED), []);
    for (const [field, value, fault] of [
      ['sha256', 'A'.repeat(64), /^sha256 must be 64/],
      ['sha256', '0'.repeat(63), /^sha256 must be 64/],
      ['sha256', '0'.repeat(65), /^sha256 must be 64/],
      ['att', 'none', /^att must be attested/],
      ['attsig', Buffer.alloc(63).toString('base64'), /^attsig must be Base64 of 64 octets/],
      ['attsig', Buffer.alloc(65).toString('base64'), /^attsig must be Base64 of 64 octets/],
      ['attsig', Buffer.alloc(64).toString('base64url'), /^attsig must be Base64/],
      ['attkid', '0123456789abcde', /^attkid must be 16/],
      ['attkid', '0123456789abcdef0', /^attkid must be 16/],
      ['attkid', '0123456789ABCDEF', /^attkid must be 16/],
      ['atts', undefined, /^atts is required/],
      ['atts', 1.5, /^atts must be an integer/],
      ['atts', '5', /^atts must be an integer/],
      ['atts', -1, /^atts must be between/],
      ['atts', 253_402_300_800, /^atts must be between/],
      ['atts', 253_402_300_799, null],
    ] as const) {
      const faults = faultsOf(readSignedManifest, { ...SIGNED, [field]: value });
      if (fault === null) assert.deepEqual(faults, []);
      else assert.match(faults.join('\n'), fault, field);
    }
  });

  it('show every fault at once', () => {
    assert.equal(faultsOf(readManifest, {}).length, 5);
    assert.equal(faultsOf(readSignedManifest, {}).length, 10);
    for (const value of [null, [], 'a', 5]) assert.equal(faultsOf(readManifest, value).length, 1);
  });

  it('are read in normal form C, with ; in the URL encoded', () => {
    const result = readManifest({ ...STATED, license: 'cafe\u0301 \u212b', url: 'https://a.net/;' });
    assert.ok(result.ok);
    assert.equal(result.value.license, 'caf\u00e9 \u00c5');
    assert.equal(result.value.url, 'https://a.net/%3B');
  });
});

describe('manifest answers', () => {
  it('fit into a TXT value with every field at its bound', () => {
    const longest: SignedManifest = {
      slug: 'a'.repeat(40),
      version: '999999999999.0.0',
      license: '\u00e9'.repeat(64),
      provenance: '\u00e9'.repeat(128),
      url: `https://a.net/${'a'.repeat(2034)}`,
      sha256: '0'.repeat(64),
      att: 'attested',
      attsig: SIGNED.attsig,
      attkid: SIGNED.attkid,
      atts: 253_402_300_799,
    };
    assert.deepEqual(faultsOf(readSignedManifest, longest), []);
    const octets = Buffer.byteLength(manifestTxt(longest));
    assert.ok(octets > 2600 && octets <= 3500, String(octets));
  });
});
