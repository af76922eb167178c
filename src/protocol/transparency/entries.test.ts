import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { exampleOctets, privateKeyOf } from '../../../test/support/protocol/transparency/example.ts';
import { attest, attestationKeyId, keyTxt, rawPublicKey } from '../datasets/attestation.ts';
import { manifestTxt } from '../datasets/manifest.ts';
import { type LogNews, readTransparencyEntry, retirementTxt, transparencyRules } from './entries.ts';
import { decodeEntries } from './tiles.ts';

const one = privateKeyOf('01'.repeat(32));
const two = privateKeyOf('02'.repeat(32));
const kidOf = (key: KeyObject): string => attestationKeyId(rawPublicKey(key));
const NOW = 1_795_305_600;

const octets = (text: string): Uint8Array => new TextEncoder().encode(text);

function keyLeaf(key: KeyObject, end: number | null = null, since = NOW - 60): Uint8Array {
  return octets(keyTxt({ publicKey: rawPublicKey(key), since, end }));
}

function manifestLeaf(key: KeyObject, version: string, license = 'CC0-1.0', at = NOW): Uint8Array {
  const manifest = { slug: 'demo', version, license, provenance: 'made up', url: 'https://a.example/x' };
  return octets(manifestTxt(attest(manifest, sha256Of(version), key, at)));
}

function sha256Of(version: string): string {
  return version.replaceAll('.', '').padEnd(64, '0');
}

function retiredLeaf(version: string, sha256 = sha256Of(version)): Uint8Array {
  return octets(retirementTxt({ slug: 'demo', version, sha256, at: NOW + 60 }));
}

/** What the last of these leaves causes. */
function lastNews(...leaves: readonly Uint8Array[]): readonly LogNews['news'][] {
  const rules = transparencyRules();
  return leaves
    .map((leaf) => rules.add(leaf))
    .at(-1)!
    .map(({ news }) => news);
}

test('the example: a key, a manifest, its retirement, the end of the key, a second key', () => {
  const leaves = decodeEntries(exampleOctets('entries.bin'), 5)!;
  const rules = transparencyRules();
  assert.deepEqual(
    leaves.flatMap((leaf) => rules.add(leaf)),
    [
      { number: 0, news: 'key_added', kid: '21fe31dfa154a261' },
      { number: 1, news: 'published', slug: 'gtin-demo', version: '1.2.0' },
      { number: 2, news: 'retired', slug: 'gtin-demo', version: '1.2.0' },
      { number: 3, news: 'key_ended', kid: '21fe31dfa154a261' },
      { number: 4, news: 'key_added', kid: '341331ed0a4d68a3' },
    ],
  );
  const entry = readTransparencyEntry(leaves[2]!);
  assert.ok(entry?.kind === 'retirement');
  assert.equal(retirementTxt(entry.retirement), Buffer.from(leaves[2]!).toString());
  assert.equal(rules.sum.latest('gtin-demo'), null);
});

const RULES: readonly (readonly [what: string, leaves: readonly Uint8Array[], news: readonly string[]])[] = [
  ['a key', [keyLeaf(one)], ['key_added']],
  ['the same key again', [keyLeaf(one), keyLeaf(one)], []],
  ['a key that has ended', [keyLeaf(one, NOW)], ['key_added', 'key_ended']],
  ['the end of a key', [keyLeaf(one), keyLeaf(one, NOW)], ['key_ended']],
  ['another end', [keyLeaf(one, NOW), keyLeaf(one, NOW + 1)], ['key_reused']],
  ['no end any more', [keyLeaf(one, NOW), keyLeaf(one)], ['key_reused']],
  ['another start', [keyLeaf(one), keyLeaf(one, null, NOW)], ['key_reused']],
  [
    'another public key under the same name',
    [keyLeaf(one), octets(Buffer.from(keyLeaf(two)).toString().replace(kidOf(two), kidOf(one)))],
    ['key_reused'],
  ],
  ['a manifest', [keyLeaf(one), manifestLeaf(one, '1.0.0')], ['published']],
  ['the same again', [keyLeaf(one), manifestLeaf(one, '1.0.0'), manifestLeaf(one, '1.0.0')], []],
  ['a key logged after its manifest', [manifestLeaf(one, '1.0.0')], ['signature_wrong', 'published']],
  ['a key that is not logged', [keyLeaf(two), manifestLeaf(one, '1.0.0')], ['signature_wrong', 'published']],
  [
    'a manifest with a changed field',
    [keyLeaf(one), octets(Buffer.from(manifestLeaf(one, '1.0.0')).toString().replace('CC0', 'CC1'))],
    ['signature_wrong', 'published'],
  ],
  [
    'a manifest attested in the second of the end of its key',
    [keyLeaf(one, NOW), manifestLeaf(one, '1.0.0')],
    ['published'],
  ],
  [
    'a manifest attested after the end of its key',
    [keyLeaf(one, NOW - 1), manifestLeaf(one, '1.0.0')],
    ['signature_wrong', 'published'],
  ],
  [
    'a manifest attested before the start of its key',
    [keyLeaf(one), manifestLeaf(one, '1.0.0', 'CC0-1.0', NOW - 1000)],
    ['published'],
  ],
  [
    'another manifest for the same version',
    [keyLeaf(one), manifestLeaf(one, '1.0.0'), manifestLeaf(one, '1.0.0', 'MIT')],
    ['version_replaced'],
  ],
  [
    'another manifest after the retirement',
    [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0'), manifestLeaf(one, '1.0.0', 'MIT')],
    ['version_replaced'],
  ],
  [
    'the same manifest after the retirement',
    [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0'), manifestLeaf(one, '1.0.0')],
    ['published'],
  ],
  ['a retirement', [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0')], ['retired']],
  ['a retirement of what was never published', [retiredLeaf('1.0.0')], ['entry_wrong']],
  [
    'a second retirement',
    [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0'), retiredLeaf('1.0.0')],
    ['entry_wrong'],
  ],
  [
    'a retirement with other items',
    [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0', '1'.repeat(64))],
    ['version_replaced'],
  ],
  ['another kind', [octets('v=svc-tindex.v2;ev=retired')], ['entry_wrong']],
  ['nothing', [new Uint8Array(0)], ['entry_wrong']],
];

for (const [what, leaves, news] of RULES) {
  test(`a monitor's rules: ${what}`, () => assert.deepEqual(lastNews(...leaves), news));
}

test('an alarm names the entry that is contradicted, and the sum keeps the earlier text', () => {
  const rules = transparencyRules();
  const first = manifestLeaf(one, '1.0.0');
  for (const leaf of [keyLeaf(one), first]) rules.add(leaf);
  const [alarm] = rules.add(manifestLeaf(one, '1.0.0', 'MIT'));
  assert.ok(alarm && 'earlier' in alarm);
  assert.deepEqual([alarm.number, alarm.earlier], [2, 1]);
  assert.deepEqual(rules.sum.versions.get('demo')?.get('1.0.0')?.leaf, first);
});

test('the latest version is the highest by number that is not retired', () => {
  const rules = transparencyRules();
  for (const leaf of [keyLeaf(one), ...['1.9.0', '1.10.0', '1.2.0'].map((v) => manifestLeaf(one, v))]) {
    rules.add(leaf);
  }
  assert.equal(rules.sum.latest('demo')?.manifest.version, '1.10.0');
  rules.add(retiredLeaf('1.10.0'));
  assert.equal(rules.sum.latest('demo')?.manifest.version, '1.9.0');
  assert.equal(rules.sum.latest('other'), null);
});

test('whatever a leaf holds, it is read or is of no kind, and nothing throws', () => {
  const known = [keyLeaf(one), manifestLeaf(one, '1.0.0'), retiredLeaf('1.0.0')];
  const changed = fc
    .tuple(fc.constantFrom(...known), fc.nat(400), fc.uint8Array({ maxLength: 3 }))
    .map(([leaf, at, by]) => Buffer.concat([leaf.subarray(0, at), by, leaf.subarray(at + 1)]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), changed), (leaf) => {
      const rules = transparencyRules();
      for (const { number } of rules.add(leaf)) assert.equal(number, 0);
    }),
    { numRuns: 500 },
  );
});
