import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { askName, checkDescription, validFields } from '../../../test/support/services/check-service.ts';
import {
  ENDLESS,
  FAULTS,
  fixture,
  openRig,
  type Rig,
  sends,
} from '../../../test/support/services/providers/rig.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { makeCrypto } from '../crypto.ts';
import { makeForecast } from '../forecast.ts';
import { makeForex } from '../forex.ts';
import type { Place, Places } from '../places/place.ts';
import type { Service } from '../service.ts';
import { makeStock } from '../stock.ts';
import { makeWeather } from '../weather.ts';
import type { SourceName } from './source.ts';

const LONDON: Place = { name: 'London', country: 'GB', lat: 51.50853, lon: -0.12574 };
const PLACES: Places = { find: (name) => (name.toLowerCase() === 'london' ? LONDON : null) };

/** One row a service: its query, its sources in their order with what they send, and how long a value lasts. */
interface Row {
  readonly make: (rig: Rig) => Service;
  readonly query: string;
  readonly first: SourceName;
  readonly second: SourceName;
  readonly good: readonly [string, string];
  /** A field whose value tells which source it came from. */
  readonly tells: readonly [field: string, first: number, second: number];
  readonly ttl: number;
  /** The time that the first source tells, seconds; without it that of the fetch. */
  readonly ts?: number;
}

const ROWS: readonly Row[] = [
  {
    make: ({ providers }) => makeWeather(PLACES, providers),
    query: 'get.london.weather.public.v1',
    first: 'openmeteo',
    second: 'metno',
    good: ['openmeteo.json', 'metno.json'],
    tells: ['tc', 4.3, 0.7],
    ttl: 600,
  },
  {
    make: ({ providers }) => makeForecast(PLACES, providers),
    query: 'get.london.forecast.public.v1',
    first: 'openmeteo',
    second: 'metno',
    good: ['openmeteo.json', 'metno.json'],
    tells: ['lc2', -6.0, -3.3],
    ttl: 600,
  },
  {
    make: ({ providers }) => makeForex(providers),
    query: 'get.usd-eur.forex.public.v1',
    first: 'frankfurter',
    second: 'ecb',
    good: ['frankfurter.json', 'ecb.xml'],
    tells: ['rate', 0.8739, 0.874126],
    ttl: 900,
  },
  {
    make: ({ providers }) => makeCrypto(providers),
    query: 'get.btc.crypto.public.v1',
    first: 'coinbase',
    second: 'kraken',
    good: ['coinbase.json', 'kraken.json'],
    tells: ['prc', 63_123.45, 63_120],
    ttl: 30,
  },
  {
    make: ({ providers }) => makeStock(providers, () => null),
    query: 'get.aapl.stock.public.v1',
    first: 'twelvedata',
    second: 'finnhub',
    good: ['twelvedata.json', 'finnhub.json'],
    tells: ['prc', 148.85, 148.8],
    ttl: 30,
    ts: 1_767_214_740,
  },
];

const textOf = (outcome: Outcome): string =>
  'text' in outcome && outcome.text !== undefined ? Buffer.from(outcome.text).toString('latin1') : '';

async function withRig(
  run: (rig: Rig) => Promise<void>,
  ...options: Parameters<typeof openRig>
): Promise<void> {
  const rig = await openRig(...options);
  try {
    await run(rig);
  } finally {
    rig.close();
  }
}

/** The field that tells the source, from an answer that validates. */
function told({ tells: [field] }: Row, service: Service, outcome: Outcome): unknown {
  assert.equal(outcome.kind, 'answer', textOf(outcome));
  return validFields(textOf(outcome), service.about.schema)[field];
}

function serveGood({ first, second, good }: Row, { replies }: Rig): void {
  replies.set(first, sends(fixture(good[0])));
  replies.set(second, sends(fixture(good[1])));
}

/** The fault at the first source, then at both with a value kept, then at both with none. */
async function meets(row: Row, fault: string, reply: RequestListener, deadlineMs?: number): Promise<void> {
  const { make, query, first, second, ttl } = row;
  const [, , ofSecond] = row.tells;
  const options = deadlineMs === undefined ? {} : { deadlineMs };
  await withRig(async (rig) => {
    const service = make(rig);
    serveGood(row, rig);
    rig.replies.set(first, unless(first, fault, reply));
    assert.equal(told(row, service, await askName(service, query, rig.now)), ofSecond);
    rig.replies.set(second, unless(second, fault, reply));
    rig.now += ttl * 2000;
    const stale = await askName(service, query, rig.now);
    assert.equal(told(row, service, stale), ofSecond);
    assert.ok(stale.kind === 'answer' && stale.stale === true && stale.ttl === 30);
  }, options);
  await withRig(async (rig) => {
    const service = make(rig);
    for (const source of [first, second]) rig.replies.set(source, unless(source, fault, reply));
    const outcome = await askName(service, query, rig.now);
    assert.deepEqual([outcome.kind, 'cause' in outcome && outcome.cause], ['failed', 'provider']);
    assert.match(textOf(outcome), /^v=svc1;s=error;t=error;code=E009;/);
  }, options);
}

for (const row of ROWS) {
  const { make, query, first, second, good, tells, ttl, ts } = row;
  const [, ofFirst, ofSecond] = tells;

  describe(query, () => {
    it('is described, and answers from the first source alone', async () => {
      await withRig(async (rig) => {
        const service = make(rig);
        checkDescription(service);
        serveGood(row, rig);
        const outcome = await askName(service, query, rig.now);
        assert.equal(told(row, service, outcome), ofFirst);
        assert.ok(outcome.kind === 'answer' && outcome.stale !== true);
        assert.equal(outcome.ttl, ttl);
        assert.match(textOf(outcome), new RegExp(`;ts=${ts ?? rig.now / 1000}$`));
        assert.deepEqual(
          rig.hits.map(({ source }) => source),
          [first],
        );
        assert.ok(!(service.answer([query.split('.')[1]!], rig.now) instanceof Promise), 'then at once');
      });
    });

    it('has a TTL that falls with the age of the value, 5 seconds at least, then 30 and the mark of a stale answer', async () => {
      await withRig(async (rig) => {
        const service = make(rig);
        serveGood(row, rig);
        const fetchedAt = rig.now;
        const ask = async () => {
          const outcome = await askName(service, query, rig.now);
          assert.ok(outcome.kind === 'answer');
          return outcome;
        };
        const step = Math.max(1, Math.floor(ttl / 120));
        await ask();
        for (const second of [step, ttl / 2, ttl - 6, ttl - 1, ttl - 0.001]) {
          rig.now = fetchedAt + second * 1000;
          const { ttl: told, until, stale } = await ask();
          const left = ttl - second;
          assert.ok(told >= Math.max(5, left) && told < Math.max(5.001, left + step), `${second} s: ${told}`);
          assert.ok(until > rig.now && until <= Math.min(rig.now + step * 1000, fetchedAt + ttl * 1000));
          assert.equal(stale, undefined);
        }
        for (const source of [first, second]) rig.replies.set(source, sends('', 500));
        for (const second of [ttl, ttl * 1.5, ttl * 2.5]) {
          rig.now = fetchedAt + second * 1000;
          const { ttl: told, until, stale } = await ask();
          assert.deepEqual([told, stale], [30, true], `${second} s`);
          assert.ok(until <= rig.now + 5000);
        }
      });
    });

    for (const [fault, reply] of Object.entries(FAULTS)) {
      it(`meets ${fault}: the second source, then what it had, then SERVFAIL`, () =>
        meets(row, fault, reply));
    }

    it('meets 429: the second source, then E010 with the time that the provider named', async () => {
      await withRig(async (rig) => {
        const service = make(rig);
        serveGood(row, rig);
        rig.replies.set(first, sends('', 429, { 'retry-after': '40' }));
        assert.equal(told(row, service, await askName(service, query, rig.now)), ofSecond);
      });
      await withRig(async (rig) => {
        const service = make(rig);
        const until = new Date(rig.now + 50_000).toUTCString();
        rig.replies.set(first, sends('', 429, { 'retry-after': '40' }));
        rig.replies.set(second, sends('', 429, { 'retry-after': until }));
        for (let i = 0; i < 3; i++) {
          const outcome = await askName(service, query, rig.now);
          assert.match(textOf(outcome), /^v=svc1;s=ratelimit;t=error;code=E010;.*;retry_after=40$/);
          assert.ok(outcome.kind === 'answer' && outcome.ttl === 0);
        }
        assert.equal(rig.hits.length, 2, 'neither was asked again');
      });
    });

    it('meets names that cannot be resolved', async () => {
      const base = 'http://provider.invalid';
      const keyed = { base, key: 'k' };
      const endpoints = {
        [first]: keyedName(first) ? keyed : base,
        [second]: keyedName(second) ? keyed : base,
      };
      await withRig(
        async (rig) => {
          const outcome = await askName(make(rig), query, rig.now);
          assert.match(textOf(outcome), /code=E009/);
          assert.equal(rig.hits.length, 0);
        },
        { endpoints },
      );
    });

    it('does not wait for a source that takes its time: E011, and the next asker has it', async () => {
      let release = (): void => {};
      const gate = new Promise<void>((resolve) => (release = resolve));
      await withRig(
        async (rig) => {
          const service = make(rig);
          rig.replies.set(
            first,
            (request, response) => void gate.then(() => sends(fixture(good[0]))(request, response)),
          );
          const outcome = await askName(service, query, rig.now);
          assert.match(textOf(outcome), /^v=svc1;s=error;t=error;code=E011;/);
          assert.ok(
            outcome.kind === 'answer' && outcome.ttl === 0 && outcome.until <= rig.now,
            'kept by nobody',
          );
          release();
          const label = [query.split('.')[1]!];
          while (service.answer(label, rig.now) instanceof Promise) await new Promise(setImmediate);
          assert.equal(told(row, service, await askName(service, query, rig.now)), ofFirst);
          assert.equal(rig.hits.length, 1);
        },
        { patienceMs: 5, deadlineMs: 30_000 },
      );
    });

    it('is off without sources', async () => {
      const endpoints = { [first]: null, [second]: null };
      await withRig(
        async (rig) => {
          const service = make(rig);
          assert.equal(service.enabled, false);
          assert.match(textOf(await askName(service, query, rig.now)), /code=E013/);
        },
        { endpoints },
      );
    });
  });
}

const keyedName = (source: SourceName): boolean => source === 'twelvedata' || source === 'finnhub';

/** A fault that is none for a source is another for it: Twelve Data says with 400 that it knows no such symbol. */
function unless(source: SourceName, fault: string, reply: RequestListener): RequestListener {
  return source === 'twelvedata' && fault === 'status 400' ? FAULTS['status 500']! : reply;
}

describe('sources that never end', { concurrency: 10 }, () => {
  for (const row of ROWS) {
    for (const [fault, reply] of Object.entries(ENDLESS)) {
      it(`${row.query} meets ${fault}`, () => meets(row, fault, reply, 300));
    }
  }
});
