import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { makePi, PI_ABOUT } from './pi.ts';

const pi = makePi();

test('the first example is answered as described', async () => {
  const outcome = await askName(pi, PI_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), PI_ABOUT.exampleResponse);
});

test('digits are cut off, and a thousand are right', async () => {
  const digits = async (count: number): Promise<string> =>
    String(answerFields(await pi.answer([String(count)], NOW), PI_ABOUT).pi);
  assert.equal(await digits(1), '3.1');
  // 3.14159265358979: rounded it would end in 4.1416.
  assert.equal(await digits(4), '3.1415');
  const all = await digits(1000);
  assert.ok(Math.abs(Number(all) - Math.PI) < Number.EPSILON);
  // The Feynman point, and the known last digits of the first thousand.
  assert.equal(all.indexOf('999999'), 2 + 761);
  assert.ok(all.endsWith('2164201989') && all.length === 1002);
  for (const count of [2, 17, 500, 999]) assert.equal(await digits(count), all.slice(0, count + 2));
});

test('what is malformed', async () => {
  for (const params of [[], [''], ['0'], ['1001'], ['n1'], ['01'], ['1d5'], ['ten'], ['99999'], ['1', '1']]) {
    assert.equal((await pi.answer(params, NOW)).kind, 'malformed', params.join('.'));
  }
});
