import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { BASE_ABOUT, makeBase } from './base.ts';

type Fields = Readonly<Record<string, string | number>>;

const base = makeBase();

async function fields(label: string): Promise<Fields> {
  return answerFields(await base.answer([label], NOW), BASE_ABOUT);
}

test('the first example is answered as described', async () => {
  const outcome = await askName(base, BASE_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), BASE_ABOUT.exampleResponse);
});

test('numbers between bases', async () => {
  for (const [label, val, res] of [
    ['255-to-16', '255', 'ff'],
    ['255-dec-to-hex', '255', 'ff'],
    ['ff-16-to-2', 'ff', '11111111'],
    ['FF-HEX-to-OCT', 'ff', '377'],
    ['0-to-2', '0', '0'],
    ['n0-to-2', '0', '0'],
    ['007-to-2', '7', '111'],
    ['n40-to-7', '-40', '-55'],
    ['-40-to-7', '-40', '-55'],
    ['nff-16-to-10', '-ff', '-255'],
    // Below base 24 a leading n is the minus sign, from there on a digit.
    ['n1-23-to-10', '-1', '-1'],
    ['n1-24-to-10', 'n1', '553'],
    ['n-24-to-10', 'n', '23'],
    ['-n1-24-to-10', '-n1', '-553'],
    ['zz-36-to-10', 'zz', '1295'],
    ['to-36-to-10', 'to', '1068'],
    ['18446744073709551616-to-hex', '18446744073709551616', '10000000000000000'],
  ] as const) {
    const found = await fields(label);
    assert.deepEqual([found.val, found.res], [val, res], label);
  }
  const longest = await fields(`${'z'.repeat(55)}-36-to-2`);
  assert.equal(BigInt(`0b${longest.res}`), 36n ** 55n - 1n);
});

test('what is malformed', async () => {
  for (const label of [
    ...[
      '',
      '255',
      '255-to-',
      'to-16',
      '-to-16',
      '255-to-1',
      '255-to-37',
      '255-to-0',
      '255-to-016',
      '255-to-xyz',
    ],
    ...[
      '2-2-to-10',
      '8-oct-to-10',
      'g-16-to-10',
      'n-16-to-10',
      'nn1-16-to-10',
      '1d5-to-2',
      '1.5-to-2',
      '+1-to-2',
    ],
    ...['1-2-3-to-4', '1_0-to-2', ' 1-to-2', '٣-to-2', `${'1'.repeat(59)}-to-2`, '1-1-to-2', '--1-to-2'],
  ]) {
    assert.equal((await base.answer([label], NOW)).kind, 'malformed', label);
  }
  for (const params of [[], ['1-to-2', '1-to-2']]) {
    assert.equal((await base.answer(params, NOW)).kind, 'malformed');
  }
});

test('property: there and back, as the engine writes it', async () => {
  const bases = fc.integer({ min: 2, max: 36 });
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
      bases,
      bases,
      async (value, from, to) => {
        // A label holds 63 octets; base 2 and a sign take more.
        const digits = (value < 0n ? -value : value).toString(from).slice(0, 40);
        const label = `${value < 0n && from < 24 ? 'n' : ''}${digits}-${from}-to-${to}`;
        const found = await fields(label);
        const back = String(found.res).replace('-', to < 24 ? 'n' : '-');
        if (back.length > 50) return;
        assert.equal((await fields(`${back}-${to}-to-${from}`)).res, found.val);
        if (to === 10) assert.equal(BigInt(String(found.res)).toString(from), found.val);
      },
    ),
    { numRuns: 400 },
  );
});
