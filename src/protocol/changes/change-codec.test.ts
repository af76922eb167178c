import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { arbitraryChange } from '../../../test/support/protocol/changes/arbitrary-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../change.ts';
import { ChangeFormatError, decodeChange, type EncodedChange, encodeChange } from './change-codec.ts';

interface Golden {
  readonly row: EncodedChange;
  readonly change: Change;
}

/** Lines of a fixture: a row as it is stored, its payload in hex, and the Change that it stands for. */
function golden(version: number): Golden[] {
  const path = new URL(`../../../test/fixtures/changes/v${version}.jsonl`, import.meta.url);
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { row, change } = JSON.parse(line) as {
        row: Omit<EncodedChange, 'data'> & { data: string | null };
        change: Change;
      };
      return { row: { ...row, data: row.data === null ? null : Buffer.from(row.data, 'hex') }, change };
    });
}

const TYPES = 13;
/** Of releases before the codec. */
const FIRST_TYPES = 7;

describe('the codec of changes', () => {
  it('writes and reads version 1 as the golden rows have it, one of each type', () => {
    const rows = golden(1);
    assert.equal(new Set(rows.map(({ change }) => change.type)).size, TYPES);
    for (const { row, change } of rows) {
      assert.deepEqual(encodeChange(change), row);
      assert.deepEqual(decodeChange(row), change);
    }
  });

  it('reads the rows of releases before the codec', () => {
    const rows = golden(0);
    assert.equal(new Set(rows.map(({ change }) => change.type)).size, FIRST_TYPES);
    for (const { row, change } of rows) assert.deepEqual(decodeChange(row), change);
  });

  it('decodes every Change unchanged', () => {
    fc.assert(
      fc.property(arbitraryChange, (change) => {
        assert.deepEqual(decodeChange(encodeChange(change)), change);
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves out unknown members', () => {
    const { row, change } = golden(1)[0]!;
    const body = JSON.stringify({ ...JSON.parse(row.body), later: 'text', seq: 9, __proto__: { x: 1 } });
    assert.deepEqual(decodeChange({ ...row, body }), change);
  });
});

const DIGEST = 'a'.repeat(64);
const row = (more: Partial<Record<keyof EncodedChange, unknown>>, body: unknown): EncodedChange =>
  ({
    seq: 7,
    at: 1,
    owner: 'customer',
    cause: 'direct',
    type: 'token.minted',
    namespace: 'acme',
    key: null,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    data: null,
    ...more,
  }) as EncodedChange;
const minted = { v: 1, digest: DIGEST, expiresAt: 5 };
const record = { v: 1, resource: 'doc', version: 'v1', contentType: 'a/b', ttlSeconds: 0, expiresAt: null };
const upserted = { type: 'record.upserted', key: 'a.doc.acme.v1', data: Buffer.from('x') };
const namespace = {
  v: 1,
  id: 'n',
  publicRead: true,
  suspended: false,
  recordsCount: 0,
  createdAt: 0,
  updatedAt: 0,
};

const VERSION_ID = '01a2012b-b24b-7000-819b-6db483b5165b';
const FACTS = [null, 5, 'Issuer', '', 'DE', ''];
const dataset = (type: string, body: object, more = {}) =>
  row({ owner: null, namespace: 'public', type: `dataset.${type}`, ...more }, { v: 1, ...body });
const ofItems = (items: unknown, id: unknown = VERSION_ID) => dataset('items', { versionId: id, items });
const ofFacts = (at: number, value: unknown) => ofItems([['a', FACTS.with(at, value as string)]]);
const publicKey = Buffer.alloc(32).toString('base64');
const key = { kid: '66687aadf862bd77', publicKey, since: 1, end: null };

/** What is wrong, the row, and the reason that is given. */
const REFUSED: readonly (readonly [string, EncodedChange, string])[] = [
  ['a later version', row({}, { ...minted, v: 2 }), 'version'],
  ['a version that is text', row({}, { ...minted, v: '1' }), 'version'],
  ['a type of a later release', row({ type: 'dataset.made' }, minted), 'type'],
  ['no JSON', row({}, '{'), 'body'],
  ['a list', row({}, '[]'), 'body'],
  ['null', row({}, 'null'), 'body'],
  ['a seq that is no integer', row({ seq: 1.5 }, minted), 'seq'],
  ['a time after the year 9999', row({ at: LIMITS.expiresAtMax + 1 }, minted), 'at'],
  ['an empty owner', row({ owner: '' }, minted), 'owner'],
  ['an unknown cause', row({ cause: 'other' }, minted), 'cause'],
  ['a namespace in capitals', row({ namespace: 'Acme' }, minted), 'namespace'],
  ['a namespace of two labels', row({ namespace: 'a.b' }, minted), 'namespace'],
  ['a namespace of 64 letters', row({ namespace: 'a'.repeat(64) }, minted), 'namespace'],
  ['a digest in capitals', row({}, { ...minted, digest: DIGEST.toUpperCase() }), 'digest'],
  ['a digest cut short', row({}, { ...minted, digest: DIGEST.slice(1) }), 'digest'],
  ['no end of a token', row({}, { v: 1, digest: DIGEST }), 'expiresAt'],
  ['a key where none belongs', row({ key: 'a.doc.acme.v1' }, minted), 'key'],
  ['a payload where none belongs', row({ data: Buffer.from('x') }, minted), 'data'],
  ['a key of another namespace', row({ ...upserted, key: 'a.doc.other.v1' }, record), 'key'],
  ['a key of another resource', row({ ...upserted, key: 'a.sheet.acme.v1' }, record), 'key'],
  ['a key that only ends alike', row({ ...upserted, key: 'a.xdoc.acme.v1' }, record), 'key'],
  ['a key with a zero byte', row({ ...upserted, key: 'a\0.doc.acme.v1' }, record), 'key'],
  ['a key with an empty label', row({ ...upserted, key: 'a..doc.acme.v1' }, record), 'key'],
  ['a key of 255 characters', row({ ...upserted, key: `${'a.'.repeat(122)}doc.acme.v1` }, record), 'key'],
  ['no key', row({ ...upserted, key: null }, record), 'key'],
  ['a payload that is text', row({ ...upserted, data: 'eA==' }, record), 'data'],
  [
    'a payload above the limit',
    row({ ...upserted, data: Buffer.alloc(LIMITS.recordData + 1) }, record),
    'data',
  ],
  ['a TTL above 31 bits', row(upserted, { ...record, ttlSeconds: LIMITS.ttlSecondsMax + 1 }), 'ttlSeconds'],
  ['a negative TTL', row(upserted, { ...record, ttlSeconds: -1 }), 'ttlSeconds'],
  ['no expiry', row(upserted, { ...record, expiresAt: undefined }), 'expiresAt'],
  [
    'a content type above the limit',
    row(upserted, { ...record, contentType: 'a'.repeat(128) }),
    'contentType',
  ],
  [
    'a flag that is a number',
    row({ type: 'namespace.upserted' }, { ...namespace, suspended: 0 }),
    'suspended',
  ],
  [
    'an open answer that no cache may keep',
    row({ type: 'namespace.upserted' }, { ...namespace, maxTtl: 0 }),
    'maxTtl',
  ],
  [
    'an open answer that caches keep for more than a day',
    row({ type: 'namespace.upserted' }, { ...namespace, maxTtl: LIMITS.openTtlMax + 1 }),
    'maxTtl',
  ],
  [
    'a history that is a number',
    row({ type: 'namespace.upserted' }, { ...namespace, history: 5 }),
    'history',
  ],
  ['a history that is null', row({ type: 'namespace.upserted' }, { ...namespace, history: null }), 'history'],
  [
    'a history without a beginning',
    row({ type: 'namespace.upserted' }, { ...namespace, history: { versions: 5, days: 5 } }),
    'history',
  ],
  ['no id', row({ type: 'namespace.deleted' }, { v: 1 }), 'id'],
  ['an owner of a dataset', dataset('withdrawn', { versionId: VERSION_ID }, { owner: 'customer' }), 'owner'],
  [
    'a dataset of another namespace',
    dataset('withdrawn', { versionId: VERSION_ID }, { namespace: 'acme' }),
    'namespace',
  ],
  ['a key of a dataset', dataset('withdrawn', { versionId: VERSION_ID }, { key: 'a.doc.acme.v1' }), 'key'],
  ['a version id in capitals', dataset('withdrawn', { versionId: VERSION_ID.toUpperCase() }), 'versionId'],
  ['no version id', ofItems([['a', FACTS]], null), 'versionId'],
  ['no items', ofItems(undefined), 'items'],
  ['an empty list of items', ofItems([]), 'items'],
  ['101 items', ofItems(Array.from({ length: 101 }, (_, i) => [`i${i}`, FACTS])), 'items'],
  ['an item without a window', ofItems([['a']]), 'items'],
  ['an item with 65 windows', ofItems([['a', ...Array.from({ length: 65 }, () => FACTS)]]), 'items'],
  ['an item key of two labels', ofItems([['a.b', FACTS]]), 'items'],
  ['an item key in capitals', ofItems([['A', FACTS]]), 'items'],
  ['a window of seven fields', ofItems([['a', [...FACTS, '']]]), 'items'],
  ['a window that ends when it begins', ofFacts(0, 5), 'items'],
  ['a window that begins after the year 9999', ofFacts(0, 253_402_300_800), 'items'],
  ['a window with a fraction of a second', ofFacts(1, 5.5), 'items'],
  ['an issuer of 129 octets', ofFacts(2, 'a'.repeat(129)), 'items'],
  ['a brand with a semicolon', ofFacts(3, 'a;b'), 'items'],
  ['a type with a line feed', ofFacts(5, 'a\nb'), 'items'],
  ['a country of three letters', ofFacts(4, 'DEU'), 'items'],
  [
    'a body above the limit',
    dataset('withdrawn', { versionId: VERSION_ID, later: 'a'.repeat(LIMITS.datasetChange) }),
    'body',
  ],
  ['no manifest', dataset('published', { versionId: VERSION_ID }), 'manifest'],
  [
    'a public key of 31 octets',
    dataset('key', { ...key, publicKey: Buffer.alloc(31).toString('base64') }),
    'publicKey',
  ],
  ['the id of another key', dataset('key', { ...key, kid: '0'.repeat(16) }), 'kid'],
  ...(['proof', 'checkpoint'] as const).flatMap((field) => {
    const of = (value: unknown) =>
      row(
        { owner: null, namespace: 'public', type: `log.${field}` },
        { v: 1, versionId: VERSION_ID, [field]: value },
      );
    const octets = 'é'.repeat((LIMITS.logText + 1) / 2);
    return [
      [`no text of a ${field}`, of(undefined), field],
      [`an empty ${field}`, of(''), field],
      [`a ${field} above the limit`, of('a'.repeat(LIMITS.logText + 1)), field],
      [`a ${field} above the limit in octets alone`, of(octets), field],
      [`a ${field} that is no text of Unicode`, of('\ud800'), field],
    ] as const;
  }),
  [
    'a proof without the id of its version',
    row({ owner: null, namespace: 'public', type: 'log.proof' }, { v: 1, proof: 'a' }),
    'versionId',
  ],
  [
    'a checkpoint of another namespace',
    row({ owner: null, type: 'log.checkpoint' }, { v: 1, checkpoint: 'a' }),
    'namespace',
  ],
  ['no time of a key', dataset('key', { ...key, since: null }), 'since'],
  ['an end that is text', dataset('key', { ...key, end: '5' }), 'end'],
];

describe('a change of items', () => {
  it('holds one item with every window and text at its bound, and 100 items', () => {
    const text = '"'.repeat(LIMITS.datasetText);
    const window = (from: number) => ({
      from,
      to: from + 1,
      issuer: text,
      brand: text,
      cc: 'DE',
      type: text,
    });
    const starts = Array.from({ length: LIMITS.datasetWindows }, (_, i) => -62_135_596_800 + i);
    const largest = { item: 'k'.repeat(LIMITS.datasetItemKey), windows: starts.map(window) };
    const facts = { from: null, to: null, issuer: '', brand: '', cc: 'DE', type: '' };
    const small = Array.from({ length: LIMITS.datasetChangeItems }, (_, i) => ({
      item: `i${i}`,
      windows: [facts],
    }));
    for (const items of [[largest], small]) {
      const change: Change = {
        seq: 1,
        at: 1,
        owner: null,
        cause: 'direct',
        type: 'dataset.items',
        namespace: 'public',
        versionId: VERSION_ID,
        items,
      };
      assert.deepEqual(decodeChange(encodeChange(change)), change);
    }
  });
});

describe('a Change that cannot be read', () => {
  for (const [title, of, reason] of REFUSED) {
    it(`is refused, by seq and reason alone: ${title}`, () => {
      assert.throws(() => decodeChange(of), {
        name: 'ChangeFormatError',
        seq: of.seq,
        reason,
        message: `change ${of.seq} of the log cannot be read: ${reason}`,
      });
    });
  }

  it('is never written', () => {
    const [{ change }] = golden(1) as [Golden];
    assert.throws(() => encodeChange({ ...change, namespace: 'Not A Label' } as Change), ChangeFormatError);
  });

  it('an object without a text in the place of the number is refused as any other (found by the property below)', () => {
    const [{ change }] = golden(1) as [Golden];
    const seq = { toString: false } as unknown as number;
    assert.throws(() => decodeChange({ ...encodeChange(change), seq }), ChangeFormatError);
  });

  it('a changed row is refused, or it is a Change that can be encoded again', () => {
    const junk = fc.oneof(
      fc.constantFrom<unknown>(null, undefined, true, -1, 2 ** 53, '', 'a', 'a.b.c', [], {}, '{}', 'v1'),
      fc.anything({ maxDepth: 1 }),
    );
    const cut = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.string({ maxLength: 3 }));
    const target = fc.constantFrom('seq', 'at', 'owner', 'cause', 'type', 'namespace', 'key', 'data', 'body');
    const member = fc.tuple(fc.nat(), fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constant(undefined)));
    let refused = 0;
    fc.assert(
      fc.property(
        arbitraryChange,
        fc.option(fc.tuple(target, junk)),
        fc.option(cut),
        fc.option(member),
        (change, other, edit, inside) => {
          const encoded = { ...encodeChange(change) } as Record<string, unknown>;
          if (inside !== null) {
            const body = JSON.parse(encoded.body as string) as Record<string, unknown>;
            const names = Object.keys(body);
            body[names[inside[0] % names.length]!] = inside[1];
            encoded.body = JSON.stringify(body);
          }
          if (edit !== null) {
            const [at, length, text] = edit;
            const body = encoded.body as string;
            const start = at % body.length;
            encoded.body = body.slice(0, start) + text + body.slice(start + length);
          }
          if (other !== null) encoded[other[0]] = other[1];
          let read: Change;
          try {
            read = decodeChange(encoded as unknown as EncodedChange);
          } catch (error) {
            assert.ok(error instanceof ChangeFormatError);
            refused++;
            return;
          }
          assert.deepEqual(decodeChange(encodeChange(read)), read);
        },
      ),
      { numRuns: 3000 },
    );
    assert.ok(refused > 100);
  });
});
