import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { fakeProviders, freshReading } from '../../test/support/services/providers/fake-providers.ts';
import { fixture, openRig, sends } from '../../test/support/services/providers/rig.ts';
import { conditionOf, makeForecast } from './forecast.ts';
import type { Place, Places } from './places/place.ts';
import { jsonOf } from './providers/source.ts';
import { makeWeather } from './weather.ts';
import {
  cellKey,
  cellOf,
  currentTime,
  fahrenheit,
  type Meteo,
  parseMetno,
  parseOpenMeteo,
  wmoCode,
} from './weather-sources.ts';

const PARIS: Place = { name: 'Paris', country: 'FR', lat: 48.85341, lon: 2.3488 };
const PLACES: Places = { find: (name) => (name === 'paris' ? PARIS : null) };
const HOUR_MS = 3_600_000;

const METEO: Meteo = {
  celsius: 18.44,
  days: [
    { date: '2026-01-01', high: 7.3, low: -0.04, code: 61, rain: 80 },
    { date: '2026-01-02', high: 0, low: -10.5, code: 0, rain: 0 },
    { date: '2026-01-03', high: 30, low: 20, code: 95, rain: null },
  ],
};

describe('weather and forecast', () => {
  const providers = fakeProviders('meteo', freshReading(METEO, NOW));
  const weather = makeWeather(PLACES, providers);
  const forecast = makeForecast(PLACES, providers);

  it('tell of the grid cell that the place lies in', async () => {
    const table: readonly [string, string][] = [
      ['paris', '489_23'],
      ['48d85_2d35', '489_24'],
      ['48d8501_2d3499', '489_23'],
      ['-33d86_151d2', '-339_1512'],
      ['0_-0d04', '0_0'],
      ['90_-180', '900_1800'],
      ['-90_180', '-900_1800'],
    ];
    for (const [label, key] of table) {
      for (const service of [weather, forecast]) {
        await service.answer([label], NOW);
        assert.equal(providers.asked.at(-1), `meteo ${key}`, label);
      }
    }
    assert.deepEqual(cellOf('-339_1512'), { lat: -33.9, lon: 151.2 });
    assert.equal(cellKey({ lat: -0.01, lon: -179.99 }), '0_1800');
  });

  it('have their fields', async () => {
    const now = await askName(weather, 'get.paris.weather.public.v1');
    assert.deepEqual(answerFields(now, weather.about), { tc: 18.4, tf: 65.2 });
    const days = await askName(forecast, 'get.paris.forecast.public.v1');
    assert.deepEqual(answerFields(days, forecast.about), {
      loc: 'Paris, FR',
      n: 3,
      ...{ d0: '2026-01-01', hc0: 7.3, lc0: 0, hf0: 45.1, lf0: 31.9, wc0: 61, wx0: 'light rain', pp0: 80 },
      ...{ d1: '2026-01-02', hc1: 0, lc1: -10.5, hf1: 32, lf1: 13.1, wc1: 0, wx1: 'clear', pp1: 0 },
      ...{ d2: '2026-01-03', hc2: 30, lc2: 20, hf2: 86, lf2: 68, wc2: 95, wx2: 'thunderstorm' },
    });
    const there = await askName(forecast, 'get.-33d86_151d2.forecast.public.v1');
    assert.equal(answerFields(there, forecast.about).loc, '-33.86_151.2');
  });

  it('reject what is no location, and know no such city', async () => {
    const before = providers.asked.length;
    for (const service of [weather, forecast]) {
      for (const params of [
        [],
        ['me'],
        ['ip-192-0-2-1'],
        ['paris', 'fr'],
        ['91_0'],
        ['0_181'],
        ['1_2_3'],
        ['_'],
      ]) {
        assert.equal((await service.answer(params, NOW)).kind, 'malformed', params.join('.'));
      }
      assert.equal(codeOf(await service.answer(['atlantis'], NOW)), 'E004');
    }
    assert.equal(providers.asked.length, before, 'nobody was asked');
  });

  it('share one call', async () => {
    const rig = await openRig();
    try {
      rig.replies.set('openmeteo', sends(fixture('openmeteo.json')));
      await askName(makeWeather(PLACES, rig.providers), 'get.paris.weather.public.v1', rig.now);
      await askName(makeForecast(PLACES, rig.providers), 'get.paris.forecast.public.v1', rig.now);
      assert.deepEqual(
        rig.hits.map(({ path }) => path),
        [
          '/v1/forecast?latitude=48.9&longitude=2.3&current=temperature_2m' +
            '&daily=weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max' +
            '&forecast_days=3&timezone=auto',
        ],
      );
    } finally {
      rig.close();
    }
  });

  it('converts degrees', () => {
    const table: readonly [number, number][] = [
      [0, 32],
      [-40, -40],
      [100, 212],
      [-17.8, 0],
      [36.6, 97.9],
    ];
    for (const [celsius, expected] of table) assert.equal(fahrenheit(celsius), expected);
  });
});

describe('Open-Meteo', () => {
  const good = jsonOf(fixture('openmeteo.json')) as { current: object; daily: Record<string, unknown[]> };

  it('is read, and distrusted', () => {
    assert.deepEqual(parseOpenMeteo(good), {
      celsius: 4.3,
      days: [
        { date: '2026-01-01', high: 7.2, low: 2.1, code: 61, rain: 80 },
        { date: '2026-01-02', high: 5.9, low: 1.4, code: 3, rain: 0 },
        { date: '2026-01-03', high: -0.4, low: -6.05, code: 71, rain: 35 },
      ],
    });
    const withDaily = (name: string, values: unknown[]): unknown => ({
      ...good,
      daily: { ...good.daily, [name]: values },
    });
    for (const bad of [
      { ...good, current: {} },
      { ...good, current: { temperature_2m: '99;tf=1' } },
      { ...good, current: { temperature_2m: 71 } },
      { ...good, daily: undefined },
      withDaily('time', ['2026-01-01', '2026-01-02']),
      withDaily('time', ['2026-01-01', 'tomorrow;x=1', '2026-01-03']),
      withDaily('weather_code', [0, 100, 0]),
      withDaily('temperature_2m_max', [1, null, 2]),
    ]) {
      assert.equal(parseOpenMeteo(bad), null, JSON.stringify(bad));
    }
    assert.equal(currentTime(good), NOW);
    const tokyo = { current: { time: '2026-01-01T09:15' }, utc_offset_seconds: 32_400 };
    assert.equal(currentTime(tokyo), NOW + 900_000);
    for (const bad of [{}, { ...tokyo, utc_offset_seconds: 'x' }, { ...tokyo, current: { time: 'now' } }]) {
      assert.equal(currentTime(bad), undefined);
    }
    const unsure = parseOpenMeteo(withDaily('precipitation_probability_max', [null, null, null]));
    assert.deepEqual(
      unsure?.days.map(({ rain }) => rain),
      [null, null, null],
    );
  });
});

describe('MET Norway', () => {
  const data = jsonOf(fixture('metno.json'));

  it('is read by days of UTC, and tells the time of its step', () => {
    const found = parseMetno(data, NOW + 0.9 * HOUR_MS);
    assert.equal(found?.time, NOW);
    const london = found.value;
    assert.equal(london.celsius, 0.7);
    assert.deepEqual(
      london.days.map(({ date }) => date),
      ['2026-01-01', '2026-01-02', '2026-01-03'],
    );
    assert.ok(london.days.every(({ high, low }) => high > low));
    const later = parseMetno(data, NOW + 30.9 * HOUR_MS);
    assert.equal(later?.value.days[0]?.date, '2026-01-02');
  });

  it('tells nothing of a day that it does not reach, nor of another year', () => {
    assert.equal(parseMetno(data, NOW + 80 * HOUR_MS), null);
    assert.equal(parseMetno(data, NOW + 9000 * HOUR_MS), null);
    assert.equal(parseMetno(data, NOW - 50 * HOUR_MS), null);
    for (const bad of [
      null,
      {},
      { properties: { timeseries: [] } },
      { properties: { timeseries: [{ time: 7 }] } },
    ]) {
      assert.equal(parseMetno(bad, NOW), null);
    }
  });

  it('has its terms: a name, four decimals at most, nothing before Expires, then If-Modified-Since', async () => {
    const modified = 'Wed, 31 Dec 2025 22:31:09 GMT';
    const rig = await openRig({ endpoints: { openmeteo: null } });
    try {
      const expires = (minutes: number): string => new Date(rig.now + minutes * 60_000).toUTCString();
      rig.replies.set(
        'metno',
        sends(fixture('metno.json'), 200, { expires: expires(31), 'last-modified': modified }),
      );
      const weather = makeWeather(PLACES, rig.providers);
      const ask = async () => await askName(weather, 'get.paris.weather.public.v1', rig.now);
      const first = await ask();
      assert.ok(first.kind === 'answer' && first.stale !== true && first.ttl === 600);
      rig.now += 10 * 60_000;
      const held = await ask();
      assert.ok(held.kind === 'answer' && held.stale === true && held.ttl === 30);
      assert.equal(rig.hits.length, 1, 'nothing before Expires');
      rig.now += 21 * 60_000;
      rig.replies.set('metno', sends('', 304, { expires: expires(30) }));
      const second = await ask();
      assert.ok(second.kind === 'answer' && second.stale !== true && second.ttl === 600);
      assert.match(Buffer.from(second.text).toString(), /;ts=1767225600$/, 'the time of the step');
      assert.deepEqual(
        rig.hits.map(({ path, headers }) => [path, headers['user-agent'], headers['if-modified-since']]),
        [
          ['/weatherapi/locationforecast/2.0/compact?lat=48.9&lon=2.3', 'uqrp (test)', undefined],
          ['/weatherapi/locationforecast/2.0/compact?lat=48.9&lon=2.3', 'uqrp (test)', modified],
        ],
      );
    } finally {
      rig.close();
    }
  });

  it('is read again after an hour and after midnight, also when it has not changed since', async () => {
    const rig = await openRig({ endpoints: { openmeteo: null } });
    try {
      const dated = { 'last-modified': 'Wed, 31 Dec 2025 22:31:09 GMT' };
      const whole = sends(fixture('metno.json'), 200, dated);
      const unchanged = sends('', 304);
      rig.replies.set('metno', (request, response) => {
        (request.headers['if-modified-since'] === undefined ? whole : unchanged)(request, response);
      });
      const forecast = makeForecast(PLACES, rig.providers);
      const ask = async (hours: number): Promise<string | undefined> => {
        rig.now = NOW + hours * HOUR_MS;
        const outcome = await askName(forecast, 'get.paris.forecast.public.v1', rig.now);
        assert.ok(outcome.kind === 'answer' && outcome.stale !== true);
        return /;d0=([^;]*);.*(;ts=.*)$/.exec(Buffer.from(outcome.text).toString())?.slice(1).join('');
      };
      const ts = (hours: number): string => `;ts=${(NOW + hours * HOUR_MS) / 1000}`;
      assert.equal(await ask(22.2), `2026-01-01${ts(22)}`);
      assert.equal(await ask(22.9), `2026-01-01${ts(22)}`);
      assert.equal(await ask(23.3), `2026-01-01${ts(23)}`);
      assert.equal(await ask(24.1), `2026-01-02${ts(24)}`);
      const sent = rig.hits.map(({ headers }) => headers['if-modified-since'] !== undefined);
      assert.deepEqual(sent, [false, true, false, false]);
    } finally {
      rig.close();
    }
  });

  it('has symbols with codes', () => {
    const table: readonly [unknown, number | null][] = [
      ['clearsky_day', 0],
      ['partlycloudy_polartwilight', 2],
      ['fog', 45],
      ['heavyrainshowersandthunder_night', 95],
      ['lightssnowshowersandthunder_day', 95],
      ['lightsleetshowers_day', 83],
      ['lightsnow', 71],
      ['frogs', null],
      ['', null],
      ['toString', null],
      [61, null],
    ];
    for (const [symbol, code] of table) assert.equal(wmoCode(symbol), code, String(symbol));
  });
});

it('has words for each code of the WMO table', () => {
  const table: readonly [number, string][] = [
    [0, 'clear'],
    [1, 'mainly clear'],
    [2, 'partly cloudy'],
    [3, 'overcast'],
    [45, 'fog'],
    [48, 'rime fog'],
    [51, 'light drizzle'],
    [57, 'freezing drizzle'],
    [61, 'light rain'],
    [65, 'heavy rain'],
    [71, 'light snow'],
    [75, 'heavy snow'],
    [77, 'snow grains'],
    [82, 'violent rain showers'],
    [95, 'thunderstorm'],
    [99, 'heavy thunderstorm with hail'],
  ];
  for (const [code, words] of table) assert.equal(conditionOf(code), words, String(code));
  for (let code = 0; code < 100; code++) assert.match(conditionOf(code), /^[a-z ]+$/);
});
