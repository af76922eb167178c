import assert from 'node:assert/strict';
import { test } from 'node:test';
import packet from 'dns-packet';
import fc from 'fast-check';
import { cacheSeconds } from './answer.ts';

const txt = (ttl: number) => ({ name: 'a.example', type: 'TXT', ttl, data: 'x' });
const soa = (ttl: number, minimum: number) => ({
  name: 'example',
  type: 'SOA',
  ttl,
  data: { mname: 'ns1.example', rname: 'h.example', serial: 1, refresh: 2, retry: 3, expire: 4, minimum },
});
const opt = { name: '.', type: 'OPT', udpPayloadSize: 1232, flags: 0, options: [] };

function reply(answers: unknown[], authorities: unknown[] = [], additionals: unknown[] = []): Buffer {
  return packet.encode({
    type: 'response',
    questions: [{ name: 'a.example', type: 'TXT' }],
    answers,
    authorities,
    additionals,
  });
}

test('a question with a token is not kept, whatever namespace and TTL over DoH', () => {
  const seconds = (name: string): number => {
    const octets = packet.encode({
      type: 'response',
      questions: [{ name, type: 'TXT' }],
      answers: [{ name, type: 'TXT', ttl: 60, data: 'x' }],
    });
    return cacheSeconds(octets);
  };
  for (const name of [
    'get.auth-x.units.public.v1.uqrp.net',
    'get.AuTh-x.shop.v1.uqrp.net',
    'get.auth-.shop.v1.uqrp.net',
    'auth-x',
  ])
    assert.equal(seconds(name), 0, name);
  for (const name of [
    'get.auth.shop.v1.uqrp.net',
    'get.xauth-y.shop.v1.uqrp.net',
    'get.author.shop.v1',
    'auth',
  ])
    assert.equal(seconds(name), 60, name);
});

test('the least TTL of answer and authority', () => {
  const cases: [name: string, reply: Uint8Array, seconds: number][] = [
    ['one record', reply([txt(60)]), 60],
    ['the least of several', reply([txt(60), txt(30), txt(90)]), 30],
    ['private', reply([txt(0)]), 0],
    ['one private record among others', reply([txt(60), txt(0)]), 0],
    ['no data: the SOA TTL', reply([], [soa(60, 3600)]), 60],
    ['no data: the SOA minimum', reply([], [soa(3600, 60)]), 60],
    ['no data: minimum 0', reply([], [soa(3600, 0)]), 0],
    ['answer and authority', reply([txt(20)], [soa(60, 60)]), 20],
    ['the OPT record does not count', reply([txt(60)], [], [opt]), 60],
    ['additional records do not count', reply([txt(60)], [], [txt(1)]), 60],
    ['nothing', reply([]), 0],
    ['nothing but OPT', reply([], [], [opt]), 0],
    ['the largest TTL', reply([txt(2_147_483_647)]), 2_147_483_647],
    ['a TTL with the top bit', reply([txt(2_147_483_648)]), 0],
    ['cut short', reply([txt(60)]).subarray(0, 40), 0],
    ['no header', new Uint8Array(11), 0],
  ];
  for (const [name, octets, seconds] of cases) assert.equal(cacheSeconds(octets), seconds, name);
});

test('any octets give a number of seconds', () => {
  const whole = reply([txt(60), txt(30)], [soa(60, 60)]);
  for (let length = 0; length < whole.length; length++)
    assert.ok(cacheSeconds(whole.subarray(0, length)) >= 0);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => cacheSeconds(octets) >= 0));
});
