import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, checkDescription, NOW } from '../../test/support/services/check-service.ts';
import { FOREVER } from '../protocol/query/outcome.ts';
import {
  CATEGORIES,
  CONVERSIONS,
  decimalText,
  type Fraction,
  makeUnits,
  parseExpression,
  parseValue,
  UNITS,
  UNITS_ABOUT,
  type Unit,
} from './units.ts';

const units = makeUnits();

async function ask(label: string) {
  return await units.answer([label], NOW);
}

test('its description holds, and its examples answer', async () => {
  checkDescription(units);
  for (const name of UNITS_ABOUT.examples) answerFields(await askName(units, name), UNITS_ABOUT);
  const first = await askName(units, UNITS_ABOUT.examples[0]);
  assert.ok(first.kind === 'answer');
  assert.equal(Buffer.from(first.text).toString(), UNITS_ABOUT.exampleResponse);
  assert.equal(first.ttl, 86_400);
});

test('the value grammar, to the letter', () => {
  for (const [text, value] of [
    ['0', '0'],
    ['5', '5'],
    ['005', '5'],
    ['d5', '0.5'],
    ['0d5', '0.5'],
    ['12d25', '12.25'],
    ['12d250', '12.25'],
    ['n40', '-40'],
    ['nd5', '-0.5'],
    ['n0', '0'],
    ['nd000', '0'],
    ['100', '100'],
    ['123456789012', '123456789012'],
    ['1234567890125', '1234567890120'],
    ['1234567890135', '1234567890140'],
    ['9007199254740993', '9007199254740000'],
    [`d${'0'.repeat(40)}7`, `0.${'0'.repeat(40)}7`],
  ] as const) {
    const parsed = parseValue(text);
    assert.ok(parsed !== null, text);
    assert.equal(decimalText(parsed), value, text);
  }
  for (const text of [
    ...['', 'd', 'n', 'nd', '5d', '1d2d3', 'dd5', 'nn5', '5n', 'n-5', '-5', '+5', '1e5', '1E5', '0x10'],
    ...[' 5', '5 ', '1.5', '1,5', 'D5', 'nan', 'infinity', '٣'],
  ]) {
    assert.equal(parseValue(text), null, text);
  }
});

test('expressions', async () => {
  const table: [label: string, val: number, res: number][] = [
    ['n40-c-to-f', -40, -40],
    ['0-c-to-f', 0, 32],
    ['32-f-to-c', 32, 0],
    ['100-c-to-k', 100, 373.15],
    ['n273d15-c-to-k', -273.15, 0],
    ['n459d67-f-to-k', -459.67, 0],
    ['0-k-to-f', 0, -459.67],
    ['98d6-f-to-c', 98.6, 37],
    ['1-mi-to-km', 1, 1.609344],
    ['26d2-mi-to-km', 26.2, 42.1648128],
    ['1-km-to-mi', 1, 0.621371192237],
    ['1-in-to-mm', 1, 25.4],
    ['6-ft-to-cm', 6, 182.88],
    ['1-yd-to-in', 1, 36],
    ['1-lb-to-g', 1, 453.59237],
    ['16-oz-to-lb', 16, 1],
    ['1-t-to-mg', 1, 1_000_000_000],
    ['1-gal-to-l', 1, 3.785411784],
    ['1-gal-to-floz', 1, 128],
    ['1-cup-to-tbsp', 1, 16],
    ['1-tbsp-to-tsp', 1, 3],
    ['1-m3-to-gal', 1, 264.172052358],
    ['100-kmh-to-mph', 100, 62.1371192237],
    ['1-kn-to-kmh', 1, 1.852],
    ['1-mps-to-fps', 1, 3.28083989501],
    ['d1-mm-to-km', 0.1, 0.0000001],
    ['3-m-to-m', 3, 3],
    ['5-KM-to-MI', 5, 3.10685596119],
  ];
  for (const [label, val, res] of table) {
    const fields = answerFields(await ask(label), UNITS_ABOUT);
    assert.deepEqual([fields.val, fields.res], [val, res], label);
  }
});

test('no temperature is below absolute zero (finding L17 of the second review)', async () => {
  for (const label of [
    'n300-c-to-k',
    'n273d150000001-c-to-f',
    'n459d68-f-to-c',
    'n1-k-to-c',
    'nd01-k-to-k',
  ]) {
    const outcome = await ask(label);
    assert.ok(outcome.kind === 'malformed' && outcome.cause === 'value', label);
  }
  for (const label of ['n273d15-c-to-f', 'n459d67-f-to-c', 'n0-k-to-c', 'n1-m-to-km']) {
    assert.equal((await ask(label)).kind, 'answer', label);
  }
});

test('no exponent, whatever the size', async () => {
  for (const label of [
    `${'9'.repeat(50)}-t-to-mg`,
    `d${'0'.repeat(48)}1-mm-to-km`,
    `n${'8'.repeat(40)}d5-kg-to-lb`,
  ]) {
    const outcome = await ask(label);
    assert.ok(outcome.kind === 'answer');
    const text = Buffer.from(outcome.text).toString();
    assert.match(text, /;val=-?[\d.]+;from=\w+;to=\w+;res=-?[\d.]+;/, label);
  }
});

test('results that lie between two decimals of twelve digits go to the even one (dns finding ambiguous 1)', async () => {
  const table: readonly (readonly [label: string, res: string])[] = [
    ['0d5-floz-to-ml', '14.7867647812'],
    ['n0d5-floz-to-ml', '-14.7867647812'],
    ['2d675-pt-to-m3', '0.00126574706528'],
    ['123d456-l-to-l', '123.456'],
    ['1000000000005-mm-to-m', '1000000000'],
    ['1000000000015-mm-to-m', '1000000000.02'],
    ['1000000000025-mm-to-m', '1000000000.02'],
    ['1000000000035-mm-to-m', '1000000000.04'],
    ['9999999999995-mm-to-mm', '10000000000000'],
    ['d9999999999995-m-to-m', '1'],
    ['d9999999999985-m-to-m', '0.999999999998'],
  ];
  for (const [label, res] of table) assert.equal(await resOf(label), res, label);
});

async function resOf(label: string): Promise<string> {
  const outcome = await ask(label);
  assert.ok(outcome.kind === 'answer', label);
  return /;res=([^;]+);/.exec(Buffer.from(outcome.text).toString())![1]!;
}

test('an answer never changes: it has no time, and its record is true for good', async () => {
  const [first, later] = [await ask('101-c-to-f'), await units.answer(['101-c-to-f'], NOW + 2000)];
  assert.deepEqual(first, later);
  assert.ok(first.kind === 'answer' && first.until === FOREVER);
  assert.equal(
    Buffer.from(first.text).toString(),
    'v=svc1;s=ok;t=data;val=101;from=c;to=f;res=213.8;cat=temperature',
  );
});

test('labels outside the grammar, each with its cause', async () => {
  const causes = {
    value: [
      ...['', '5', '5-c', '5-c-to', '5-c-to-', '5-c-f', '5-c-in-f', '5c-to-f', 'c-to-f', '-c-to-f'],
      ...['5--c-to-f', 'n-5-c-to-f', '5-c-to-f-to-k', '5-c-to-to-f', '1-abcdefghi-to-m', '5 -c-to-f'],
      ...['5-c-to-f ', '5-c-to-ｆ', '1e5-c-to-f', `${'9'.repeat(56)}-m-to-mm`],
    ],
    unit: ['1-kg-to-lbs', '1-kg-to-stone', '1-m-to-constructor', '5-c-to-x'],
    units: ['5-c-to-km'],
  };
  for (const [cause, labels] of Object.entries(causes)) {
    for (const label of labels) {
      const outcome = await ask(label);
      assert.ok(outcome.kind === 'malformed', label);
      assert.equal(outcome.cause, label === '1-m-to-constructor' ? 'value' : cause, label);
    }
  }
  const fits = await ask(`${'9'.repeat(55)}-m-to-mm`);
  assert.equal(fits.kind, 'answer', 'the longest label');
  const missing = await units.answer([], NOW);
  assert.ok(missing.kind === 'malformed' && missing.cause === 'parameter');
  assert.equal((await units.answer(['5-c-to-f', '5-c-to-f'], NOW)).kind, 'malformed');
});

test('the table is closed: five categories, every pair within one, none across', () => {
  assert.deepEqual([...new Set([...UNITS.values()].map(({ category }) => category))], [...CATEGORIES]);
  for (const from of UNITS.values()) {
    assert.match(from.slug, /^[a-z0-9]{1,8}$/);
    for (const to of UNITS.values()) {
      const expression = parseExpression(`1-${from.slug}-to-${to.slug}`);
      assert.equal(typeof expression === 'object', from.category === to.category, `${from.slug} ${to.slug}`);
    }
  }
  for (const { times, plus, over } of CONVERSIONS.values()) {
    assert.ok([times, plus, over].every(Number.isSafeInteger) && over > 0 && times > 0);
  }
});

const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
const negated = ([a, b]: Fraction): Fraction => [-a, b];
const inverse = ([a, b]: Fraction): Fraction => [b, a];
const size = ([a, b]: Fraction): Fraction => [a < 0n ? -a : a, b];
const isLess = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d < c * b;

/** By the definition of a unit, in fractions: no part of it is shared with the code under test. */
function exactConversion(value: Fraction, from: Unit, to: Unit): Fraction {
  const base = times(add(value, from.offset), from.scale);
  return add(times(base, inverse(to.scale)), negated(to.offset));
}

/** A plain decimal as the fraction that it is. */
function fractionOf(text: string): Fraction {
  const [whole = '', fraction = ''] = text.split('.');
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

/** Asserts that the text is the exact value, rounded to twelve digits with ties to even, and the shortest such text. */
function assertRounded(text: string, exact: Fraction): void {
  assert.match(text, /^(?:0|-?(?:[1-9]\d*|0)(?:\.\d*[1-9])?)$/);
  if (exact[0] === 0n) {
    assert.equal(text, '0');
    return;
  }
  let unit: Fraction = [1n, 10n ** 11n];
  while (!isLess(size(exact), times(unit, [10n ** 12n, 1n]))) unit = times(unit, [10n, 1n]);
  while (isLess(size(exact), times(unit, [10n ** 11n, 1n]))) unit = times(unit, [1n, 10n]);
  const [a, b] = times(fractionOf(text), inverse(unit));
  assert.equal(a % b, 0n, 'no more than twelve digits');
  const twice = times(size(add(fractionOf(text), negated(exact))), [2n, 1n]);
  assert.ok(!isLess(unit, twice), 'the nearest');
  if (!isLess(twice, unit)) assert.equal((a / b) % 2n, 0n, 'the even one of two');
}

const anyConversion = fc.constantFrom(...CONVERSIONS.values());
const digits = (most: number) =>
  fc
    .array(fc.constantFrom(...Array.from('0123456789')), { minLength: 1, maxLength: most })
    .map((all) => all.join(''));
const anyValue = fc
  .oneof(
    fc.tuple(fc.constantFrom('', 'n'), digits(5), digits(4)),
    fc.tuple(fc.constantFrom('', 'n'), digits(24), digits(24)),
    // Multiples of a 2000th: among these are the ties.
    fc
      .integer({ min: 0, max: 10_000 })
      .map((n): [string, string, string] => [
        '',
        `${Math.floor(n / 200)}`,
        `${(n % 200) * 5}`.padStart(3, '0'),
      ]),
  )
  .map(([sign, whole, fraction]) => `${sign}${whole}d${fraction}`);

test('property: every result is the exact one, rounded half to even', async () => {
  await fc.assert(
    fc.asyncProperty(anyConversion, anyValue, async ({ from, to }, value) => {
      const exact = fractionOf(value.replace('n', '-').replace('d', '.'));
      if (from.category === 'temperature' && isLess(add(exact, from.offset), [0n, 1n])) {
        assert.equal((await ask(`${value}-${from.slug}-to-${to.slug}`)).kind, 'malformed');
        return;
      }
      assertRounded(await resOf(`${value}-${from.slug}-to-${to.slug}`), exactConversion(exact, from, to));
      assertRounded(decimalText(parseValue(value)!), exact);
    }),
    { numRuns: 5000 },
  );
});

test('property: any label gets an answer that validates, or FORMERR', async () => {
  const part = fc.constantFrom(
    '5',
    'd5',
    'n40',
    '1d5',
    'c',
    'f',
    'km',
    'mi',
    'to',
    'n',
    'd',
    '-',
    '',
    'kg',
    'e',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 7 }), fc.string(), async (parts, noise) => {
      for (const label of [parts.join('-'), parts.join(''), `${noise}-c-to-f`, `5-c-to-${noise}`]) {
        const outcome = await ask(label);
        if (outcome.kind === 'answer') answerFields(outcome, UNITS_ABOUT);
        else assert.equal(outcome.kind, 'malformed');
      }
    }),
    { numRuns: 300 },
  );
});
