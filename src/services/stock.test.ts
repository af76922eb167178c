import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { fakeProviders, freshReading } from '../../test/support/services/providers/fake-providers.ts';
import { fixture, openRig, sends } from '../../test/support/services/providers/rig.ts';
import { type ExchangeMap, isCurrent, MICS, type Mic } from './exchanges.ts';
import { jsonOf } from './providers/source.ts';
import { makeStock } from './stock.ts';
import { parseFinnhub, parseTwelveData, type Quote } from './stock-quotes.ts';

const QUOTE: Quote = {
  price: 148.85,
  change: -0.24,
  percent: -0.16,
  volume: 67_903_927,
  open: 148.44,
  high: 149.09,
  low: 146.37,
  yearHigh: 157.26,
  yearLow: 103.1,
};
const FIELDS = { prc: 148.85, chg: -0.24, pct: -0.16, vol: 67_903_927, opn: 148.44, hi: 149.09, lo: 146.37 };
const YEAR = { h52: 157.26, l52: 103.1 };
const DAY_MS = 86_400_000;

const dayAt = (days: number): string => new Date(NOW + days * DAY_MS).toISOString().slice(0, 10);
const map = (asof: string): ExchangeMap => ({
  asof,
  tag: 'nasdaqtrader',
  listed: new Map<string, Mic>([
    ['AAPL', 'XNAS'],
    ['BRK.B', 'XNYS'],
  ]),
});

describe('stock', () => {
  const providers = fakeProviders('stock', freshReading(QUOTE, NOW));
  const withMap = (asof: string | null) => makeStock(providers, () => (asof === null ? null : map(asof)));

  it('has its fields, the exchange right after the symbol', async () => {
    const service = withMap(dayAt(0));
    for (const name of ['get.aapl.stock.public.v1', 'get.aapl-x-xnas.stock.public.v1']) {
      const outcome = await askName(service, name);
      const exchange = { exchref: 'XNAS', exchsrc: 'nasdaqtrader', exchasof: dayAt(0) };
      assert.deepEqual(answerFields(outcome, service.about), {
        sym: 'AAPL',
        ...exchange,
        ...FIELDS,
        ...YEAR,
      });
      assert.ok(outcome.kind === 'answer');
      const text = Buffer.from(outcome.text).toString();
      assert.match(text, /^v=svc1;s=ok;t=data;sym=AAPL;exchref=XNAS;exchsrc=nasdaqtrader;exchasof=/);
      assert.match(text, /;ttl=30;ts=1767225600$/);
    }
  });

  it('names the exchange for 120 days, with all its fields or none', async () => {
    const table: readonly [string | null, boolean][] = [
      [dayAt(0), true],
      [dayAt(1), true],
      [dayAt(2), false],
      [dayAt(-120), true],
      [dayAt(-121), false],
      [null, false],
    ];
    for (const [asof, isTold] of table) {
      if (asof !== null) assert.equal(isCurrent(map(asof), NOW), isTold, asof);
      const service = withMap(asof);
      const fields = answerFields(await askName(service, 'get.aapl.stock.public.v1'), service.about);
      assert.equal('exchref' in fields, isTold, String(asof));
      assert.equal('exchsrc' in fields, isTold);
      assert.equal('exchasof' in fields, isTold);
      const pinned = await askName(service, 'get.aapl-x-xnas.stock.public.v1');
      assert.equal(pinned.kind, isTold ? 'answer' : 'malformed');
    }
    const bare = answerFields(
      await askName(withMap(dayAt(0)), 'get.msft.stock.public.v1'),
      withMap(null).about,
    );
    assert.deepEqual(bare, { sym: 'MSFT', ...FIELDS, ...YEAR });
  });

  it('has one outcome for every fault of an exchange, and asks nobody', async () => {
    const before = providers.asked.length;
    const outcomes = [];
    for (const label of [
      ...MICS.filter((mic) => mic !== 'XNAS').map((mic) => `aapl-x-${mic.toLowerCase()}`),
      ...[
        'aapl-x-xlon',
        // The ticker itself is impossible (dns finding ambiguous 15).
        'toolongticker-x-xnas',
        'brk-abc-x-xnys',
        'aapl-x-q',
        'aapl-x-xnas-x-xnas',
        'aapl-x-x',
        'aapl-x',
        'msft-x-xnas',
        'brk-b-x-xnas',
      ],
    ]) {
      outcomes.push(await withMap(dayAt(0)).answer([label], NOW));
    }
    outcomes.push(await withMap(dayAt(-121)).answer(['aapl-x-xnas'], NOW));
    outcomes.push(await withMap(null).answer(['aapl-x-xnas'], NOW));
    for (const outcome of outcomes) {
      assert.deepEqual(outcome, outcomes[0]);
      assert.equal(outcome.kind, 'malformed');
      assert.equal(codeOf(outcome), 'E005');
    }
    assert.equal(providers.asked.length, before);
  });

  it('takes tickers, with a class of shares behind a hyphen', async () => {
    const service = withMap(null);
    const table: readonly [string, string][] = [
      ['a', 'A'],
      ['googl', 'GOOGL'],
      ['brk-b', 'BRK.B'],
      ['BRK.B', 'BRK.B'],
      ['bf-a', 'BF.A'],
    ];
    for (const [label, ticker] of table) {
      await service.answer([label], NOW);
      assert.equal(providers.asked.at(-1), `stock ${ticker}`);
    }
    const bad = [[], [''], ['1'], ['toolong1'], ['a-bcd'], ['a-b-c'], ['a b'], ['aapl', 'x'], ['a;b']];
    for (const params of bad)
      assert.equal((await service.answer(params, NOW)).kind, 'malformed', params.join('.'));
  });

  it('is off without a key, but checks an exchange all the same', async () => {
    const off = makeStock({ has: () => false, ask: () => ({ kind: 'off' }) }, () => map(dayAt(0)));
    assert.equal(off.enabled, false);
    assert.equal(codeOf(await off.answer(['aapl'], NOW)), 'E013');
    assert.equal(codeOf(await off.answer(['aapl-x-xnys'], NOW)), 'E005');
  });

  it('sends its key and nothing else of its own', async () => {
    const rig = await openRig();
    try {
      rig.replies.set('twelvedata', sends('{"code":404,"message":"no AAPL","status":"error"}'));
      const service = makeStock(rig.providers, () => null);
      assert.equal(codeOf(await askName(service, 'get.brk-b.stock.public.v1', rig.now)), 'E004');
      rig.replies.set('twelvedata', sends('', 500));
      rig.replies.set('finnhub', sends(fixture('finnhub.json')));
      const outcome = await askName(service, 'get.aapl.stock.public.v1', rig.now);
      const { vol, ...fields } = answerFields(outcome, service.about) as Partial<Record<string, unknown>>;
      assert.deepEqual([vol, fields.prc, fields.opn], [undefined, 148.8, 148.4]);
      assert.deepEqual(
        rig.hits.map(({ source, path }) => `${source} ${path}`),
        [
          'twelvedata /quote?symbol=BRK.B&apikey=hush-hush',
          'twelvedata /quote?symbol=AAPL&apikey=hush-hush',
          'finnhub /quote?symbol=AAPL&token=hush-hush',
        ],
      );
    } finally {
      rig.close();
    }
  });

  it('tells a percentage with at most two decimals, and the time of the quote as the source tells it', async () => {
    const service = makeStock(
      fakeProviders('stock', freshReading({ ...QUOTE, percent: -0.16097 }, NOW)),
      () => null,
    );
    assert.equal(answerFields(await askName(service, 'get.aapl.stock.public.v1'), service.about).pct, -0.16);
    const twelve = jsonOf(fixture('twelvedata.json')) as object;
    const timeOf = (change: object): unknown => {
      const read = parseTwelveData({ ...twelve, ...change });
      return read.kind === 'value' ? read.time : null;
    };
    assert.equal(timeOf({}), 1_767_214_740_000);
    assert.equal(timeOf({ last_quote_at: undefined }), 1_767_191_400_000);
    assert.equal(timeOf({ last_quote_at: undefined, timestamp: 'x' }), undefined);
    const finnhub = parseFinnhub(jsonOf(fixture('finnhub.json')));
    assert.equal(finnhub.kind === 'value' && finnhub.time, 1_767_214_800_000);
  });

  it('distrusts what it is sent', () => {
    const good = jsonOf(fixture('twelvedata.json')) as object;
    const read = parseTwelveData(good);
    assert.ok(read.kind === 'value');
    assert.deepEqual([read.value.change, read.value.yearLow], [-0.239_99, 103.1]);
    const table: readonly [object, string][] = [
      [{ close: '0' }, 'failed'],
      [{ close: 'NaN' }, 'failed'],
      [{ high: null }, 'failed'],
      [{ change: undefined }, 'failed'],
      [{ currency: 'EUR' }, 'missing'],
      [{ volume: 'many' }, 'value'],
      [{ status: 'error', code: 400 }, 'missing'],
      [{ status: 'error', code: 429 }, 'limited'],
      [{ status: 'error', code: 401 }, 'failed'],
    ];
    for (const [change, kind] of table) {
      assert.equal(parseTwelveData({ ...good, ...change }).kind, kind, JSON.stringify(change));
    }
    const finnhub = jsonOf(fixture('finnhub.json')) as object;
    assert.equal(parseFinnhub(finnhub).kind, 'value');
    assert.equal(parseFinnhub({ c: 0, d: null, dp: null, h: 0, l: 0, o: 0, pc: 0, t: 0 }).kind, 'missing');
    assert.equal(parseFinnhub({ ...finnhub, c: 'x' }).kind, 'failed');
  });
});
