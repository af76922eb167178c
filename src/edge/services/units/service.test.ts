import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, checkDescription, NOW } from '../testing/check-service.ts';
import { convert, parseExpression, parseValue } from './convert.ts';
import { UNITS_ABOUT } from './schema.ts';
import { makeUnits } from './service.ts';
import { CATEGORIES, CONVERSIONS, type Fraction, UNITS, type Unit } from './units.ts';

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
    ['0', 0],
    ['5', 5],
    ['005', 5],
    ['d5', 0.5],
    ['0d5', 0.5],
    ['12d25', 12.25],
    ['n40', -40],
    ['nd5', -0.5],
    ['n0', 0],
    ['9007199254740993', 9007199254740992],
    ['9'.repeat(308), 1e308],
  ] as const) {
    assert.equal(parseValue(text), value, text);
    assert.ok(!Object.is(parseValue(text), -0), text);
  }
  for (const text of [
    '',
    'd',
    'n',
    'nd',
    '5d',
    '1d2d3',
    'dd5',
    'nn5',
    '5n',
    'n-5',
    '-5',
    '+5',
    '1e5',
    '1E5',
    '0x10',
    ' 5',
    '5 ',
    '1.5',
    '1,5',
    'D5',
    'nan',
    'infinity',
    '٣',
    '9'.repeat(309),
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

test('no exponent, whatever the size', async () => {
  for (const label of [
    `${'9'.repeat(52)}-t-to-mg`,
    `d${'0'.repeat(48)}1-mm-to-km`,
    `n${'8'.repeat(40)}d5-k-to-f`,
  ]) {
    const outcome = await ask(label);
    assert.ok(outcome.kind === 'answer');
    const text = Buffer.from(outcome.text).toString();
    assert.match(text, /;val=-?[\d.]+;from=\w+;to=\w+;res=-?[\d.]+;/, label);
  }
});

test('labels outside the grammar', async () => {
  for (const label of [
    '',
    '5',
    '5-c',
    '5-c-to',
    '5-c-to-',
    '5-c-f',
    '5-c-in-f',
    '5c-to-f',
    'c-to-f',
    '-c-to-f',
    '5--c-to-f',
    'n-5-c-to-f',
    '5-c-to-f-to-k',
    '5-c-to-to-f',
    '5-c-to-km',
    '1-kg-to-lbs',
    '1-kg-to-stone',
    '1-abcdefghi-to-m',
    '1-m-to-constructor',
    '5 -c-to-f',
    '5-c-to-f ',
    '5-c-to-ｆ',
    '1e5-c-to-f',
    `${'9'.repeat(309)}-m-to-mm`,
    `${'9'.repeat(308)}-km-to-mm`,
  ]) {
    assert.equal((await ask(label)).kind, 'malformed', label);
  }
  assert.equal((await units.answer([], NOW)).kind, 'malformed');
  assert.equal((await units.answer(['5-c-to-f', '5-c-to-f'], NOW)).kind, 'malformed');
});

test('the table is closed: five categories, every pair within one, none across', () => {
  assert.deepEqual([...new Set([...UNITS.values()].map(({ category }) => category))], [...CATEGORIES]);
  for (const from of UNITS.values()) {
    assert.match(from.slug, /^[a-z0-9]{1,8}$/);
    for (const to of UNITS.values()) {
      const expression = parseExpression(`1-${from.slug}-to-${to.slug}`);
      assert.equal(expression !== null, from.category === to.category, `${from.slug} ${to.slug}`);
    }
  }
  for (const { times, plus, over } of CONVERSIONS.values()) {
    assert.ok([times, plus, over].every(Number.isSafeInteger) && over > 0 && times > 0);
  }
});

/** A finite float as the fraction that it is. */
function exactly(value: number): Fraction {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const biased = Number((raw >> 52n) & 0x7ffn);
  const fraction = raw & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const exponent = (biased === 0 ? 1 : biased) - 1075;
  const signed = raw >> 63n === 1n ? -mantissa : mantissa;
  return exponent >= 0 ? [signed << BigInt(exponent), 1n] : [signed, 1n << BigInt(-exponent)];
}

const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
const negated = ([a, b]: Fraction): Fraction => [-a, b];
const inverse = ([a, b]: Fraction): Fraction => [b, a];
const size = ([a, b]: Fraction): Fraction => [a < 0n ? -a : a, b];
const atMost = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d <= c * b;

/** By the definition of a unit, in fractions: no part of it is shared with the code under test. */
function exactConversion(value: Fraction, from: Unit, to: Unit): Fraction {
  const base = times(add(value, from.offset), from.scale);
  return add(times(base, inverse(to.scale)), negated(to.offset));
}

/** 1e-12 of the result, or of the greatest term where terms cancel. */
function tolerance(value: Fraction, result: Fraction, from: Unit, to: Unit): Fraction {
  const scaled = size(times(times(value, from.scale), inverse(to.scale)));
  const greatest =
    from.category === 'temperature' ? add(add(size(result), scaled), [1000n, 1n]) : size(result);
  return times(greatest, [1n, 1_000_000_000_000n]);
}

const anyConversion = fc.constantFrom(...CONVERSIONS.values());
const anyValue = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e60, max: 1e60 }),
  fc.double({ noNaN: true, min: -1000, max: 1000 }),
  fc.integer({ min: -1000, max: 1000 }),
  fc.integer({ min: -100_000, max: 100_000 }).map((hundredths) => hundredths / 100),
);

/** Below this a float has fewer digits, or none: no label says so little, but for 60 zeros. */
const SMALLEST = 1e-250;

test('property: conversions agree with exact arithmetic', () => {
  fc.assert(
    fc.property(anyConversion, anyValue, (conversion, value) => {
      if (value !== 0 && Math.abs(value) < SMALLEST) return;
      const { from, to } = conversion;
      const result = convert(value, conversion);
      assert.ok(result !== null);
      const exact = exactConversion(exactly(value), from, to);
      const error = size(add(exactly(result), negated(exact)));
      assert.ok(
        atMost(error, tolerance(exactly(value), exact, from, to)),
        `${value} ${from.slug} ${to.slug}`,
      );
    }),
    { numRuns: 5000 },
  );
});

test('property: there and back within 1e-12', () => {
  fc.assert(
    fc.property(anyConversion, anyValue, (there, value) => {
      if (value !== 0 && Math.abs(value) < SMALLEST) return;
      const back = CONVERSIONS.get(`${there.to.slug}-to-${there.from.slug}`)!;
      const middle = convert(value, there);
      const again = middle === null ? null : convert(middle, back);
      assert.ok(again !== null);
      const scale = there.from.category === 'temperature' ? Math.abs(value) + 1000 : Math.abs(value);
      assert.ok(Math.abs(again - value) <= scale * 1e-12, `${value} ${there.from.slug} ${there.to.slug}`);
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
