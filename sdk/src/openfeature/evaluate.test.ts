import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bucketOf, type Context, compareSemver, evaluate, murmur3 } from './evaluate.ts';
import { FlagError, parseFlag, parseSemver, type Semver } from './flag.ts';

const PAGE = readFileSync(new URL('../../../docs/FLAGS.md', import.meta.url), 'utf8');
const BASE = { version: 1, variants: { on: true, off: false }, defaultVariant: 'off' };

const flag = (fields: object) => parseFlag(JSON.stringify({ ...BASE, ...fields }));
const variantOf = (fields: object, context: Context = {}): string => {
  const decision = evaluate(flag(fields), 'dark-mode', context);
  return decision.kind === 'variant' ? `${decision.variant} ${decision.why}` : decision.kind;
};

describe('docs/FLAGS.md', () => {
  it('has documents that are valid', () => {
    const documents = [...PAGE.matchAll(/^```json flag\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
    assert.equal(documents.length, 3);
    for (const text of documents) parseFlag(text);
    const [, , targeted = ''] = documents;
    const of = (context: Context) => evaluate(parseFlag(targeted), 'dark-mode', context);
    assert.deepEqual(of({ email: 'a@example.net' }), { kind: 'variant', variant: 'red', why: 'match' });
    assert.deepEqual(of({ country: 'de', appVersion: '2.0.9' }), {
      kind: 'variant',
      variant: 'blue',
      why: 'default',
    });
    assert.deepEqual(of({ country: 'de', appVersion: '2.1.0' }), { kind: 'no targeting key' });
  });

  it('has the buckets of its table', () => {
    const rows = [...PAGE.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| (\d+) \|$/gm)];
    assert.equal(rows.length, 3);
    for (const [, salt = '', key = '', bucket] of rows) assert.equal(bucketOf(salt, key), Number(bucket));
  });
});

describe('documents', () => {
  const rule = { when: [{ attribute: 'a', op: 'equals', value: 1 }], variant: 'on' };
  const withCondition = (condition: object) => ({ targeting: [{ ...rule, when: [condition] }] });
  const broken: readonly (readonly [object, RegExp])[] = [
    [{ version: 2 }, /^version/],
    [{ version: '1' }, /^version/],
    [{ later: 1 }, /not known$/],
    [{ variants: {} }, /^variants must have at least one/],
    [{ variants: { on: true, off: 'no' } }, /same type$/],
    [{ variants: { on: null }, defaultVariant: 'on' }, /^variants must not be null/],
    [{ variants: { 1: true }, defaultVariant: '1' }, /^variants must have names/],
    [{ variants: [true], defaultVariant: '0' }, /^variants must be an object/],
    [{ defaultVariant: 'other' }, /^defaultVariant must name a variant/],
    [{ defaultVariant: 'toString' }, /^defaultVariant must name a variant/],
    [{ enabled: 1 }, /^enabled/],
    [{ salt: 1 }, /^salt/],
    [{ rollout: { on: 50.0001 } }, /three decimals$/],
    [{ rollout: { on: -1 } }, /three decimals$/],
    [{ rollout: { on: '5' } }, /three decimals$/],
    [{ rollout: { on: 60, off: 40.001 } }, /at most 100$/],
    [{ rollout: { other: 5 } }, /^rollout must name a variant/],
    [{ targeting: {} }, /^targeting must be an array/],
    [{ targeting: [{ ...rule, when: [] }] }, /^targeting\[0\]\.when/],
    [{ targeting: [{ ...rule, rollout: {} }] }, /either variant or rollout$/],
    [{ targeting: [rule, { when: rule.when }] }, /^targeting\[1\] must have either/],
    [{ targeting: [{ ...rule, variant: 'other' }] }, /^targeting\[0\]\.variant/],
    [{ targeting: [{ ...rule, else: 1 }] }, /^targeting\[0\] has a field/],
    [withCondition({ attribute: '', op: 'equals', value: 1 }), /attribute must be text$/],
    [withCondition({ attribute: 'a', op: 'is', value: 1 }), /op is not known$/],
    [withCondition({ attribute: 'a', op: 'semver~', value: '1.0.0' }), /op is not known$/],
    [withCondition({ attribute: 'a', op: 'equals', value: null }), /value must be text/],
    [withCondition({ attribute: 'a', op: 'in', value: 'x' }), /value must be an array/],
    [withCondition({ attribute: 'a', op: 'in', value: [{}] }), /value must be an array/],
    [withCondition({ attribute: 'a', op: 'prefix', value: 1 }), /value must be text$/],
    [withCondition({ attribute: 'a', op: '<', value: '1' }), /value must be a number$/],
    [withCondition({ attribute: 'a', op: 'semver<', value: '1.0' }), /value must be a version$/],
    [withCondition({ attribute: 'a', op: 'equals', value: 1, not: 'x' }), /not must be/],
  ];
  for (const [fields, message] of broken) {
    it(`${JSON.stringify(fields)} is broken`, () =>
      assert.throws(() => flag(fields), { name: 'FlagError', message }));
  }

  it('any text is a flag or a FlagError', () => {
    const some = fc.jsonValue();
    const anything = { targeting: some, rollout: some, variants: some, enabled: some };
    for (const text of ['', '{', 'null', '[]', '1', '"x"'])
      assert.throws(() => parseFlag(text), FlagError, text);
    fc.assert(
      fc.property(fc.record(anything, { requiredKeys: [] }), (body) => {
        try {
          parseFlag(JSON.stringify({ ...BASE, ...body }));
        } catch (error) {
          assert.ok(error instanceof FlagError);
        }
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});

describe('conditions', () => {
  const cases: readonly (readonly [object, unknown, boolean])[] = [
    [{ op: 'equals', value: 'x' }, 'x', true],
    [{ op: 'equals', value: 'x' }, 'X', false],
    [{ op: 'equals', value: 1 }, '1', false],
    [{ op: 'equals', value: true }, true, true],
    [{ op: 'equals', value: 'x', not: true }, 'y', true],
    [{ op: 'equals', value: 'x', not: true }, undefined, false],
    [{ op: 'equals', value: 'x', not: true }, 1, false],
    [{ op: 'in', value: ['x', 1] }, 1, true],
    [{ op: 'in', value: ['x', 1] }, '1', false],
    [{ op: 'in', value: ['x'], not: true }, 'y', true],
    [{ op: 'in', value: ['x'], not: true }, { a: 1 }, false],
    [{ op: 'prefix', value: 'ab' }, 'abc', true],
    [{ op: 'prefix', value: 'ab' }, 'a', false],
    [{ op: 'prefix', value: 'ab' }, ['ab'], false],
    [{ op: '<', value: 5 }, 4.9, true],
    [{ op: '<', value: 5 }, 5, false],
    [{ op: '<=', value: 5 }, 5, true],
    [{ op: '>', value: 5 }, 6, true],
    [{ op: '>=', value: 5 }, 5, true],
    [{ op: '>=', value: 5 }, '6', false],
    [{ op: '>=', value: 5, not: true }, Number.NaN, false],
    [{ op: 'semver>=', value: '2.1.0' }, '2.1.0+build', true],
    [{ op: 'semver>=', value: '2.1.0' }, '2.1.0-rc.1', false],
    [{ op: 'semver>', value: '2.9.0' }, '2.10.0', true],
    [{ op: 'semver=', value: '2.1.0' }, '2.1.0', true],
    [{ op: 'semver<', value: '2.1.0' }, '2.1', false],
    [{ op: 'semver<', value: '2.1.0', not: true }, '2.1', false],
  ];
  for (const [condition, actual, expected] of cases) {
    it(`${JSON.stringify(condition)} of ${JSON.stringify(actual)} is ${expected}`, () => {
      const fields = { targeting: [{ when: [{ attribute: 'a', ...condition }], variant: 'on' }] };
      assert.equal(variantOf(fields, { a: actual }), expected ? 'on match' : 'off default');
    });
  }

  it('all of a rule must hold, and the first rule that fits decides', () => {
    const is = (attribute: string, value: number) => ({ attribute, op: 'equals', value });
    const fields = {
      targeting: [
        { when: [is('a', 1), is('b', 1)], variant: 'on' },
        { when: [is('a', 1)], variant: 'off' },
      ],
    };
    assert.equal(variantOf(fields, { a: 1, b: 1 }), 'on match');
    assert.equal(variantOf(fields, { a: 1 }), 'off match');
    assert.equal(variantOf(fields, { b: 1 }), 'off default');
    const inherited = {
      targeting: [{ when: [{ attribute: 'toString', op: 'equals', value: 'x', not: true }], variant: 'on' }],
    };
    assert.equal(variantOf(inherited), 'off default');
  });

  it('a version of the context is parsed once, however many conditions and flags compare it', () => {
    const flag = parseFlag(
      JSON.stringify({
        ...BASE,
        targeting: [
          { when: Array(40).fill({ attribute: 'v', op: 'semver>', value: '0.1.0' }), variant: 'on' },
        ],
      }),
    );
    const versions = new Map();
    const found = parseSemver('1.0.0');
    versions.set('v', found);
    // What is there already counts.
    assert.deepEqual(evaluate(flag, 'f', { v: '0.0.1' }, versions), {
      kind: 'variant',
      variant: 'on',
      why: 'match',
    });
    const learnt = new Map();
    evaluate(flag, 'f', { v: '1.0.0' }, learnt);
    assert.deepEqual([...learnt], [['v', found]]);
    assert.deepEqual(flag.targeting[0]?.when[0]?.value, parseSemver('0.1.0'));
  });

  it('versions are ordered as semver.org orders them', () => {
    const ascending =
      '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0 2.0.0';
    const versions = ascending.split(' ').map((text) => parseSemver(text) as Semver);
    for (const [i, a] of versions.entries()) {
      for (const [j, b] of versions.entries()) assert.equal(Math.sign(compareSemver(a, b)), Math.sign(i - j));
    }
    for (const [a, b, order] of [
      ['1.0.0-1', '1.0.0-01', 0],
      ['1.0.0-a.01.b', '1.0.0-a.1.c', -1],
      ['1.0.0-1.10', '1.0.0-1.9', 1],
      ['1.0.0-ab', '1.0.0-a.b', 1],
      ['1.0.0-9007199254740992', '1.0.0-9007199254740993', 0],
      ['1.0.0+a', '1.0.0+b', 0],
    ] as const) {
      const [one, other] = [parseSemver(a) as Semver, parseSemver(b) as Semver];
      assert.deepEqual([compareSemver(one, other), compareSemver(other, one)].map(Math.sign), [
        order,
        0 - order,
      ]);
    }
    for (const text of ['1', '1.0', '01.0.0', '1.0.0-', 'v1.0.0', '1.0.0.0', ''])
      assert.equal(parseSemver(text), null);
  });
});

describe('rollouts', () => {
  it('hash as published', () => {
    assert.equal(murmur3(''), 0);
    assert.equal(murmur3('', 1), 0x514e28b7);
    assert.equal(murmur3('hello'), 0x248bfa47);
    assert.equal(murmur3('hello, world'), 0x149bbb7f);
    assert.equal(murmur3('The quick brown fox jumps over the lazy dog', 0x9747b28c), 0x2fa826cd);
    // By another implementation: both sides of the buffer for short texts, and octets of other scripts.
    assert.equal(murmur3('a'.repeat(256)), 0xa8796809);
    assert.equal(murmur3('a'.repeat(257)), 0xd27b4d49);
    assert.equal(murmur3('grüße, 漢字'), 0x692c1f7a);
  });

  it('spread 20,000 keys as the percentages say, by chi-square', () => {
    const fields = {
      variants: { a: 1, b: 2, c: 3, d: 4 },
      defaultVariant: 'd',
      rollout: { a: 1, b: 25, c: 50.5 },
    };
    const shares = new Map([
      ['a', 0.01],
      ['b', 0.25],
      ['c', 0.505],
      ['d', 0.235],
    ]);
    const document = flag(fields);
    for (const salt of ['dark-mode', 'checkout', 'x']) {
      const counts = new Map([...shares.keys()].map((variant) => [variant, 0]));
      const total = 20_000;
      for (let n = 0; n < total; n += 1) {
        const decision = evaluate(document, salt, { targetingKey: `user-${n}` });
        assert.ok(decision.kind === 'variant' && decision.why === 'split');
        counts.set(decision.variant, (counts.get(decision.variant) ?? 0) + 1);
      }
      let chiSquare = 0;
      for (const [variant, share] of shares) {
        const expected = share * total;
        chiSquare += ((counts.get(variant) ?? 0) - expected) ** 2 / expected;
      }
      // 3 degrees of freedom, p = 0.001. The keys are fixed, so the figure is too.
      assert.ok(chiSquare < 16.27, `${salt}: ${chiSquare}`);
    }
  });

  it('two flags choose users independently of each other', () => {
    let both = 0;
    for (let n = 0; n < 10_000; n += 1) {
      if (bucketOf('one', `user-${n}`) < 50_000 && bucketOf('two', `user-${n}`) < 50_000) both += 1;
    }
    // A quarter, four standard deviations of 43 to each side.
    assert.ok(Math.abs(both - 2500) < 174, String(both));
  });

  it('that grow keep the users that they had', () => {
    for (let n = 0; n < 2000; n += 1) {
      const context = { targetingKey: `user-${n}` };
      if (variantOf({ rollout: { on: 20 } }, context) === 'on split') {
        assert.equal(variantOf({ rollout: { on: 60 } }, context), 'on split');
      }
      assert.equal(variantOf({ rollout: { on: 0 } }, context), 'off split');
      assert.equal(variantOf({ rollout: { on: 100 } }, context), 'on split');
    }
  });

  it('need a targeting key; flags that are out of service need nothing', () => {
    assert.equal(variantOf({ rollout: { on: 50 } }), 'no targeting key');
    assert.equal(variantOf({ rollout: { on: 50 } }, { targetingKey: '' }), 'no targeting key');
    assert.equal(variantOf({ enabled: false, rollout: { on: 50 } }), 'disabled');
    assert.equal(variantOf({}), 'off static');
  });
});
