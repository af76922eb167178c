import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { query, store, VALID } from '../../../test/support/dns/query/stored-replies.ts';
import { decodeRequest, isRequestFault } from '../../protocol/dns/message/request.ts';
import { PacketCache } from './packet-cache.ts';
import { finishZoneless, refusalBody } from './reply.ts';
import { writeReply } from './write-reply.ts';

const counters = new Map<number, number>();
const out = Buffer.alloc(4096);
const SMALL = { entries: 64, octets: 65_536 };

describe('packet cache', () => {
  let cache: PacketCache;
  const look = (packet: Uint8Array, now = 0, isUdp = true) =>
    cache.lookup(packet, packet.length, isUdp, out, now);

  beforeEach(() => {
    counters.clear();
    cache = new PacketCache((index) => counters.get(index) ?? 0);
    store(cache, query());
  });

  test('a hit carries the id, letters, RD and CD of its own query', () => {
    const asked = query({ name: 'GeT.A.b.V1.uQRP.net', id: 999, rd: false, cd: true });
    const octets = look(asked);
    assert.ok(octets > 0);
    assert.equal(out.readUInt16BE(0), 999);
    assert.equal(out.readUInt16BE(2), 0x8410);
    assert.equal(out.toString('latin1', 12, 12 + 21), Buffer.from(asked).toString('latin1', 12, 12 + 21));
    look(query());
    assert.equal(out.readUInt16BE(2), 0x8500);
  });

  test('it is void from its time on, and by a change of either freshness counter', () => {
    assert.ok(look(query(), 999) > 0);
    assert.equal(look(query(), 1000), 0);
    assert.equal(look(query(), 0), 0, 'what was void is gone');
    for (const stripe of [1, 2]) {
      store(cache, query());
      assert.ok(look(query()) > 0);
      counters.set(stripe, 1);
      assert.equal(look(query()), 0);
      counters.clear();
    }
  });

  test('another type, another name, EDNS and DO are other questions', () => {
    for (const asked of [
      { qtype: 1 },
      { name: 'get.a.c.v1.uqrp.net' },
      { name: 'get.a.b.v1.uqrp.nett' },
      { edns: {} },
      { edns: { dnssecOk: true } },
    ]) {
      assert.equal(look(query(asked)), 0);
    }
    store(cache, query({ edns: {} }));
    assert.ok(look(query({ edns: { payload: 4000 } })) > 0, 'the payload is no part of the question');
    assert.equal(look(query({ edns: { dnssecOk: true } })), 0);
  });

  test('what is out of the ordinary is neither stored nor served', () => {
    const odd: readonly (readonly [string, (packet: Uint8Array) => Uint8Array])[] = [
      ['response', (p) => patched(p, 2, 0x81)],
      ['opcode', (p) => patched(p, 2, 0x29)],
      ['rcode in a query', (p) => patched(p, 3, 0x01)],
      ['two questions', (p) => patched(p, 5, 2)],
      ['an answer', (p) => patched(p, 7, 1)],
      ['trailing octet', (p) => Buffer.concat([p, Buffer.alloc(1)])],
      ['cut short', (p) => p.subarray(0, p.length - 1)],
      ['pointer', (p) => patched(p, 12, 0xc0)],
      ['label of 64', (p) => patched(p, 12, 64)],
      ['empty', () => new Uint8Array(0)],
      ['header alone', (p) => p.subarray(0, 12)],
    ];
    for (const [what, change] of odd) assert.equal(look(change(query())), 0, what);
    store(cache, query({ edns: {} }));
    assert.equal(look(query({ edns: { version: 1 } })), 0);
  });

  test('options that do not change the answer find it; those that do, or are malformed, take the slow way', () => {
    const option = (code: number, octets: number) => ({ code, data: new Uint8Array(octets) });
    const table: [name: string, options: { code: number; data: Uint8Array }[], found: boolean][] = [
      ['a client cookie', [option(10, 8)], true],
      ['a full cookie', [option(10, 24)], true],
      ['the longest cookie', [option(10, 40)], true],
      ...[0, 7, 9, 15, 41].map((n): (typeof table)[number] => [`a cookie of ${n}`, [option(10, n)], false]),
      ['a second cookie, which does not count', [option(10, 8), option(10, 3)], true],
      ['a second cookie after a bad one', [option(10, 3), option(10, 8)], false],
      ['keepalive', [option(11, 0)], true],
      ['padding', [option(12, 100)], true],
      ['client subnet', [option(8, 7)], true],
      ['unknown codes', [option(65_001, 5), option(4, 0)], true],
      ['NSID', [option(3, 0)], false],
      ['NSID after others', [option(10, 8), option(12, 3), option(3, 0)], false],
      ['padding to 1,232 octets', [option(12, 1232 - query({ edns: {} }).length - 4)], true],
      ['padding to 1,233', [option(12, 1233 - query({ edns: {} }).length - 4)], false],
    ];
    store(cache, query({ edns: {} }));
    const plain = look(query({ edns: {} }));
    for (const [name, options, found] of table) {
      assert.equal(look(query({ edns: { options } })), found ? plain : 0, name);
    }
    const asked = query({ edns: { options: [option(10, 8)] } });
    const lengthAt = asked.length - 14;
    for (const [name, packet] of [
      ['an option that goes beyond the record', patched(asked, asked.length - 9, 9)],
      ['one that ends before it', patched(asked, asked.length - 9, 7)],
      ['half an option header', patched(asked.subarray(0, asked.length - 9), lengthAt + 1, 3)],
      ['a record that goes beyond the message', patched(asked, lengthAt + 1, 13)],
      ['one that ends before it', patched(asked, lengthAt + 1, 11)],
    ] as const) {
      assert.equal(look(packet), 0, name);
    }
    assert.equal(look(asked), plain);
  });

  test('what it stores under a cookie it serves without, and the other way round', () => {
    const name = 'get.cookie.b.v1.uqrp.net';
    const options = [{ code: 10, data: new Uint8Array(8) }];
    store(cache, query({ name, edns: { options } }));
    assert.ok(look(query({ name, edns: {} })) > 0);
    assert.equal(look(query({ name })), 0);
    assert.equal(look(query({ name, edns: { dnssecOk: true, options } })), 0);
  });

  test('it knows no request that the decoder refuses, or reads another way', () => {
    const option = fc.record({
      code: fc.constantFrom(3, 8, 10, 11, 12, 65_001),
      data: fc.oneof(
        fc.constantFrom(0, 8, 24).map((octets) => new Uint8Array(octets)),
        fc.uint8Array({ maxLength: 45 }),
      ),
    });
    const harm = fc.option(
      fc.record({ back: fc.nat(60), octet: fc.integer({ min: 0, max: 255 }), cut: fc.nat(3) }),
    );
    const asks = fc.array(option, { maxLength: 4 });
    let hits = 0;
    fc.assert(
      fc.property(asks, fc.boolean(), harm, (options, dnssecOk, damage) => {
        let packet = query({ edns: { options, dnssecOk } });
        if (damage !== null) {
          packet = patched(packet, packet.length - 1 - (damage.back % packet.length), damage.octet);
          packet = packet.subarray(0, packet.length - damage.cut);
        }
        cache = new PacketCache(() => 0, SMALL);
        store(cache, query({ edns: { dnssecOk } }));
        if (look(packet) === 0) return;
        hits++;
        const request = decodeRequest(packet, packet.length);
        assert.ok(request !== null && !isRequestFault(request) && request.edns !== null);
        assert.equal(request.qnameLower, 'get.a.b.v1.uqrp.net');
        assert.equal(request.edns.dnssecOk, dnssecOk);
        assert.equal(
          request.edns.options.some(({ code }) => code === 3),
          false,
        );
      }),
      { numRuns: 400 },
    );
    assert.ok(hits > 20, `${hits}`);
  });

  test('a UDP client whose payload is too small gets it cut down, a stream gets it whole', () => {
    const asked = query({ edns: { payload: 512 } });
    store(cache, asked, 600);
    const whole = look(asked, 0, false);
    assert.ok(whole > 600);
    assert.equal(out.readUInt16BE(6), 1);
    const short = look(asked);
    assert.equal(short, 12 + 21 + 4 + 11);
    assert.deepEqual(
      [out.readUInt16BE(2) & 0x0200, out.readUInt16BE(6), out.readUInt16BE(10)],
      [0x0200, 0, 1],
    );
    assert.ok(look(query({ edns: { payload: 1232 } })) > 600);
    const bare = query();
    store(cache, bare, 600);
    assert.equal(look(bare), 12 + 21 + 4, 'without EDNS 512 octets fit');
    assert.equal(out.readUInt16BE(10), 0);
  });

  test('names that agree but for an octet, a label or their end are different questions', () => {
    for (const name of [
      'get.a.b.v1.uqrp.ne',
      'get.a.b.v1.uqrp.net.net',
      'get.a.c.v1.uqrp.net',
      'a.b.v1.uqrp.net',
    ]) {
      assert.equal(look(query({ name })), 0, name);
    }
    for (const asked of [query({ qtype: 1 }), query({ edns: {} }), query({ edns: { dnssecOk: true } })]) {
      assert.equal(look(asked), 0);
    }
  });

  test('a question seen once is not kept', () => {
    const asked = query({ name: 'get.once.b.v1.uqrp.net' });
    const size = cache.size;
    const request = decodeRequest(asked, asked.length);
    assert.ok(request !== null && !isRequestFault(request));
    const reply = writeReply(request, finishZoneless(refusalBody('outside')));
    cache.store(asked, asked.length, reply, VALID);
    assert.equal(look(asked), 0);
    assert.equal(cache.size, size);
    cache.store(asked, asked.length, reply, VALID);
    assert.ok(look(asked) > 0);
  });

  test('a reply that is never to be remembered is not', () => {
    const asked = query({ name: 'get.x.b.v1.uqrp.net' });
    store(cache, asked, 10, { ...VALID, until: 0 });
    assert.equal(look(asked, -1), 0);
  });
});

function patched(packet: Uint8Array, at: number, octet: number): Uint8Array {
  const copy = Uint8Array.from(packet);
  copy[at] = octet;
  return copy;
}
