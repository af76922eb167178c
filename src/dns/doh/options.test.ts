import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Ask, DNS, get, withDoh } from '../../../test/support/dns/doh/doh-clients.ts';
import { DNS_LIMITS, ednsQuery, option, optionsOf } from '../../../test/support/dns/fakes.ts';
import { ServerCookies } from '../shared/cookies.ts';
import { createRateMemory, makeRateLimits } from '../shared/rate-limit.ts';

const CLIENT = '0102030405060708';
const clock = (): number => 1_700_000_000_000;
const cookies = new ServerCookies(() => new Uint8Array(16), clock);
const ASKED = { options: [option(11), option(12, '00'), option(10, CLIENT)] };

function posted(label: string, asked = {}): Ask {
  const body = ednsQuery(1, label, asked);
  return { method: 'POST', path: '/dns-query', headers: { 'content-type': DNS }, body };
}

describe('EDNS options and rates', () => {
  for (const version of ['h2', 'http/1.1'] as const) {
    test(`${version}: cookie and padding, no timeout; what is shared stays as it was`, async () => {
      await withDoh({ cookies }, async ({ clients, options }) => {
        for (const [label, octets] of [
          ['hot100', 468],
          ['size100', 468],
          ['size450', 936],
        ] as const) {
          const { status, headers, body } = await clients[version](posted(label, ASKED));
          assert.deepEqual([status, body.length, headers['content-length']], [200, octets, String(octets)]);
          assert.equal(headers['cache-control'], 'max-age=60');
          assert.match(
            optionsOf(body).join(' '),
            new RegExp(`^10:${CLIENT}01000000[0-9a-f]{24} 12:(?:00)+$`),
          );
          const plain = await clients[version](posted(label));
          assert.deepEqual(optionsOf(plain.body), []);
        }
        assert.deepEqual(options.faults, []);
      });
    });
  }

  test('the same cookie is proof over every transport: it is made for the address', async () => {
    await withDoh({ cookies }, async ({ clients }) => {
      const { body } = await clients.h2(posted('hot100', { options: [option(10, CLIENT)] }));
      const cookie = Buffer.from(optionsOf(body)[0]!.slice(3), 'hex');
      assert.equal(cookies.check(cookie, cookie.length, '127.0.0.1'), true);
    });
  });

  test('6,000 requests a minute, and one more', async () => {
    const { admit } = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), clock });
    for (let i = 0; i < 5999; i++) admit('127.0.0.1');
    await withDoh({ admit }, async ({ clients }) => {
      assert.equal((await clients.h2({ path: get('hot') })).status, 200);
      for (const version of ['h2', 'http/1.1'] as const) {
        const { status, headers, body } = await clients[version]({ path: '/resolve?name=hot' });
        assert.deepEqual([status, headers['retry-after']], [429, '40']);
        assert.deepEqual(JSON.parse(body.toString()), { error: 'Rate limit exceeded' });
      }
    });
  });
});
