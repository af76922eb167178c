import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cachedReply,
  messageOf,
  queryOf,
  START,
  signedNode,
  ZONE,
} from '../../../test/support/dns/query/signed-node.ts';
import type { NameServer } from '../../base/network/address.ts';
import { servedZones } from '../../process/node/settings.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { encodeQuery } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';

const clock = { now: START };

function nodeWith(nameServers: readonly NameServer[]) {
  const settings = { zones: [ZONE], nameServers, mode: 'full', keys: [], clock: () => clock.now } as const;
  return signedNode({ zones: servedZones(settings) }, clock).handler;
}

/** With an IPv4 and two IPv6 addresses each. */
const dualStack = (count: number): readonly NameServer[] =>
  Array.from({ length: count }, (_, i) => ({
    label: `ns${i + 1}`,
    addresses: [`192.0.2.${i + 1}`, `2001:db8::${i + 1}`, `2001:db8:1::${i + 1}`],
  }));

const plain = encodeQuery(nameFromText(ZONE)!, RRTYPE.NS, { id: 7, rd: false, edns: null });
/** The space that a cookie takes in a reply of 512 octets with EDNS. */
const COOKIE_OPTION = 28;

test('the NS of a zone get no TC because optional addresses do not fit: whole rrsets of these are left out', async () => {
  for (const count of [2, 3, 9, 15]) {
    const handler = nodeWith(dualStack(count));
    const first = await handler.slow(plain, 'udp', false);
    // The cache takes a question that comes again.
    await handler.slow(plain, 'udp', false);
    for (const reply of [first, cachedReply(handler, plain)]) {
      const { tc, answer, additional } = messageOf(reply);
      assert.deepEqual([tc, answer.length], [false, count]);
      assert.ok(reply!.length <= 512, `${count}: ${reply!.length}`);
      const owners = additional.map(({ owner, type }) => `${type} ${Buffer.from(owner).toString('latin1')}`);
      for (const owner of owners) {
        assert.equal(owners.filter((one) => one === owner).length, owner.startsWith('28 ') ? 2 : 1, owner);
      }
      if (count <= 3) assert.equal(additional.length, 3 * count);
      else assert.ok(additional.length < 3 * count && (count === 15 || additional.length > 0));
    }
    const withOpt = await handler.slow(queryOf(ZONE, { qtype: RRTYPE.NS, dnssecOk: false }), 'udp', false);
    assert.ok(withOpt!.length + COOKIE_OPTION <= 512, `${count}: ${withOpt!.length}`);
  }
});

test('the NS of a zone get TC where they do not fit themselves', async () => {
  const handler = nodeWith(dualStack(20));
  assert.equal(messageOf(await handler.slow(plain, 'udp', false)).tc, true);
  const { tc, answer } = messageOf(await handler.slow(plain, 'tcp', true));
  assert.deepEqual([tc, answer.length], [false, 20]);
});
