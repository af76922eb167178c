import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseQueryName } from '../names/query-name.ts';
import { MALFORMED_TEXTS, type MalformedCause } from '../query/outcome.ts';
import {
  type DatasetQuery,
  identityLabel,
  isAskable,
  isItemKey,
  isSlug,
  manifestLabel,
  parseAsOf,
  parseDatasetQuery,
  slugFault,
} from './query.ts';

const ON = { asOf: true, log: false };
const OFF = { asOf: false, log: false };
const LOG = { asOf: true, log: true };
const S40 = 'a'.repeat(40);

function manifest(label: string): DatasetQuery {
  return parseDatasetQuery('manifest', [label], ON);
}

function identity(label: string, options = ON): DatasetQuery {
  return parseDatasetQuery('identity', [label], options);
}

/** The cause of a malformed query, or 'well-formed'. */
function causeOf(query: DatasetQuery): MalformedCause | 'well-formed' {
  return query.kind === 'malformed' ? query.cause : 'well-formed';
}

describe('manifest queries', () => {
  it('ask for the latest version, for one version, or for the keys', () => {
    assert.deepEqual(manifest('gtin-demo'), { kind: 'manifest', slug: 'gtin-demo', version: null });
    assert.deepEqual(manifest('gtin-demo-v-1d20d3'), {
      kind: 'manifest',
      slug: 'gtin-demo',
      version: '1.20.3',
    });
    assert.deepEqual(manifest('keys'), { kind: 'keys' });
    assert.deepEqual(manifest('keys-v-1d0d0'), { kind: 'manifest', slug: 'keys', version: '1.0.0' });
    assert.deepEqual(manifest('x-v-v-1d0d0'), { kind: 'manifest', slug: 'x-v', version: '1.0.0' });
    assert.deepEqual(manifest('a-t-5'), { kind: 'manifest', slug: 'a-t-5', version: null });
  });

  it('have one cause for each kind of fault', () => {
    for (const [label, cause] of [
      [S40, 'well-formed'],
      [`${S40}a`, 'label'],
      [`${S40}-v-1d0d0`, 'well-formed'],
      ['1', 'well-formed'],
      ['-a', 'label'],
      ['a-', 'label'],
      ['a_b', 'label'],
      ['a-k-5', 'label'],
      ['a-k-5-v-1d0d0', 'label'],
      ['a-v-1d0d0-v-1d0d0', 'label'],
      ['a-v-1d0', 'version'],
      ['a-v-1d0d0d0', 'version'],
      ['a-v-1dd0', 'version'],
      ['a-v-d0d0', 'version'],
      ['a-v-1d0d0-k-5', 'version'],
      ['a-v-1-0-0', 'version'],
      ['a-v-latest', 'version'],
      ['a-v-1d0d00000000000000000000000', 'well-formed'],
      ['a-v-', 'version'],
    ] as const) {
      assert.equal(causeOf(manifest(label)), cause, label);
    }
  });
});

describe('identity queries', () => {
  it('name an item, and an instant', () => {
    const of = (slug: string, item: string, asOf: number | null) => ({ kind: 'identity', slug, item, asOf });
    assert.deepEqual(identity('gtin-demo-k-4006381333931'), of('gtin-demo', '4006381333931', null));
    assert.deepEqual(identity('bin-k-411111-t-0'), of('bin', '411111', 0));
    assert.deepEqual(identity('bin-k-411111-t-2020-02-29'), of('bin', '411111', 1_582_934_400));
    assert.deepEqual(identity('x-k-k-5'), of('x', 'k-5', null));
    assert.deepEqual(identity('x-k-a-t-t-5'), of('x', 'a-t', 5));
    assert.deepEqual(identity('a-t-5-k-b'), of('a-t-5', 'b', null));
    assert.deepEqual(identity('a-v-k-b'), of('a-v', 'b', null));
  });

  it('have item keys by the beginning of the slug, with both sides of every bound', () => {
    for (const [slug, good, bad] of [
      ['bin', ['123456', '1234567', '12345678'], ['12345', '123456789', '12345a', '1234-5678']],
      ['binary-x', ['123456'], ['abc']],
      [
        'gtin-x',
        ['12345678', '123456789012', '1234567890123', '12345678901234'],
        ['1234567', '123456789', '12345678901', '123456789012345', '1234567a'],
      ],
      [
        'other',
        ['a', '1', 'a-b', 'a--b', 'a'.repeat(40)],
        ['', '-a', 'a-', 'a'.repeat(41), 'a_b', 'a-t-b', 'A'],
      ],
      ['x-bin', ['a'], ['a-t-5-t']],
    ] as const) {
      for (const key of good) assert.ok(isItemKey(slug, key), `${slug} ${key}`);
      for (const key of bad) assert.ok(!isItemKey(slug, key), `${slug} ${key}`);
    }
  });

  it('have one cause for each kind of fault', () => {
    for (const [label, cause] of [
      ['bin', 'item-key'],
      ['bin-k-', 'item-key'],
      ['bin-k-12345', 'item-key'],
      ['x-k-a-t-b-t-5', 'item-key'],
      ['x-k-a-t-', 'as-of'],
      ['a-v-1d0d0-k-b', 'label'],
      ['-k-5', 'label'],
      [`${S40}a-k-5`, 'label'],
      ['bin-k-123456-t-9999999999', 'well-formed'],
      ['bin-k-123456-t-10000000000', 'as-of'],
      ['bin-k-123456-t-00000000001', 'as-of'],
      ['bin-k-123456-t-5-', 'as-of'],
      ['bin-k-123456-t-9999-12-31', 'well-formed'],
      ['bin-k-123456-t-10000-01-01', 'as-of'],
      ['bin-k-123456-t-0001-01-01', 'well-formed'],
      ['bin-k-123456-t-0000-12-31', 'as-of'],
      ['bin-k-123456-t-2021-02-29', 'as-of'],
      ['bin-k-123456-t-2020-2-29', 'as-of'],
      ['bin-k-123456-t-2020-01-01t00', 'as-of'],
      ['bin-k-123456-t--5', 'as-of'],
      ['bin-k-123456-t-now', 'as-of'],
      [`${S40}-k-${'b'.repeat(20)}`, 'well-formed'],
    ] as const) {
      assert.equal(causeOf(identity(label)), cause, label);
    }
  });

  it('may name no instant while as-of is off', () => {
    assert.equal(causeOf(identity('bin-k-123456-t-5', OFF)), 'as-of');
    assert.equal(causeOf(identity('bin-k-x-t-5', OFF)), 'as-of');
    assert.equal(causeOf(identity('bin-k-123456', OFF)), 'well-formed');
  });
});

describe('queries of the transparency log', () => {
  const ask = (...params: string[]) => parseDatasetQuery('manifest', params, LOG);

  it('name the proof of a version, of the latest one, or the checkpoint', () => {
    assert.deepEqual(ask('gtin-demo', 'log'), { kind: 'proof', slug: 'gtin-demo', version: null });
    assert.deepEqual(ask('x-v-1d20d3', 'log'), { kind: 'proof', slug: 'x', version: '1.20.3' });
    assert.deepEqual(ask('log'), { kind: 'checkpoint' });
    // Names of which nothing is served: NODATA, and not malformed.
    assert.deepEqual(ask('keys', 'log'), { kind: 'proof', slug: 'keys', version: null });
    assert.deepEqual(ask('log', 'log'), { kind: 'proof', slug: 'log', version: null });
  });

  it('have the causes of manifests, and no other label and no third one', () => {
    for (const [params, cause] of [
      [[`${S40}-v-1d0d0`, 'log'], 'well-formed'],
      [[`${S40}a`, 'log'], 'label'],
      [['a-k-5', 'log'], 'label'],
      [['a-v-1d0', 'log'], 'version'],
      [['a'.repeat(64), 'log'], 'label'],
      [['log', 'a'], 'label'],
      [['a', 'logs'], 'label'],
      [['a', 'log', 'log'], 'label'],
      [['a', 'b', 'log'], 'label'],
      [[], 'parameter'],
    ] as const) {
      assert.equal(causeOf(ask(...params)), cause, params.join('.'));
    }
  });

  it('change no other question, and without a log no question at all', () => {
    for (const label of ['a', 'a-v-1d0d0', 'keys', 'log-v-1d0d0', 'a-v-1', 'logs']) {
      assert.deepEqual(ask(label), parseDatasetQuery('manifest', [label], ON), label);
    }
    for (const params of [['log'], ['a-k-b', 'log'], ['log-k-b']]) {
      assert.deepEqual(parseDatasetQuery('identity', params, LOG), parseDatasetQuery('identity', params, ON));
    }
    assert.deepEqual(manifest('log'), { kind: 'manifest', slug: 'log', version: null });
    assert.equal(causeOf(parseDatasetQuery('manifest', ['a', 'log'], ON)), 'label');
    assert.equal(causeOf(parseDatasetQuery('manifest', ['a-v-1', 'log'], ON)), 'label');
  });
});

describe('dataset queries', () => {
  it('have exactly one params label of at most 63 octets', () => {
    for (const operation of ['manifest', 'identity'] as const) {
      assert.equal(causeOf(parseDatasetQuery(operation, [], ON)), 'parameter');
      assert.equal(causeOf(parseDatasetQuery(operation, ['bin-k-123456', 'a'], ON)), 'label');
    }
    const long = (letters: number): string => `${S40}-k-${'b'.repeat(letters - 43)}`;
    assert.equal(causeOf(identity(long(63))), 'well-formed');
    assert.equal(causeOf(identity(long(64))), 'label');
  });

  it('never throw, and have only causes with a text', () => {
    const label = fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9]{0,6}(-[vkt]-[a-z0-9d-]{0,12}){0,3}$/));
    fc.assert(
      fc.property(
        fc.constantFrom('manifest', 'identity'),
        fc.array(label),
        fc.boolean(),
        fc.boolean(),
        (operation, all, asOf, log) => {
          const query = parseDatasetQuery(operation, all, { asOf, log });
          assert.ok(query.kind !== 'malformed' || query.cause in MALFORMED_TEXTS);
        },
      ),
    );
  });

  it('are what the renderer wrote, for every slug and item that may be published', () => {
    const tail = fc.stringMatching(/^([a-z0-9]|-[vkt]-?|-){0,8}$/);
    const slug = fc
      .tuple(fc.constantFrom('a', 'x-v', 'y-t', 'z9'), tail)
      .map((parts) => parts.join(''))
      .filter((text) => slugFault(text) === null && !text.startsWith('bin') && !text.startsWith('gtin'));
    const item = fc
      .tuple(fc.constantFrom('a', 'k-1', 'v-2', 't-3', 'k', 't'), tail)
      .map((parts) => parts.join(''))
      .filter((text) => isItemKey('a', text));
    const version = fc
      .tuple(fc.nat(), fc.nat({ max: 99 }), fc.nat({ max: 99 }))
      .map((parts) => parts.join('.'));
    const asOf = fc.option(
      fc.oneof(fc.nat().map(String), fc.constantFrom('2020-02-29', '9999-12-31', '0001-01-01')),
    );
    fc.assert(
      fc.property(slug, fc.option(version), (of, at) => {
        assert.deepEqual(manifest(manifestLabel(of, at)), { kind: 'manifest', slug: of, version: at });
      }),
    );
    fc.assert(
      fc.property(slug, item, asOf, (of, key, at) => {
        assert.deepEqual(identity(identityLabel(of, key, at)), {
          kind: 'identity',
          slug: of,
          item: key,
          asOf: at === null ? null : parseAsOf(at),
        });
      }),
    );
  });
});

describe('slugs', () => {
  it('that no query could name are not published', () => {
    for (const slug of ['keys', 'x-k', 'a-v-b', 'A', '', 'a b']) assert.notEqual(slugFault(slug), null, slug);
    for (const slug of ['k', 'v', 'x-v', 'key', 'a--b', S40]) assert.equal(slugFault(slug), null, slug);
    assert.ok(isSlug('keys') && isSlug('x-k'));
  });

  it('that begin like a token are read, and no query is for them', () => {
    assert.equal(slugFault('auth-list'), null);
    assert.equal(isAskable('auth-list'), false);
    for (const slug of ['auth', 'authors', 'b64-list', 'log']) assert.ok(isAskable(slug), slug);
    for (const slug of ['auth-list', 'b64-list']) {
      const parsed = parseQueryName(`manifest.${slug}.datasets.public.v1`);
      const asked = parsed.kind === 'query' ? parsed.query.params : [];
      assert.deepEqual(asked, isAskable(slug) ? [slug] : [], slug);
    }
  });
});
