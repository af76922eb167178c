import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { followFlagEvents } from '../openfeature/flag-events.ts';
import { Uqrp } from '../rest/uqrp.ts';
import type { Fetch } from './fetch.ts';
import { pauseMs } from './wait.ts';

const ORIGIN = 'https://uqrp.example.net';

/** Programs that open a stream again for as long as the signal lets them. */
const CLIENTS = {
  'the events of flags': (fetch: Fetch, signal: AbortSignal) =>
    followFlagEvents({ origin: ORIGIN, namespace: 'acme', token: 't', signal, fetch, onChange() {} }),
  'the stream of changes': (fetch: Fetch, signal: AbortSignal) =>
    new Uqrp({ baseUrl: ORIGIN, token: 't', fetch }).changes({ since: 's', signal }).next(),
} as const;
/** `Retry-After`, and the milliseconds after which the next request comes. */
const HEADERS = {
  'of 0 seconds': ['0', 250],
  'of a date that is past': [new Date(0).toUTCString(), 250],
  'of two seconds': ['2', 2000],
  'of 30 days': ['2592000', 300_000],
} as const;

describe('a stream that is refused with a Retry-After', () => {
  for (const [client, open] of Object.entries(CLIENTS)) {
    for (const [name, [value, milliseconds]] of Object.entries(HEADERS)) {
      it(`${name}: ${client} wait at least the backoff and at most five minutes`, async (t) => {
        t.mock.timers.enable({ apis: ['setTimeout'] });
        t.mock.method(Math, 'random', () => 1);
        let requests = 0;
        const fetch: Fetch = async () => {
          requests += 1;
          return new Response('{}', { status: 503, headers: { 'retry-after': value } });
        };
        const ending = new AbortController();
        const following = open(fetch, ending.signal).catch((error: unknown) => error);
        await nextTurn();
        t.mock.timers.tick(milliseconds - 1);
        await nextTurn();
        assert.equal(requests, 1);
        t.mock.timers.tick(1);
        await nextTurn();
        assert.equal(requests, 2);
        ending.abort();
        await following;
      });
    }
  }
});

describe('the wait before the next attempt', () => {
  it('is a random part of an interval that doubles', () => {
    const waits = [1, 2, 3, 6, 20].map((failures) => pauseMs(failures, null, () => 1));
    assert.deepEqual(waits, [250, 500, 1000, 8000, 8000]);
    assert.equal(
      pauseMs(3, null, () => 0.5),
      500,
    );
  });

  it('is what the server asks for, between the backoff and five minutes', () => {
    const waits = [null, 0, 7, 300, 301, 999_999_999].map((retryAfter) => pauseMs(5, retryAfter, () => 1));
    assert.deepEqual(waits, [4000, 4000, 7000, 300_000, 300_000, 300_000]);
  });
});
