import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  type Asking,
  answerOf,
  cachedReply,
  isSignedBy,
  keysMadeAt,
  messageOf,
  queryOf,
  rrsigsIn,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Transport } from '../../base/network/transport.ts';
import { readEde } from '../../protocol/dns/message/edns.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import type { PublicService } from './operations.ts';
import type { CacheObserver, ReloadableHandler } from './packet.ts';

const BUDGET = LIMITS.signaturesPerSecond;
/** What one namespace can have of it at once. */
const HALF = BUDGET / 2;
const QUEUE = LIMITS.signingQueue;
const SERVFAIL = 2;
const keys = keysMadeAt(START);

describe('the budget of fresh signatures', () => {
  let timers: ManualTimers;
  let handler: ReloadableHandler;
  let counts: Record<string, number>;
  /** Time moves only with the timers, so a second of the budget is exact. */
  const clock = {
    get now() {
      return START + timers.now + ahead;
    },
  };
  let unique = 0;
  /** Milliseconds by which the clock is ahead of the timers, as in a busy event loop. */
  let ahead: number;

  beforeEach(() => {
    timers = createManualTimers();
    counts = {};
    ahead = 0;
    const count = (what: string): void => {
      counts[what] = (counts[what] ?? 0) + 1;
    };
    const observe: CacheObserver = {
      cacheHit: () => count('hit'),
      cacheMiss: () => count('miss'),
      signing: count,
    };
    ({ handler } = signedNode({ zones: zoneOf(keys, clock), observe, timers }, clock));
  });

  /** A question that was not asked before; its reply has one fresh signature, that of its NSEC record. */
  const ask = (
    asking: Asking = {},
    {
      transport = 'udp',
      proven = false,
      share = 0,
    }: { transport?: Transport; proven?: boolean; share?: number } = {},
  ) =>
    handler.slow(queryOf(`x${unique++}.acme.v1.uqrp.net`, { qtype: 1, ...asking }), transport, proven, share);
  const now = (reply: ReturnType<typeof ask>): Message => {
    assert.ok(reply instanceof Uint8Array, 'answered at once');
    return messageOf(reply);
  };
  const spendAll = (): void => {
    // The first reply signs the SOA record as well.
    for (let i = 0; i < HALF - 1; i++) assert.equal(now(ask()).tc, false, `question ${i}`);
  };

  test('above it an unproven source gets TC over UDP, with no signature made', () => {
    spendAll();
    const { tc, rcode, answer, authority } = now(ask());
    assert.deepEqual([tc, rcode, answer, authority], [true, 0, [], []]);
    assert.equal(now(ask({ qtype: 47, dnssecOk: false })).tc, true, 'a question for NSEC without DO');
    assert.deepEqual(counts, { truncated: 2 });
  });

  test('questions without DO, and replies of the packet cache, neither touch it nor are held up by it', () => {
    const cached = queryOf('uqrp.net', { qtype: 6 });
    for (const _ of [1, 2]) void handler.slow(cached, 'udp', false);
    for (let i = 0; i < 2 * BUDGET; i++) assert.equal(now(ask({ dnssecOk: false })).tc, false);
    for (let i = 0; i < BUDGET; i++) now(ask());
    assert.equal(now(ask()).tc, true);
    assert.equal(now(ask({ dnssecOk: false })).tc, false);
    assert.ok(isSignedBy(messageOf(cachedReply(handler, cached)), keys));
    assert.equal(now(ask({ qtype: 252 })).rcode, 5, 'a refusal needs no signature');
  });

  test('signatures from the cache cost nothing', () => {
    const soa = queryOf('uqrp.net', { qtype: 6 });
    for (let i = 0; i < 2 * BUDGET; i++) assert.equal(now(handler.slow(soa, 'udp', false)).tc, false);
    spendAll();
  });

  test('a stream, and a source with a valid cookie, wait for the next refill', async () => {
    spendAll();
    const waiting = [ask({}, { transport: 'tcp', proven: true }), ask({}, { proven: true })];
    for (const reply of waiting) assert.ok(reply instanceof Promise);
    // Other questions come after them, also when the budget is refilled and the timer is late.
    ahead = 4;
    assert.equal(now(ask()).tc, true);
    await timers.advance(10);
    for (const reply of waiting) {
      const message = messageOf(await reply);
      assert.equal(message.tc, false);
      assert.ok(isSignedBy(message, keys));
    }
    assert.deepEqual(counts, { waited: 2, truncated: 1 });
  });

  test('a second later all of it is back, and after a day no more', async () => {
    spendAll();
    for (const ms of [1000, 86_400_000]) {
      await timers.advance(ms);
      for (let i = 0; i < HALF; i++) assert.equal(now(ask()).tc, false);
      assert.equal(now(ask()).tc, true);
    }
  });

  test('what computing costs is taken from it, so that fresh questions of sun and moon wait in shares, too (finding 12 of the second security review)', async () => {
    const computing: PublicService = {
      resource: 'sun',
      work: 2,
      info: () => ({ kind: 'refused', until: 0 }),
      answer: (_query, at) => answerOf('v=svc1', at + 1000),
    };
    ({ handler } = signedNode({ zones: zoneOf(null, clock), timers }, clock, [computing]));
    const sun = (options: { proven?: boolean; share?: number } = {}, qtype = 16) =>
      handler.slow(
        queryOf(`get.p${unique++}.sun.public.v1.uqrp.net`, { dnssecOk: false, qtype }),
        options.proven === true ? 'tcp' : 'udp',
        options.proven ?? false,
        options.share ?? 0,
      );
    for (let i = 0; i < HALF / 2; i++) assert.equal(now(sun()).tc, false, `question ${i}`);
    assert.equal(now(sun()).tc, true);
    assert.equal(now(sun({}, 1)).tc, false, 'another type without DO computes nothing');
    const info = queryOf('info.sun.public.v1.uqrp.net', { dnssecOk: false });
    assert.equal(now(handler.slow(info, 'udp', false)).tc, false);
    const flooding = Array.from({ length: QUEUE }, () => sun({ proven: true, share: 1 }));
    const waiting = sun({ proven: true, share: 2 });
    assert.ok(waiting instanceof Promise);
    await timers.advance(5);
    assert.equal(messageOf(await waiting).answer.length, 1, 'another network does not wait behind the flood');
    await timers.advance((2 * 1000 * QUEUE) / BUDGET + 20);
    for (const one of flooding) assert.notEqual(await one, null);
  });

  test('as many wait as the limit says, in order; one more gets SERVFAIL', async () => {
    spendAll();
    const order: number[] = [];
    const waiting = Array.from({ length: QUEUE }, async (_, i) => {
      const reply = messageOf(await ask({}, { transport: 'tcp', proven: true }));
      order.push(i);
      return reply;
    });
    const refused = now(ask({}, { transport: 'tcp', proven: true }));
    assert.deepEqual([refused.rcode, refused.tc], [SERVFAIL, false]);
    assert.deepEqual(refused.edns?.options.map(readEde), [{ infoCode: 0, text: 'too many answers to sign' }]);
    // A waiting question takes one signature, so half the rate of the budget is released in half a second.
    await timers.advance((1000 * QUEUE) / BUDGET + 20);
    for (const message of await Promise.all(waiting)) assert.equal(rrsigsIn(message.authority).length, 4);
    assert.deepEqual(order, [...Array(QUEUE).keys()]);
    assert.deepEqual(counts, { waited: QUEUE, refused: 1 });
  });

  test('a stream client of another source is answered at the next refill while one source floods the queue', async () => {
    spendAll();
    const [flood, other] = [1, 2].map((share) => ({ transport: 'doh', proven: true, share }) as const);
    const flooding = Array.from({ length: QUEUE }, () => ask({}, flood!));
    assert.equal(now(ask({}, flood!)).rcode, SERVFAIL, 'the queue is full for the source that filled it');
    const waiting = ask({}, other!);
    assert.ok(waiting instanceof Promise, 'not for another one');
    await timers.advance(5);
    const reply = messageOf(await waiting);
    assert.equal(reply.rcode, 0);
    assert.ok(isSignedBy(reply, keys));
    // It took the place of the newest question of the flood, whose reply says so.
    assert.equal(messageOf((await flooding.at(-1)) ?? null).rcode, SERVFAIL);
    await timers.advance((1000 * QUEUE) / BUDGET + 20);
    const rcodes = (await Promise.all(flooding.map(async (late) => messageOf(await late)))).map(
      ({ rcode }) => rcode,
    );
    assert.equal(rcodes.filter((rcode) => rcode === 0).length, QUEUE - 1);
    assert.deepEqual(counts, { waited: QUEUE + 1, refused: 2 });
  });

  test('two sources that flood are answered alternately, and neither holds the whole queue', async () => {
    spendAll();
    const order: number[] = [];
    let refused = 0;
    const replies = [1, 2].flatMap((share) =>
      Array.from({ length: QUEUE }, async () => {
        const { rcode } = messageOf(await ask({}, { transport: 'tcp', proven: true, share }));
        if (rcode === SERVFAIL) refused++;
        else order.push(share);
      }),
    );
    await timers.advance((1000 * QUEUE) / BUDGET + 20);
    await Promise.all(replies);
    assert.equal(order.length + refused, 2 * QUEUE);
    assert.equal(order.length, QUEUE);
    for (let i = 2; i < QUEUE; i++) assert.equal(order[i], order[i - 2], `question ${i}`);
  });

  test('a reload does not fill it, and those that wait are signed by the keys with which they began', async () => {
    spendAll();
    const waiting = ask({}, { transport: 'tcp', proven: true });
    handler.reload(zoneOf(keysMadeAt(START), clock));
    assert.equal(now(ask()).tc, true);
    await timers.advance(10);
    assert.ok(isSignedBy(messageOf(await waiting), keys));
  });
});

test('a clock that is set back gives nothing, and takes nothing away for longer than it was set back', () => {
  const clock = { now: START };
  const { handler } = signedNode({ zones: zoneOf(keys, clock) }, clock);
  const isCut = (i: number): boolean =>
    messageOf(handler.slow(queryOf(`y${i}.acme.v1.uqrp.net`, { qtype: 1 }), 'udp', false) as Uint8Array).tc;
  for (let i = 0; i < BUDGET; i++) isCut(i);
  clock.now -= 3_600_000;
  assert.equal(isCut(-1), true);
  clock.now += 1000;
  assert.equal(isCut(-2), false);
});
