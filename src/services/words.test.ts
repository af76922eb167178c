import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { makeWords, WORDS_ABOUT } from './words.ts';

const words = makeWords();

async function fields(label: string): Promise<Record<string, unknown>> {
  return answerFields(await words.answer([label], NOW), WORDS_ABOUT);
}

test('the first example is answered as described', async () => {
  const outcome = await askName(words, WORDS_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), WORDS_ABOUT.exampleResponse);
});

test('numbers and ordinals', async () => {
  for (const [label, text, ord] of [
    ['0', 'zero', 'zeroth'],
    ['n0', 'zero', 'zeroth'],
    ['1', 'one', 'first'],
    ['2', 'two', 'second'],
    ['3', 'three', 'third'],
    ['5', 'five', 'fifth'],
    ['8', 'eight', 'eighth'],
    ['9', 'nine', 'ninth'],
    ['10', 'ten', 'tenth'],
    ['12', 'twelve', 'twelfth'],
    ['13', 'thirteen', 'thirteenth'],
    ['20', 'twenty', 'twentieth'],
    ['21', 'twenty-one', 'twenty-first'],
    ['40', 'forty', 'fortieth'],
    ['99', 'ninety-nine', 'ninety-ninth'],
    ['100', 'one hundred', 'one hundredth'],
    ['101', 'one hundred one', 'one hundred first'],
    ['1000', 'one thousand', 'one thousandth'],
    ['1001', 'one thousand one', 'one thousand first'],
    ['1000000', 'one million', 'one millionth'],
    [
      '1234567',
      'one million two hundred thirty-four thousand five hundred sixty-seven',
      'one million two hundred thirty-four thousand five hundred sixty-seventh',
    ],
    ['1000000000000000000000', 'one sextillion', 'one sextillionth'],
    [`1${'0'.repeat(60)}`, 'one novemdecillion', 'one novemdecillionth'],
    ['n40', 'minus forty', undefined],
    ['-7', 'minus seven', undefined],
    ['3d14', 'three point one four', undefined],
    ['n0d50', 'minus zero point five zero', undefined],
    ['n0d0', 'zero point zero', undefined],
    // One grammar of numbers with `units` (finding L18 of the second review).
    ['d5', 'zero point five', undefined],
    ['nd5', 'minus zero point five', undefined],
    ['007', 'seven', 'seventh'],
    ['000', 'zero', 'zeroth'],
    ['00d10', 'zero point one zero', undefined],
  ] as const) {
    const found = await fields(label);
    assert.deepEqual([found.words, found.ord], [text, ord], label);
  }
  const longest = await fields('9'.repeat(63));
  assert.match(String(longest.words), /^nine hundred ninety-nine novemdecillion .* ninety-nine$/);
});

test('what is malformed', async () => {
  for (const label of [
    '',
    'n',
    '5d',
    'd',
    'nd',
    '1e3',
    '1-000',
    '1,000',
    'one',
    'nn1',
    '+1',
    '9'.repeat(64),
    '٣',
  ]) {
    assert.equal((await words.answer([label], NOW)).kind, 'malformed', label);
  }
  for (const params of [[], ['1', '2']]) assert.equal((await words.answer(params, NOW)).kind, 'malformed');
});

const SMALL = 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen'
  .concat(' sixteen seventeen eighteen nineteen')
  .split(' ');
const TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const SCALES =
  'thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion'
    .concat(' decillion undecillion duodecillion tredecillion quattuordecillion quindecillion sexdecillion')
    .concat(' septendecillion octodecillion novemdecillion')
    .split(' ');

/** Reads words back, as people do. */
function readWords(text: string): bigint {
  let sum = 0n;
  let group = 0n;
  for (const word of text.split(/[ -]/)) {
    const scale = SCALES.indexOf(word);
    if (word === 'hundred') group *= 100n;
    else if (scale >= 0) {
      sum += group * 1000n ** BigInt(scale + 1);
      group = 0n;
    } else group += BigInt(TENS.includes(word) ? 10 * TENS.indexOf(word) : SMALL.indexOf(word));
  }
  return sum + group;
}

test('property: the words of a number are that number', async () => {
  const digits = fc
    .integer({ min: 1, max: 63 })
    .chain((length) => fc.bigInt({ min: 0n, max: 10n ** BigInt(length) - 1n }));
  await fc.assert(
    fc.asyncProperty(digits, async (value) => {
      const found = await fields(value.toString());
      assert.equal(readWords(String(found.words)), value);
      assert.doesNotMatch(String(found.words), / {2}|^ | $/);
    }),
    { numRuns: 500 },
  );
});
