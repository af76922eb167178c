import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DNS_LIMITS, query, sizedReply } from '../../../test/support/dns/fakes.ts';
import { createRateMemory, makeRateLimits } from './rate-limit.ts';

function scene(responses = 5, memory = createRateMemory()) {
  const time = { now: 1_700_000_000_000 };
  return { time, limits: makeRateLimits({ ...DNS_LIMITS, memory, responses, clock: () => time.now }) };
}

const ANSWER = sizedReply(query(1, 'abc'), 100);
const empty = (rcode: number, tc = false): Uint8Array =>
  sizedReply(query(1, 'abc'), 100, { answer: [], rcode, tc });

type Limits = ReturnType<typeof scene>['limits'];

const LETTER = { pass: 'f', slip: 't', drop: '-' } as const;

/** What becomes of so many replies: f whole, t cut down, - dropped. */
function fates(limits: Limits, address: string, reply: Uint8Array, times: number): string {
  return Array.from({ length: times }, () => LETTER[limits.udp.admit(address, reply)]).join('');
}

/** The same for queries without a reply yet. */
function screened(limits: Limits, address: string, times: number): string {
  return Array.from({ length: times }, () => LETTER[limits.udp.screen(address)]).join('');
}

test('so many replies a second are whole, of the rest every second one is cut down', () => {
  const { limits, time } = scene();
  assert.equal(fates(limits, '192.0.2.1', ANSWER, 11), 'fffff-t-t-t');
  time.now += 999;
  assert.equal(fates(limits, '192.0.2.1', ANSWER, 2), '-t');
  time.now += 1;
  assert.equal(fates(limits, '192.0.2.1', ANSWER, 6), 'fffff-');
});

test('a clock that is set back limits no peer for longer than a period, over any transport', () => {
  const { limits, time } = scene();
  const stream = limits.meter('192.0.2.1');
  const spend = (): void => {
    assert.equal(fates(limits, '192.0.2.1', ANSWER, 6), 'fffff-');
    for (let i = 0; i < 1000; i++) assert.equal(stream(), 0);
    assert.ok(stream() <= 1000);
    for (let i = 0; i < 6000; i++) assert.equal(limits.admit('192.0.2.1'), 0);
    const wait = limits.admit('192.0.2.1');
    assert.ok(wait > 0 && wait <= 60);
  };
  spend();
  time.now -= 2 * 3_600_000;
  assert.equal(screened(limits, '192.0.2.1', 1), 'f');
  spend();
});

test('the limits of streams and of HTTPS are those that were set, on both sides', () => {
  const clock = (): number => 1_700_000_000_000;
  const limits = makeRateLimits({
    memory: createRateMemory(),
    responses: 5,
    streamQueries: 3,
    httpsRequests: 2,
    clock,
  });
  const stream = limits.meter('192.0.2.1');
  assert.deepEqual([stream(), stream(), stream(), stream()], [0, 0, 0, 1000]);
  assert.deepEqual(
    [1, 2, 3].map(() => limits.admit('192.0.2.1')),
    [0, 0, 40],
  );
});

test('screening counts nothing while no class is spent, whichever it is', () => {
  for (const reply of [ANSWER, empty(0), empty(5), empty(1)]) {
    const { limits, time } = scene(3);
    assert.equal(screened(limits, '192.0.2.1', 50), 'f'.repeat(50));
    assert.equal(fates(limits, '192.0.2.1', reply, 2), 'ff');
    assert.equal(screened(limits, '192.0.2.1', 50), 'f'.repeat(50));
    assert.equal(fates(limits, '192.0.2.1', reply, 1), 'f', 'the last of the budget');
    assert.equal(screened(limits, '192.0.2.254', 4), '-t-t');
    assert.equal(screened(limits, '192.0.3.1', 1), 'f', 'another network');
    time.now += 1000;
    assert.equal(screened(limits, '192.0.2.1', 1), 'f', 'another second');
  }
});

test('a query is counted once: what screening refused and what was finished share one count', () => {
  const { limits } = scene(2);
  assert.equal(fates(limits, '192.0.2.1', ANSWER, 2), 'ff');
  const both = [
    screened(limits, '192.0.2.1', 1),
    fates(limits, '192.0.2.1', ANSWER, 1),
    screened(limits, '192.0.2.1', 1),
    fates(limits, '192.0.2.1', ANSWER, 1),
  ];
  assert.deepEqual(both, ['-', 't', '-', 't']);
});

test('one class does not use up the share of another', () => {
  const { limits } = scene(2);
  const classes = [ANSWER, empty(0), empty(5), empty(1)];
  for (const reply of classes) assert.equal(fates(limits, '192.0.2.1', reply, 3), 'ff-');
  // SERVFAIL is an error as FORMERR is, a truncated answer an answer: both are the fourth of their class.
  assert.equal(fates(limits, '192.0.2.1', empty(2), 1), 't');
  assert.equal(fates(limits, '192.0.2.1', empty(0, true), 2), 't-');
});

test('a network is an IPv4 /24 or an IPv6 /56', () => {
  for (const [one, same, other] of [
    ['192.0.2.1', '192.0.2.254', '192.0.3.1'],
    ['::ffff:198.51.100.1', '198.51.100.9', '198.51.101.9'],
    ['2001:db8:1:200::1', '2001:db8:1:2ff:1::9', '2001:db8:1:300::1'],
    ['127.0.0.1', '127.0.0.2', '127.0.1.1'],
    ['::1', '::2', '0:0:0:100::1'],
  ] as const) {
    const { limits } = scene(1);
    assert.equal(fates(limits, one, ANSWER, 1), 'f', one);
    assert.equal(fates(limits, same, ANSWER, 1), '-', same);
    assert.equal(fates(limits, other, ANSWER, 1), 'f', other);
  }
});

test('threads that share the memory share the rate', () => {
  const memory = createRateMemory();
  const [one, other] = [scene(4, memory).limits, scene(4, memory).limits];
  assert.equal(fates(one, '192.0.2.1', ANSWER, 3), 'fff');
  assert.equal(fates(other, '192.0.2.1', ANSWER, 2), 'f-');
});

test('1,000 queries a second over all streams of an address, then the wait to the next second', () => {
  const { limits, time } = scene();
  const meters = [limits.meter('192.0.2.1'), limits.meter('192.0.2.1')];
  for (let i = 0; i < 1000; i++) assert.equal(meters[i % 2]!(), 0);
  time.now += 250;
  assert.equal(meters[0]!(), 750);
  assert.equal(meters[1]!(), 750);
  assert.equal(limits.meter('192.0.2.2')(), 0);
  time.now += 749;
  assert.equal(meters[0]!(), 1);
  time.now += 1;
  assert.equal(meters[0]!(), 0);
  const host = limits.meter('2001:db8:0:1::1');
  for (let i = 0; i < 1000; i++) host();
  assert.ok(limits.meter('2001:db8:0:1:ffff::')() > 0, 'the same /64');
  assert.equal(limits.meter('2001:db8:0:2::1')(), 0);
});

test('6,000 HTTPS requests a minute, then the seconds to the next one', () => {
  const { limits, time } = scene();
  time.now = Math.ceil(time.now / 60_000) * 60_000;
  for (let i = 0; i < 6000; i++) assert.equal(limits.admit('192.0.2.1'), 0);
  assert.equal(limits.admit('192.0.2.1'), 60);
  assert.equal(limits.admit('192.0.2.2'), 0);
  time.now += 59_999;
  assert.equal(limits.admit('192.0.2.1'), 1);
  time.now += 1;
  assert.equal(limits.admit('192.0.2.1'), 0);
});

test('streams, HTTPS and UDP are counted apart', () => {
  const { limits } = scene(1);
  fates(limits, '192.0.2.0', ANSWER, 9);
  assert.equal(limits.meter('192.0.2.0')(), 0);
  assert.equal(limits.admit('192.0.2.0'), 0);
});
