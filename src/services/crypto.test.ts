import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { fakeProviders, freshReading } from '../../test/support/services/providers/fake-providers.ts';
import { fixture, openRig, sends } from '../../test/support/services/providers/rig.ts';
import { makeCrypto } from './crypto.ts';
import { parseCoinbase, parseKraken } from './crypto-prices.ts';
import { jsonOf } from './providers/source.ts';

const BITCOIN = { sym: 'XBT', quote: 'USD' };
const UNKNOWN_PAIR = '{"error":["EQuery:Unknown asset pair"]}';

describe('crypto', () => {
  const providers = fakeProviders(
    'crypto',
    freshReading({ price: 0.000_008_12, change: -0.000_000_1, percent: -1.22, volume: 123_456_789.5 }, NOW),
  );
  const crypto = makeCrypto(providers);

  it('has its fields, without an exponent', async () => {
    const outcome = await askName(crypto, 'get.shib-eur.crypto.public.v1');
    assert.ok(outcome.kind === 'answer');
    assert.match(
      Buffer.from(outcome.text).toString(),
      /;prc=0\.00000812;chg=-0\.0000001;pct=-1\.22;vol=123456789\.5;ts=/,
    );
    assert.deepEqual(answerFields(outcome, crypto.about), {
      sym: 'SHIB',
      quote: 'EUR',
      prc: 0.000_008_12,
      chg: -0.000_000_1,
      pct: -1.22,
      vol: 123_456_789.5,
    });
  });

  it('takes a coin, and dollars where no quote is named', async () => {
    for (const [label, key] of [
      ['btc', 'BTC-USD'],
      ['1inch-usdt', '1INCH-USDT'],
      ['eth-btc', 'ETH-BTC'],
    ] as const) {
      await crypto.answer([label], NOW);
      assert.equal(providers.asked.at(-1), `crypto ${key}`);
    }
    for (const params of [
      [],
      ['btc-'],
      ['btc-us'],
      ['btc-dollar'],
      ['btc-usd-x'],
      ['a'.repeat(11)],
      ['btc', 'usd'],
      ['b/c'],
    ]) {
      assert.equal((await crypto.answer(params, NOW)).kind, 'malformed', params.join('.'));
    }
  });

  it('has no market of a coin for itself', async () => {
    for (const label of ['usd', 'btc-btc'])
      assert.equal(codeOf(await crypto.answer([label], NOW)), 'E004', label);
  });

  it('says that there is no such market when both say so', async () => {
    const rig = await openRig();
    try {
      rig.replies.set('coinbase', sends('{"message":"NotFound"}', 404));
      rig.replies.set('kraken', sends(fixture('kraken.json').replace('XXBTZUSD', 'XMRUSD')));
      const service = makeCrypto(rig.providers);
      const known = await askName(service, 'get.xmr.crypto.public.v1', rig.now);
      // Kraken's `o` is the opening price of the UTC day, not that of 24 hours before.
      assert.deepEqual(answerFields(known, service.about), {
        sym: 'XMR',
        quote: 'USD',
        prc: 63_120,
        vol: 2410.1,
      });
      rig.replies.set('kraken', sends(UNKNOWN_PAIR));
      assert.equal(codeOf(await askName(service, 'get.nocoin.crypto.public.v1', rig.now)), 'E004');
      assert.deepEqual(
        rig.hits.map(({ path }) => path),
        [
          '/products/XMR-USD/stats',
          '/0/public/Ticker?pair=XMRUSD',
          '/products/NOCOIN-USD/stats',
          '/0/public/Ticker?pair=NOCOINUSD',
        ],
      );
      assert.equal(codeOf(await askName(service, 'get.nocoin.crypto.public.v1', rig.now)), 'E004');
      assert.equal(rig.hits.length, 4);
    } finally {
      rig.close();
    }
  });

  it('calls coins what Kraken calls them', async () => {
    const rig = await openRig({ endpoints: { coinbase: null } });
    try {
      rig.replies.set('kraken', sends(fixture('kraken.json')));
      const service = makeCrypto(rig.providers);
      for (const name of ['btc-eur', 'doge-btc'])
        await askName(service, `get.${name}.crypto.public.v1`, rig.now);
      assert.deepEqual(
        rig.hits.map(({ path }) => path),
        ['/0/public/Ticker?pair=XBTEUR', '/0/public/Ticker?pair=XDGXBT'],
      );
    } finally {
      rig.close();
    }
  });

  it('does not take the price of a market whose coin and quote make the same word', async () => {
    const rig = await openRig();
    try {
      rig.replies.set('coinbase', sends('{"message":"NotFound"}', 404));
      rig.replies.set('kraken', (request, response) => {
        const pair = new URL(request.url ?? '', 'http://x').searchParams.get('pair') ?? '';
        sends(fixture('kraken.json').replace('XXBTZUSD', pair))(request, response);
      });
      const service = makeCrypto(rig.providers);
      const ask = async (name: string) => {
        // So that the budget is no matter.
        rig.now += 60_000;
        return await askName(service, `get.${name}.crypto.public.v1`, rig.now);
      };
      for (const name of ['eth-wusd', 'et-hwusd', 'et-husd', 'btcpy-usd'])
        assert.equal(codeOf(await ask(name)), 'E004', name);
      assert.deepEqual(new Set(rig.hits.map(({ source }) => source)), new Set(['coinbase']));
      for (const name of ['ethw-usd', 'pyusd-usd', 'usdt-usd', 'btc-pyusd', 'eth-btc']) {
        assert.equal(answerFields(await ask(name), service.about).prc, 63_120, name);
      }
    } finally {
      rig.close();
    }
  });

  it('distrusts what it is sent', () => {
    const coinbase = jsonOf(fixture('coinbase.json')) as object;
    assert.deepEqual(parseCoinbase(coinbase), {
      price: 63_123.45,
      change: -412.1,
      percent: -0.65,
      volume: 8412.50731246,
    });
    for (const change of [
      { last: '0' },
      { last: '' },
      { open: 'x' },
      { volume: '-1' },
      { last: '1e9' },
      { open: undefined },
    ]) {
      assert.equal(parseCoinbase({ ...coinbase, ...change }), null, JSON.stringify(change));
    }
    const kraken = fixture('kraken.json');
    assert.deepEqual(parseKraken(jsonOf(kraken), BITCOIN), {
      kind: 'value',
      value: { price: 63_120, change: null, percent: null, volume: 2410.1 },
    });
    const table: readonly [string, string][] = [
      [UNKNOWN_PAIR, 'missing'],
      ['{"error":["EAPI:Rate limit exceeded"]}', 'limited'],
      ['{"error":["EService:Unavailable"]}', 'failed'],
      ['{"error":[],"result":{}}', 'failed'],
      ['{"error":[],"result":{"A":{},"B":{}}}', 'failed'],
      [kraken.replace('63120.00000', '-1'), 'failed'],
      [kraken.replace('XXBTZUSD', 'XBTUSD'), 'value'],
      [kraken.replace('XXBTZUSD', 'XBTUSDT'), 'failed'],
      [kraken.replace('XXBTZUSD', 'TXBTUSD'), 'failed'],
    ];
    for (const [text, kind] of table) assert.equal(parseKraken(jsonOf(text), BITCOIN).kind, kind, text);
  });
});
