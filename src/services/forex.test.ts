import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { fakeProviders, freshReading } from '../../test/support/services/providers/fake-providers.ts';
import { fixture, openRig, sends } from '../../test/support/services/providers/rig.ts';
import { makeForex } from './forex.ts';
import { crossRate, parseEcb, parseFrankfurter } from './forex-rates.ts';
import { jsonOf } from './providers/source.ts';

describe('forex', () => {
  const providers = fakeProviders('forex', freshReading({ rate: 0.8739, asof: '2025-12-31' }, NOW));
  const forex = makeForex(providers);

  it('has its fields', async () => {
    const outcome = await askName(forex, 'get.usd-eur.forex.public.v1');
    assert.deepEqual(answerFields(outcome, forex.about), {
      base: 'USD',
      quote: 'EUR',
      rate: 0.8739,
      asof: '2025-12-31',
    });
    assert.deepEqual(providers.asked, ['forex USD-EUR']);
  });

  it('takes two codes of different currencies', async () => {
    for (const params of [
      [],
      ['usd'],
      ['usdeur'],
      ['usd-eur-gbp'],
      ['us-eur'],
      ['usd-eur', 'x'],
      ['u$d-eur'],
    ]) {
      assert.equal((await forex.answer(params, NOW)).kind, 'malformed', params.join('.'));
    }
    for (const label of ['xzq-eur', 'usd-qqq', 'usd-usd'])
      assert.equal(codeOf(await forex.answer([label], NOW)), 'E004', label);
    assert.equal(providers.asked.length, 1);
  });

  it('believes Frankfurter that there is no such rate', async () => {
    for (const status of [404, 422]) {
      const rig = await openRig();
      try {
        rig.replies.set('frankfurter', sends('{"message":"not found"}', status));
        rig.replies.set('ecb', sends(fixture('ecb.xml')));
        assert.equal(
          codeOf(await askName(makeForex(rig.providers), 'get.usd-eur.forex.public.v1', rig.now)),
          'E004',
        );
        assert.deepEqual(
          rig.hits.map(({ path }) => path),
          ['/v2/rate/USD/EUR'],
        );
      } finally {
        rig.close();
      }
    }
  });

  it('fetches the table of the ECB once for all pairs', async () => {
    const rig = await openRig({ endpoints: { frankfurter: null } });
    try {
      rig.replies.set('ecb', sends(fixture('ecb.xml')));
      const service = makeForex(rig.providers);
      for (const [pair, rate] of [
        ['usd-eur', 0.874126],
        ['eur-jpy', 179.21],
        ['gbp-chf', 1.06635],
      ] as const) {
        const outcome = await askName(service, `get.${pair}.forex.public.v1`, rig.now);
        assert.equal(answerFields(outcome, service.about).rate, rate);
      }
      assert.equal(codeOf(await askName(service, 'get.usd-ars.forex.public.v1', rig.now)), 'E004');
      assert.deepEqual(
        rig.hits.map(({ path }) => path),
        ['/stats/eurofxref/eurofxref-daily.xml'],
      );
      // Set back, the clock does not tell how old the table is.
      rig.now -= 7_200_000;
      await askName(service, 'get.usd-gbp.forex.public.v1', rig.now);
      assert.equal(rig.hits.length, 2);
    } finally {
      rig.close();
    }
  });

  it('distrusts what it is sent', () => {
    const good = jsonOf(fixture('frankfurter.json')) as object;
    const pair = { base: 'USD', quote: 'EUR' };
    assert.deepEqual(parseFrankfurter(good, pair), { rate: 0.8739, asof: '2025-12-31' });
    for (const change of [
      { rate: 0 },
      { rate: -1 },
      { rate: 'x' },
      { date: '2025-02-30' },
      { base: 'GBP' },
      { quote: 'usd' },
    ]) {
      assert.equal(parseFrankfurter({ ...good, ...change }, pair), null, JSON.stringify(change));
    }
    const xml = fixture('ecb.xml');
    assert.equal(parseEcb(xml)?.rates.size, 7);
    assert.equal(parseEcb(xml.replace('2025-12-31', '2025-13-31')), null);
    assert.equal(parseEcb(xml.replace('1.1440', '0')), null);
    assert.equal(parseEcb(xml.replace('1.1440', '1.1.4')), null);
    assert.equal(parseEcb("<Cube time='2025-12-31'><Cube currency='USD' rate='1.1'/></Cube>"), null);
    assert.equal(crossRate(parseEcb(xml)!, 'USD-ARS'), null);
  });
});
