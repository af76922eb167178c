import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRrsig } from '../../../test/support/dns/dnssec/keys.ts';
import {
  answerOf,
  type Clockwork,
  cachedReply,
  keysMadeAt,
  messageOf,
  queryOf,
  rrsigsIn,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { FOREVER } from '../../protocol/query/outcome.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NAMES = 144;
const service = {
  resource: 'units',
  info: () => ({ kind: 'refused' as const, until: 0 }),
  answer: () => answerOf('1', FOREVER),
};

test('what was signed in one hour leaves the packet cache and is signed again a little at a time', () => {
  const clock: Clockwork = { now: START };
  const { handler } = signedNode({ zones: zoneOf(keysMadeAt(START), clock) }, clock, [service]);
  const queries = Array.from({ length: NAMES }, (_, i) =>
    queryOf(`get.${i}-km-to-mi.units.public.v1.uqrp.net`),
  );
  for (const query of [...queries, ...queries]) void handler.slow(query, 'udp', false);
  const asksOf = (query: Uint8Array): { reply: Uint8Array; isCached: boolean } => {
    const cached = cachedReply(handler, query);
    return { reply: cached ?? (handler.slow(query, 'udp', false) as Uint8Array), isCached: cached !== null };
  };
  const misses: number[] = [];
  for (clock.now = START + 59 * HOUR_MS; clock.now <= START + 72 * HOUR_MS; clock.now += 10 * MINUTE_MS) {
    const asked = queries.map(asksOf);
    misses.push(asked.filter(({ isCached }) => !isCached).length);
    for (const { reply } of asked.slice(0, 10)) {
      const rrsigs = rrsigsIn(messageOf(reply).answer).map(readRrsig);
      assert.equal(rrsigs.length, 2);
      for (const { expiration } of rrsigs) assert.ok(expiration * 1000 - clock.now >= 96 * HOUR_MS);
    }
  }
  assert.ok(
    misses.slice(0, 6).every((count) => count === 0),
    'none before 60 hours are over',
  );
  assert.equal(
    misses.reduce((sum, count) => sum + count, 0),
    NAMES,
  );
  // 72 steps of ten minutes for 144 names: two a step.
  assert.ok(Math.max(...misses) < 12, misses.join(' '));
});
