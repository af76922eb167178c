import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EDNS_OPTION, RRTYPE } from '../../src/protocol/dns/codes.ts';
import { readEde } from '../../src/protocol/dns/message/edns.ts';
import type { Message } from '../../src/protocol/dns/message/message.ts';
import { u16At } from '../../src/protocol/dns/octets.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { type Exchange, overTcp, overUdp } from './exchange.ts';
import { decoded, opt, option, query } from './messages.ts';

const NODE = 'probe';
const COOKIE = option(EDNS_OPTION.COOKIE, '0102030405060708');
const NSID = option(EDNS_OPTION.NSID, '');
const KEEPALIVE = option(EDNS_OPTION.KEEPALIVE, '');
const PADDING = option(EDNS_OPTION.PADDING, '00'.repeat(9));
/** 192.0.2.0/24, and the same with bits set after the prefix. */
const SUBNET = option(EDNS_OPTION.ECS, '0001 18 00 c00002');
const BAD_SUBNET = option(EDNS_OPTION.ECS, '0001 ff 00 c00002ff');
const DO = { ttl: '00008000' };
const CO = { ttl: '0000c000' };

/** Octets of the option data by option code. */
function optionsOf(message: Message): Readonly<Record<number, number>> {
  return Object.fromEntries((message.edns?.options ?? []).map(({ code, data }) => [code, data.length]));
}

describe('EDNS', () => {
  let server: Uqrp;
  let udp: Exchange;
  let tcp: Exchange;
  before(async () => {
    server = await startUqrp({ UQRP_NODE: NODE });
    udp = overUdp(server.ports.dns);
    tcp = overTcp(server.ports.dns);
  });
  after(() => server.remove());

  /** Asks twice: the second reply may come from the packet cache. */
  async function ask(exchange: Exchange, packet: Uint8Array): Promise<Message> {
    const once = decoded((await exchange(packet))!);
    const again = decoded((await exchange(packet))!);
    assert.equal(again.rcode, once.rcode);
    assert.deepEqual(optionsOf(again), optionsOf(once));
    return again;
  }

  it('is answered only where it is asked (RFC 6891 section 6.1.1)', async () => {
    assert.equal((await ask(udp, query('uqrp.net', RRTYPE.SOA))).edns, null);
    assert.notEqual((await ask(udp, query('uqrp.net', RRTYPE.SOA, opt()))).edns, null);
  });

  it('gets the options that it asks for, and no other', async () => {
    const cases: readonly (readonly [string, Exchange, string, Readonly<Record<number, number>>])[] = [
      ['none', udp, '', {}],
      ['NSID (RFC 5001)', udp, NSID, { [EDNS_OPTION.NSID]: NODE.length }],
      ['a cookie (RFC 7873)', udp, COOKIE, { [EDNS_OPTION.COOKIE]: 24 }],
      ['keepalive over UDP (RFC 7828 section 3.2.2)', udp, KEEPALIVE, {}],
      ['keepalive over TCP', tcp, KEEPALIVE, { [EDNS_OPTION.KEEPALIVE]: 2 }],
      ['padding where everybody can read (RFC 7830 section 6)', udp, PADDING, {}],
      ['the same over TCP', tcp, PADDING, {}],
      ['a client subnet (RFC 7871 section 7.2.2)', udp, SUBNET, {}],
      ['a malformed client subnet', udp, BAD_SUBNET, {}],
      ['unknown options', udp, option(65001, 'ffff') + option(0, ''), {}],
      ['several', tcp, NSID + COOKIE + KEEPALIVE + SUBNET, { 3: NODE.length, 10: 24, 11: 2 }],
    ];
    for (const [label, exchange, options, expected] of cases) {
      const reply = await ask(exchange, query('uqrp.net', RRTYPE.SOA, opt(options)));
      assert.deepEqual(optionsOf(reply), expected, label);
      assert.equal(reply.rcode, 0, label);
    }
  });

  it('tells the name of the node', async () => {
    const { edns } = await ask(udp, query('uqrp.net', RRTYPE.SOA, opt(NSID)));
    assert.equal(Buffer.from(edns!.options[0]!.data).toString(), NODE);
  });

  it('makes no difference to the answer, subnet or not', async () => {
    const bare = await ask(udp, query('uqrp.net', RRTYPE.SOA, opt()));
    for (const options of [SUBNET, COOKIE, PADDING]) {
      const reply = await ask(udp, query('uqrp.net', RRTYPE.SOA, opt(options)));
      assert.deepEqual(reply.answer, bare.answer);
    }
  });

  it('with DO gets signatures, and DO back (RFC 3225 section 3); every other flag comes back as 0', async () => {
    const cases = [
      ['00000000', 0, false],
      ['00008000', 2, true],
      ['00007fff', 0, false],
      ['0000ffff', 2, true],
    ] as const;
    for (const [ttl, signatures, flag] of cases) {
      const packet = query('uqrp.net', RRTYPE.SOA, opt('', { ttl }));
      const reply = await ask(udp, packet);
      assert.equal(reply.answer.filter(({ type }) => type === RRTYPE.RRSIG).length, signatures, ttl);
      assert.equal(reply.edns?.dnssecOk, flag, ttl);
      const octets = (await udp(packet))!;
      // The last eleven octets are the OPT record, without options.
      assert.equal(u16At(octets, octets.length - 4), flag ? 0x8000 : 0, ttl);
    }
  });

  it('with CO changes nothing: the code stays NOERROR (RFC 9824 section 5.1 leaves it to the server)', async () => {
    const plain = await ask(udp, query('www.uqrp.net', RRTYPE.A, opt('', DO)));
    const compact = await ask(udp, query('www.uqrp.net', RRTYPE.A, opt('', CO)));
    assert.equal(compact.rcode, 0);
    // P-256 signatures are random, so those of two threads differ.
    const proof = (reply: Message) => reply.authority.filter(({ type }) => type !== RRTYPE.RRSIG);
    assert.deepEqual(proof(compact), proof(plain));
    assert.equal(compact.authority.length, plain.authority.length);
  });

  it('without DO, and without EDNS, gets nothing that only validators understand', async () => {
    for (const edns of [null, opt()]) {
      for (const [name, type] of [
        ['uqrp.net', RRTYPE.SOA],
        ['uqrp.net', RRTYPE.DNSKEY],
        ['www.uqrp.net', RRTYPE.A],
      ] as const) {
        const reply = await ask(udp, query(name, type, edns));
        const types = [...reply.answer, ...reply.authority].map((rr) => rr.type);
        assert.ok(!types.includes(RRTYPE.RRSIG) && !types.includes(RRTYPE.NSEC), `${name} ${type}`);
      }
    }
  });

  it('explains errors in static words (RFC 8914)', async () => {
    const cases: readonly (readonly [string, number, number])[] = [
      ['example.com', RRTYPE.A, 20],
      ['get.temp.acme.v1.uqrp.net', RRTYPE.TXT, 18],
      ['uqrp.net', RRTYPE.AXFR, 18],
      ['put.temp.acme.v1.uqrp.net', RRTYPE.TXT, 0],
      ['www.uqrp.net', RRTYPE.NXNAME, 30],
    ];
    for (const [name, type, code] of cases) {
      const reply = await ask(udp, query(name, type, opt()));
      const ede = reply.edns?.options.map(readEde).find((found) => found !== null);
      assert.equal(ede?.infoCode, code, name);
      assert.ok(!ede.text.includes('acme') && !ede.text.includes('uqrp'), ede.text);
      assert.equal((await ask(udp, query(name, type))).edns, null, name);
    }
  });

  it('offers 1,232 octets and never sends more over UDP (RFC 9715)', async () => {
    for (const payload of [0, 511, 512, 1232, 4096, 65535]) {
      const packet = query('uqrp.net', RRTYPE.DNSKEY, opt('', { payload, ...DO }));
      const reply = (await udp(packet))!;
      assert.ok(reply.length <= Math.min(1232, Math.max(512, payload)), `${payload}`);
      assert.equal(decoded(reply).edns?.payload, 1232);
      assert.equal(decoded(reply).tc, false);
    }
  });
});
