import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRrsig } from '../../../test/support/dns/dnssec/keys.ts';
import {
  answerOf,
  type Clockwork,
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
import type { Message } from '../../protocol/dns/message/message.ts';
import { FOREVER } from '../../protocol/query/outcome.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOON = START + 12 * HOUR_MS;
const keys = keysMadeAt(START);
const service = {
  resource: 'units',
  info: () => ({ kind: 'refused' as const, until: 0 }),
  answer: () => answerOf('1', FOREVER),
};
/** An answer, a denial at a public name, one at a private name, and records of the zone. */
const QUESTIONS: readonly (readonly [name: string, qtype: number])[] = [
  ['get.1.units.public.v1.uqrp.net', 16],
  ['get.1.units.public.v1.uqrp.net', 1],
  ['get.temp.acme.v1.uqrp.net', 1],
  ['uqrp.net', 6],
  ['uqrp.net', 48],
  ['uqrp.net', 46],
];

function assertValidAt(now: number, message: Message, label: string): void {
  const rrsigs = [...rrsigsIn(message.answer), ...rrsigsIn(message.authority)].map(readRrsig);
  assert.ok(rrsigs.length >= 2, label);
  for (const { inception, expiration } of rrsigs) {
    assert.ok(inception * 1000 <= now, `${label}: inception ${inception * 1000 - now} ms in the future`);
    assert.ok(expiration * 1000 > now + DAY_MS, `${label}: more than a day of validity is left`);
  }
}

for (const [step, what] of [
  [-2 * HOUR_MS, 'a clock set back by 2 hours'],
  [-13 * HOUR_MS, 'a clock set back by 13 hours'],
  [-1, 'a clock set back by a millisecond'],
  [2 * HOUR_MS, 'a clock set forward by 2 hours'],
  [13 * HOUR_MS, 'a clock set forward by 13 hours'],
  [20 * DAY_MS, 'a clock set forward by 20 days'],
] as const) {
  test(`${what}: no signature from the future or the past is served, from neither cache`, () => {
    const clock: Clockwork = { now: NOON };
    const { handler } = signedNode({ zones: zoneOf(keys, clock) }, clock, [service]);
    const ask = (query: Uint8Array): Message =>
      messageOf(cachedReply(handler, query) ?? (handler.slow(query, 'udp', false) as Uint8Array));
    const askAll = (): void => {
      for (const [name, qtype] of QUESTIONS) {
        const label = `${name} ${qtype}`;
        const message = ask(queryOf(name, { qtype }));
        assertValidAt(clock.now, message, label);
        if (qtype !== 46) assert.ok(isSignedBy(message, keys), label);
      }
    };
    // Three times: noted, stored in both caches, served.
    for (const _ of [1, 2, 3]) askAll();
    assert.notEqual(cachedReply(handler, queryOf(QUESTIONS[0]![0])), null);
    clock.now = NOON + step;
    askAll();
    // Back again: what was made in between is as good as its times say.
    for (const _ of [1, 2]) askAll();
    clock.now = NOON;
    askAll();
  });
}

test('a reply is not served from the cache before the time at which it was made', () => {
  const clock: Clockwork = { now: NOON };
  const { handler } = signedNode({ zones: zoneOf(null, clock) }, clock, [service]);
  const query = queryOf(QUESTIONS[0]![0]);
  for (const _ of [1, 2]) void handler.slow(query, 'udp', false);
  assert.notEqual(cachedReply(handler, query), null);
  clock.now = NOON - 1;
  assert.equal(cachedReply(handler, query), null);
  void handler.slow(query, 'udp', false);
  assert.notEqual(cachedReply(handler, query), null, 'it is cached again at once');
});
