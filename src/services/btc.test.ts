import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerFields,
  askName,
  checkDescription,
  codeOf,
  NOW,
} from '../../test/support/services/check-service.ts';
import { BTC_ABOUT, makeBtc } from './btc.ts';

test('its description holds', () => checkDescription(makeBtc(true)));

test('off: E013, and nothing else', async () => {
  const btc = makeBtc(false);
  assert.equal(btc.enabled, false);
  assert.equal(codeOf(await askName(btc, 'get.btc.public.v1')), 'E013');
  assert.equal((await btc.answer(['x'], NOW)).kind, 'malformed');
});

test('on: mock data that says so', async () => {
  const btc = makeBtc(true);
  const outcome = await askName(btc, 'get.btc.public.v1');
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), BTC_ABOUT.exampleResponse);
  const later = answerFields(await btc.answer([], NOW + 1_200_000), BTC_ABOUT);
  assert.deepEqual(later, { height: 930_002, fee: 3, src: 'mock' });
  assert.equal(answerFields(await btc.answer([], 0), BTC_ABOUT).height, 0);
  assert.equal((await btc.answer(['x'], NOW)).kind, 'malformed');
});
