import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { foldCase } from '../../../src/protocol/names/labels.ts';
import { parseQueryName } from '../../../src/protocol/names/query-name.ts';
import { parseRecordKey } from '../../../src/protocol/names/record-key.ts';
import { decodeParam } from '../../../src/protocol/query/params.ts';
import { buildName, encodeParam, NameError, parseName, partsOfKey } from './name.ts';

/** The server's own cases. */
function rows(file: string): readonly (readonly [string, string])[] {
  const text = readFileSync(new URL(`../../../test/fixtures/${file}`, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split(' | ') as [string, string]);
}

const LETTERS = ['-', 'a', 'b', 'z', '0', '1', '9'] as const;
const label = fc.oneof(
  fc.stringMatching(/^[a-z0-9-]{0,6}$/),
  fc.constantFrom(
    'get',
    'info',
    'auth-svcq0',
    'auth-',
    'auth--',
    'v1',
    'v01',
    'public',
    '51d5_-0d1',
    'A',
    'É',
    '',
  ),
  fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 60, maxLength: 66 }),
);
const labels = fc.array(label, { maxLength: 7 });
const end = fc.constantFrom('.v1', '.v27', '.temp.acme.v1', '.public.v1', '');
const someName = fc
  .tuple(fc.constantFrom('get', 'info', 'put', ''), labels, end)
  .map(([first, middle, last]) => [first, ...middle].join('.') + last);
const SEED = { seed: 11, numRuns: 2000 };

describe('names', () => {
  it('parse as the fixtures of the server say', () => {
    for (const [name, expected] of rows('query-names.valid.txt')) {
      const parsed = parseName(name);
      assert.ok(parsed.kind === 'query', name);
      const { operation, token, params, resource, namespace, version } = parsed.query;
      const shown = [operation, token ?? '-', params.join('.') || '-', resource, namespace, version].join(
        ' ',
      );
      assert.equal(shown, expected, name);
    }
    for (const [name, code] of rows('query-names.invalid.txt')) {
      assert.deepEqual(parseName(name), { kind: 'malformed', code }, name);
    }
  });

  it('any text parses as the server parses it', () => {
    let queries = 0;
    fc.assert(
      fc.property(someName, (name) => {
        const ours = parseName(name);
        assert.deepEqual(ours, parseQueryName(foldCase(name)), name);
        if (ours.kind === 'query') queries += 1;
      }),
      SEED,
    );
    assert.ok(queries > 10, 'the names of this test are all malformed');
  });

  it('a name that was built is one that the server reads as the same parts', () => {
    let built = 0;
    const parts = fc.record({
      operation: fc.constantFrom('get', 'info', 'geoip', undefined),
      token: fc.option(fc.stringMatching(/^[0-9a-v]{1,52}$/), { nil: undefined }),
      params: fc.array(label, { maxLength: 3 }),
      resource: label,
      namespace: fc.oneof(label, fc.constant('public')),
      version: fc.constantFrom('v1', 'v27', 'V2', 'v0', undefined),
    });
    fc.assert(
      fc.property(parts, (wanted) => {
        let name: string;
        try {
          name = buildName(wanted);
        } catch (error) {
          assert.ok(error instanceof NameError);
          return;
        }
        built += 1;
        const parsed = parseQueryName(name);
        assert.ok(parsed.kind === 'query', name);
        const { operation, token, params, resource, namespace, version } = parsed.query;
        assert.equal(operation, wanted.operation ?? 'get');
        assert.equal(token, wanted.token ?? null);
        const labels = [...wanted.params, wanted.resource, wanted.namespace, wanted.version ?? 'v1'];
        assert.deepEqual([...params, resource, namespace, version], labels.map(foldCase));
      }),
      SEED,
    );
    assert.ok(built > 50, 'the builder refused nearly everything');
  });

  it('a key that the server accepts can be read', () => {
    const key = fc
      .array(label, { maxLength: 4 })
      .map((labels) => [...labels, 'temp', 'acme', 'v1'].join('.'));
    fc.assert(
      fc.property(key, (text) => {
        const accepted = parseRecordKey(text, 'uqrp.net'.length);
        if (typeof accepted === 'string') return;
        const name = buildName({ ...partsOfKey(text), token: `svcq${'0'.repeat(52)}` }, 'uqrp.net');
        assert.ok(name.length <= 253);
        const parsed = parseQueryName(name.slice(0, -'.uqrp.net'.length));
        assert.equal(parsed.kind === 'query' && parsed.query.key, accepted.key);
      }),
      SEED,
    );
  });

  it('parts that would mean something else are refused, in words without the token', () => {
    const rest = { resource: 'temp', namespace: 'acme' };
    for (const parts of [
      { ...rest, params: ['a.b'] },
      { ...rest, token: 'a.b' },
      { ...rest, token: '' },
      { ...rest, params: ['auth-x'] },
      { ...rest, token: 'svcq secret' },
      { ...rest, params: ['51d5_-0d1'] },
      { ...rest, version: 'v0' },
      { ...rest, operation: 'put' as 'get' },
      { ...rest, namespace: '' },
      { ...rest, params: Array.from({ length: 5 }, () => 'a'.repeat(60)) },
    ]) {
      assert.throws(
        () => buildName(parts, 'uqrp.net'),
        (error) => error instanceof NameError && !/svcq|secret/.test(error.message),
        JSON.stringify(parts),
      );
    }
    for (const key of ['', 'acme.v1', 'auth-x.temp.acme.v1', 'temp.acme.v01', 'temp.acme.v1.']) {
      assert.throws(() => partsOfKey(key), NameError, key);
    }
  });
});

describe('params', () => {
  it('any text arrives at a public service as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 8, minLength: 1 }), (text) => {
        if (Buffer.byteLength(text) > 36) return;
        assert.equal(decodeParam(encodeParam(text)), /^[a-z0-9-]+$/i.test(text) ? foldCase(text) : text);
      }),
      { seed: 11, numRuns: 500 },
    );
    assert.equal(encodeParam('東京'), 'b32-42o3dzf2vq');
    assert.equal(encodeParam('New-York'), 'new-york');
    assert.equal(encodeParam('b32-x'), 'b32-miztelly');
    assert.throws(() => encodeParam('x'.repeat(63).concat('é')), NameError);
    assert.throws(() => encodeParam(''), NameError);
  });
});
