import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { formatAddress } from '../base/network/address.ts';
import { CIDR_ABOUT, makeCidr } from './cidr.ts';

const cidr = makeCidr();

async function fields(...params: string[]): Promise<Record<string, unknown>> {
  return answerFields(await cidr.answer(params, NOW), CIDR_ABOUT);
}

test('the first example is answered as described', async () => {
  const outcome = await askName(cidr, CIDR_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), CIDR_ABOUT.exampleResponse);
});

test('networks, from all addresses to one', async () => {
  for (const [label, net, first, last, min, max, n] of [
    ['0-0-0-0-0', '0.0.0.0/0', '0.0.0.0', '255.255.255.255', '0.0.0.1', '255.255.255.254', '4294967296'],
    ['192-0-2-77-28', '192.0.2.64/28', '192.0.2.64', '192.0.2.79', '192.0.2.65', '192.0.2.78', '16'],
    ['192-0-2-77-30', '192.0.2.76/30', '192.0.2.76', '192.0.2.79', '192.0.2.77', '192.0.2.78', '4'],
    ['192-0-2-77-31', '192.0.2.76/31', '192.0.2.76', '192.0.2.77', '192.0.2.76', '192.0.2.77', '2'],
    ['192-0-2-77-32', '192.0.2.77/32', '192.0.2.77', '192.0.2.77', '192.0.2.77', '192.0.2.77', '1'],
    [
      '255-255-255-255-1',
      '128.0.0.0/1',
      '128.0.0.0',
      '255.255.255.255',
      '128.0.0.1',
      '255.255.255.254',
      '2147483648',
    ],
  ] as const) {
    const { mask, ...rest } = await fields(label);
    assert.deepEqual(rest, { net, first, last, min, max, n }, label);
    assert.match(String(mask), /^\d+\.\d+\.\d+\.\d+$/);
  }
  for (const [label, net, last, n] of [
    ['0---0', '::/0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', (2n ** 128n).toString()],
    ['0--1-128', '::1/128', '::1', '1'],
    ['2001-db8---32', '2001:db8::/32', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', (2n ** 96n).toString()],
    ['2001-db8-1-2-3-4-5-6-127', '2001:db8:1:2:3:4:5:6/127', '2001:db8:1:2:3:4:5:7', '2'],
    ['2001-db8--ff-64', '2001:db8::/64', '2001:db8::ffff:ffff:ffff:ffff', (2n ** 64n).toString()],
    ['FE80---10', 'fe80::/10', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', (2n ** 118n).toString()],
  ] as const) {
    const found = await fields(label);
    assert.deepEqual([found.net, found.last, found.n, found.mask], [net, last, n, undefined], label);
    assert.deepEqual([found.min, found.max], [found.first, found.last], label);
  }
  const masks: readonly [string, string][] = [
    ['1-2-3-4-0', '0.0.0.0'],
    ['1-2-3-4-20', '255.255.240.0'],
    ['1-2-3-4-32', '255.255.255.255'],
  ];
  for (const [label, mask] of masks) assert.equal((await fields(label)).mask, mask);
});

test('as they are written, in a b32- or hex- label', async () => {
  const name = (text: string): string => `get.hex-${Buffer.from(text).toString('hex')}.cidr.public.v1`;
  for (const [text, net] of [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['2001:db8::/32', '2001:db8::/32'],
    ['::/0', '::/0'],
  ] as const) {
    assert.equal(answerFields(await askName(cidr, name(text)), CIDR_ABOUT).net, net);
  }
});

test('an address before the network is in it or not', async () => {
  for (const [host, network, wanted] of [
    ['10-0-0-0', '10-0-0-0-8', 'yes'],
    ['10-255-255-255', '10-0-0-0-8', 'yes'],
    ['11-0-0-0', '10-0-0-0-8', 'no'],
    ['9-255-255-255', '10-0-0-0-8', 'no'],
    ['255-255-255-255', '0-0-0-0-0', 'yes'],
    ['2001-db8--1', '2001-db8---32', 'yes'],
    ['2001-db9--', '2001-db8---32', null],
    ['2001-db9--0', '2001-db8---32', 'no'],
    ['0--1', '0---0', 'yes'],
    ['10-0-0-1', '0---0', 'no'],
  ] as const) {
    if (wanted === null) assert.equal((await cidr.answer([host], NOW)).kind, 'malformed');
    else assert.equal((await fields(host, network)).in, wanted, `${host} ${network}`);
  }
});

test('property: agrees with the BlockList of node', async () => {
  const octets = fc.oneof(
    fc.uint8Array({ minLength: 4, maxLength: 4 }),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
  );
  await fc.assert(
    fc.asyncProperty(octets, fc.nat(128), fc.nat(127), async (address, length, flipped) => {
      const width = address.length * 8;
      const prefix = length % (width + 1);
      const other = Uint8Array.from(address);
      other[(flipped % width) >> 3]! ^= 0x80 >> (flipped % 8);
      const family = width === 32 ? 'ipv4' : 'ipv6';
      const list = new BlockList();
      list.addSubnet(formatAddress(address), prefix, family);
      const found = await fields(formatAddress(other), `${formatAddress(address)}/${prefix}`);
      assert.equal(found.in === 'yes', flipped % width >= prefix);
      assert.equal(found.in === 'yes', list.check(formatAddress(other), family));
      assert.equal(found.n, (2n ** BigInt(width - prefix)).toString());
      for (const end of [found.first, found.last]) assert.ok(list.check(String(end), family));
    }),
    { numRuns: 400 },
  );
});

test('what is malformed', async () => {
  for (const params of [
    ...[
      [],
      [''],
      ['10-0-0-0'],
      ['10-0-0-0-33'],
      ['10-0-0-0-08'],
      ['010-0-0-0-8'],
      ['256-0-0-0-8'],
      ['10-0-0-8'],
    ],
    ...[
      ['10-0-0-0-n8'],
      ['10-0-0-0--8'],
      ['10.0.0.0/'],
      ['10.0.0.0/-1'],
      ['2001-db8--1'],
      ['2001-db8---129'],
    ],
    ...[['0--1'], ['g---0'], ['1-2-3-4-5-6-7-8-9-10'], ['fe80--1%eth0/64'], ['me'], ['me', '10-0-0-0-8']],
    ...[
      ['10-0-0-0-8', '10-0-0-0-8'],
      ['10-0-0-1', '10-0-0-1', '10-0-0-0-8'],
      ['10-0-0-0-8', '10-0-0-1'],
    ],
  ]) {
    assert.equal((await cidr.answer(params, NOW)).kind, 'malformed', params.join(' '));
  }
});
