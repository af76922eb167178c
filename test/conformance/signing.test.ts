import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makePacketHandler } from '../../src/dns/query/packet.ts';
import { makeZone, signedZone } from '../../src/dns/query/zones.ts';
import { RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { readEde } from '../../src/protocol/dns/message/edns.ts';
import { createFreshness } from '../../src/view/freshness.ts';
import { createMemoryView } from '../support/view/memory-view.ts';
import { decoded, opt, query } from './messages.ts';

const servers = ['ns1', 'ns2'].map((label) => ({ label, addresses: ['192.0.2.1'] }));
const DO = { ttl: '00008000' };

it('what cannot be signed is a failure, never an unsigned answer', async () => {
  const handler = makePacketHandler({
    view: createMemoryView(),
    access: { sync: true, demo: true },
    services: new Map(),
    zones: [
      signedZone(makeZone('uqrp.net', servers), {
        sign() {
          throw new Error('get.hello.playground.v1');
        },
        nsec: () => new Uint8Array(3),
      }),
    ],
    identity: 'test-node',
    freshness: createFreshness(),
    clock: () => Date.UTC(2026, 0, 1),
  });
  const cases: readonly (readonly [name: string, type: number, signed: string, unsigned: string])[] = [
    ['uqrp.net', RRTYPE.SOA, 'SERVFAIL', 'NOERROR'],
    ['get.hello.playground.v1.uqrp.net', RRTYPE.TXT, 'SERVFAIL', 'NOERROR'],
    ['get.none.playground.v1.uqrp.net', RRTYPE.TXT, 'SERVFAIL', 'NOERROR'],
    ['get.hello.playground.v1.uqrp.net', RRTYPE.A, 'SERVFAIL', 'NOERROR'],
    ['get.hello.playground.v1.uqrp.net', RRTYPE.ANY, 'SERVFAIL', 'NOERROR'],
    ['www.uqrp.net', RRTYPE.A, 'SERVFAIL', 'NOERROR'],
    // The answer is a signature, with or without DO.
    ['www.uqrp.net', RRTYPE.RRSIG, 'SERVFAIL', 'SERVFAIL'],
    ['uqrp.net', RRTYPE.RRSIG, 'SERVFAIL', 'SERVFAIL'],
    // The reply has no rrset to sign.
    ['get.temp.acme.v1.uqrp.net', RRTYPE.TXT, 'REFUSED', 'REFUSED'],
    ['put.temp.acme.v1.uqrp.net', RRTYPE.TXT, 'FORMERR', 'FORMERR'],
  ];
  for (const [name, type, signed, unsigned] of cases) {
    for (const [edns, expected] of [
      [opt('', DO), signed],
      [opt(), unsigned],
    ] as const) {
      const reply = decoded((await handler.slow(query(name, type, edns), 'udp', false))!);
      assert.equal(rcodeName(reply.rcode), expected, `${name} ${type}`);
      if (expected !== 'SERVFAIL') continue;
      assert.deepEqual([reply.answer, reply.authority, reply.aa], [[], [], false]);
      const ede = reply.edns?.options.map(readEde).find((found) => found !== null);
      assert.deepEqual(ede, { infoCode: 0, text: 'signing failure' });
    }
  }
});
