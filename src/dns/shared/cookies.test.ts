import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServerCookies } from './cookies.ts';

const DAY = 86_400;
const CLIENT = '2464c4abcf10c957';
const ADDRESS = '198.51.100.100';
const SECRET = 'e5e973e5a6b2a43f48e7dc849e37bfcf';
const ISSUED = 1_559_731_985;
const COOKIE = `${CLIENT}010000005cf79f111f8130c3eee29480`;

interface Case {
  readonly cookie: string;
  readonly address?: string;
  /** Seconds since the epoch. */
  readonly now: number;
  readonly secretOf?: (day: number) => string;
}

/** Octets of the option, and what comes of them. */
function checkCookie({ cookie, address = ADDRESS, now, secretOf = () => SECRET }: Case) {
  const cookies = new ServerCookies(
    (day) => Buffer.from(secretOf(day), 'hex'),
    () => now * 1000,
  );
  const octets = Buffer.from(cookie, 'hex');
  // The caller keeps the first 24 octets only, and there may be fewer.
  const kept = new Uint8Array(24);
  kept.set(octets.subarray(0, 24));
  const proven = cookies.check(kept, octets.length, address);
  return { proven, response: Buffer.from(cookies.response).toString('hex') };
}

describe('the vectors of RFC 9018, appendix A', () => {
  const table: [name: string, asked: Case, proven: boolean, response: string][] = [
    ['A.1: a new server cookie', { cookie: CLIENT, now: ISSUED }, false, COOKIE],
    [
      'A.2: a renewed one, after 40 minutes',
      { cookie: COOKIE, now: 1_559_734_385 },
      true,
      `${CLIENT}010000005cf7a871d4a564a1442aca77`,
    ],
    [
      // 112 minutes old, which §4.3 no longer accepts; the cookie in the answer is the appendix's.
      'A.3: another client, reserved octets set',
      {
        cookie: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
        address: '203.0.113.203',
        now: 1_559_734_700,
      },
      false,
      'fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e',
    ],
    [
      'A.3: its hash covers the reserved octets as they came',
      {
        cookie: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
        address: '203.0.113.203',
        now: 1_559_727_985 + 60,
      },
      true,
      'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
    ],
    [
      'A.4: IPv6, after the secret was rolled over',
      {
        cookie: '22681ab97d52c298010000005cf7c57926556bd0934c72f8',
        address: '2001:db8:220:1:59de:d0f4:8769:82b8',
        now: 1_559_741_961,
        secretOf: (day) =>
          day === Math.floor(1_559_741_961 / DAY)
            ? '445536bcd2513298075a5d379663c962'
            : 'dd3bdf9344b678b185a6f5cb60fca715',
      },
      true,
      '22681ab97d52c298010000005cf7c609a6bb79d16625507a',
    ],
  ];
  for (const [name, asked, proven, response] of table) {
    test(name, () => assert.deepEqual(checkCookie(asked), { proven, response }));
  }
});

describe('server cookies', () => {
  test('are good for an hour, and five minutes ahead; older than half an hour they are renewed', () => {
    for (const [age, proven, same] of [
      [0, true, true],
      [1800, true, true],
      [1801, true, false],
      [3600, true, false],
      [3601, false, false],
      [-300, true, true],
      [-301, false, false],
      [2 ** 31, false, false],
    ] as const) {
      const got = checkCookie({ cookie: COOKIE, now: ISSUED + age });
      assert.deepEqual([got.proven, got.response === COOKIE], [proven, same], `${age} s`);
      assert.ok(got.response.startsWith(`${CLIENT}01000000`));
      if (!same) assert.equal(Number.parseInt(got.response.slice(24, 32), 16), ISSUED + age);
    }
  });

  test('wrap with the 32 bits of their time', () => {
    const now = 2 ** 32 + 60;
    const { response } = checkCookie({ cookie: CLIENT, now: 2 ** 32 - 60 });
    assert.equal(response.slice(24, 32), 'ffffffc4');
    assert.equal(checkCookie({ cookie: response, now }).proven, true);
    assert.equal(checkCookie({ cookie: response, now: now + 3600 }).proven, false);
  });

  test('any other octet, address, version or length proves nothing, and gets a fresh one', () => {
    for (let at = 0; at < 24; at++) {
      const octets = Buffer.from(COOKIE, 'hex');
      octets[at]! ^= 1;
      assert.equal(checkCookie({ cookie: octets.toString('hex'), now: ISSUED }).proven, false, `octet ${at}`);
    }
    for (const address of ['198.51.100.101', '::198.51.100.100', '2001:db8::1', '']) {
      assert.equal(checkCookie({ cookie: COOKIE, address, now: ISSUED }).proven, false, address);
    }
    for (const cookie of [CLIENT, `${COOKIE}00`, `${COOKIE}${'00'.repeat(16)}`, COOKIE.slice(0, 46)]) {
      assert.deepEqual(checkCookie({ cookie, now: ISSUED }), { proven: false, response: COOKIE });
    }
  });

  test('a client without an address proves nothing, not even with what it was sent', () => {
    const { response } = checkCookie({ cookie: CLIENT, address: '', now: ISSUED });
    assert.equal(checkCookie({ cookie: response, address: '', now: ISSUED }).proven, false);
  });

  test('a mapped address is the IPv4 address it holds', () => {
    assert.equal(checkCookie({ cookie: COOKIE, address: `::ffff:${ADDRESS}`, now: ISSUED }).proven, true);
  });

  test('a secret serves for a day, and for one more day it is accepted', () => {
    const secretOf = (day: number): string => day.toString(16).padStart(32, '0');
    const midnight = 20_000 * DAY;
    let now = midnight - 1;
    const cookies = new ServerCookies(
      (day) => Buffer.from(secretOf(day), 'hex'),
      () => now * 1000,
    );
    const client = Buffer.from(CLIENT, 'hex');
    cookies.check(client, 8, ADDRESS);
    const old = Buffer.from(cookies.response);
    assert.equal(cookies.check(old, 24, ADDRESS), true);
    assert.deepEqual(Buffer.from(cookies.response), old);
    now = midnight;
    assert.equal(cookies.check(old, 24, ADDRESS), true);
    assert.notDeepEqual(Buffer.from(cookies.response), old, 'made with the new secret at once');
    assert.equal(cookies.check(Buffer.from(cookies.response), 24, ADDRESS), true);
    const cookie = Buffer.from(old).toString('hex');
    assert.equal(checkCookie({ cookie, now: midnight, secretOf: (day) => secretOf(day + 1) }).proven, false);
  });
});
