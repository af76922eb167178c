import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { CRYPTO_ABOUT } from '../crypto.ts';
import type { Service } from '../service.ts';
import { remembered } from './remember.ts';

function counting(outcome: (label: string) => Outcome | Promise<Outcome>): {
  service: Service;
  calls: string[];
} {
  const calls: string[] = [];
  const service: Service = {
    resource: 'crypto',
    operation: 'get',
    enabled: true,
    about: CRYPTO_ABOUT,
    answer(params) {
      calls.push(params.join('.'));
      return outcome(params[0] ?? '');
    },
  };
  return { service: remembered(service), calls };
}

const answer = (until: number): Outcome => ({ kind: 'answer', text: Buffer.from('x'), ttl: 30, until });

describe('a service that remembers', () => {
  it('is asked again when an answer has come to its end', async () => {
    for (const wrap of [(one: Outcome) => one, (one: Outcome) => Promise.resolve(one)]) {
      const { service, calls } = counting(() => wrap(answer(10)));
      for (const now of [0, 5, 9]) assert.deepEqual(await service.answer(['a'], now), answer(10));
      assert.equal(calls.length, 1);
      await service.answer(['a'], 10);
      await service.answer(['b'], 10);
      assert.deepEqual(calls, ['a', 'a', 'b']);
    }
  });

  it('keeps nothing but answers that are still true, of one label', async () => {
    const outcomes: readonly Outcome[] = [
      answer(0),
      { kind: 'malformed', code: 'E005' },
      { kind: 'failed', cause: 'provider' },
    ];
    for (const outcome of outcomes) {
      const { service, calls } = counting(() => outcome);
      await service.answer(['a'], 0);
      await service.answer(['a'], 0);
      assert.equal(calls.length, 2);
    }
    const { service, calls } = counting(() => answer(10));
    for (const params of [[], [], ['a', 'b'], ['a', 'b']]) await service.answer(params, 0);
    assert.equal(calls.length, 4);
  });

  it('forgets the oldest when there are many', async () => {
    const { service, calls } = counting(() => answer(10));
    for (let i = 0; i <= 4096; i++) await service.answer([`k${i}`], 0);
    await service.answer(['k1'], 0);
    assert.equal(calls.length, 4097);
    await service.answer(['k0'], 0);
    assert.equal(calls.length, 4098);
  });
});
