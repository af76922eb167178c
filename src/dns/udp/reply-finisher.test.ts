import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ednsQuery, option, setting, sizedReply } from '../../../test/support/dns/fakes.ts';
import { corpus, mutate, seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { ServerCookies } from '../shared/cookies.ts';
import { ReplyFinisher, UDP_OCTETS } from './replies.ts';

const clock = (): number => 1_700_000_000_000;
const cookies = new ServerCookies(() => new Uint8Array(16), clock);
const PEER = Uint8Array.of(192, 0, 2, 1);
/** Octets of earlier packets in a slot, which must not be read as part of this one. */
const LEFTOVERS = ednsQuery(7, 'leftovers', { options: [option(10, '1112131415161718'), option(12)] });

/** The finished reply to `query[0, length)`. */
function finished(query: Uint8Array, length: number, plain: Uint8Array): string {
  const reply = Buffer.alloc(UDP_OCTETS);
  reply.set(plain);
  const options = { ...setting(), cookies };
  const octets = new ReplyFinisher(options).finish(query, length, PEER, reply, plain.length, 0);
  return reply.toString('hex', 0, octets);
}

test('what follows a query in its slot has no effect', () => {
  const rng = seededRng(3);
  const reply = sizedReply(ednsQuery(1, 'size'), 200);
  const asking = [
    ednsQuery(1, 'size', { options: [option(10, '0102030405060708')] }),
    ednsQuery(1, 'size', { options: [option(10, '0102030405060708'), option(12, '0000')] }),
    ednsQuery(1, 'size'),
  ];
  const seeds = [...corpus(), ...asking];
  let decorated = 0;
  for (let i = 0; i < 20_000; i++) {
    const query = i % 4 === 0 ? asking[i % asking.length]! : mutate(seeds[rng(seeds.length)]!, rng);
    const slot = Buffer.alloc(query.length + LEFTOVERS.length * 2);
    slot.set(query);
    // Now and then as if the earlier packet had been this one, only longer.
    slot.set(i % 2 === 0 ? LEFTOVERS : LEFTOVERS.subarray(Math.min(query.length, 30)), query.length);
    const alone = finished(query, query.length, reply);
    assert.equal(finished(slot, query.length, reply), alone, Buffer.from(query).toString('hex'));
    if (alone.length > reply.length * 2) decorated++;
  }
  assert.ok(decorated > 1000);
});
