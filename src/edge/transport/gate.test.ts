import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkKey } from './address.ts';
import { ConnectionGate } from './gate.ts';

test('limits count by IPv4 address or IPv6 /64', () => {
  const cases: [address: string, key: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '20010db800010002'],
    ['2001:db8:1:2::6', '20010db800010002'],
    ['2001:db8::6', '20010db800000000'],
    ['2001:db8::', '20010db800000000'],
    ['fe80::1%eth0', 'fe80000000000000'],
    ['::1', '0000000000000000'],
    ['::', '0000000000000000'],
    ['1::2:3:4:5:6:7', '0001000000020003'],
  ];
  for (const [address, key] of cases) assert.equal(networkKey(address), key, address);
});

test('both sides of both limits', () => {
  const gate = new ConnectionGate({ connections: 4, connectionsPerAddress: 2 });
  const leave = gate.enter('192.0.2.1');
  assert.equal(gate.check('192.0.2.1'), 'admitted');
  gate.enter('192.0.2.1');
  assert.equal(gate.check('192.0.2.1'), 'address-full');
  assert.equal(gate.check('::ffff:192.0.2.1'), 'address-full');
  assert.equal(gate.check('192.0.2.2'), 'admitted');
  gate.enter('192.0.2.2');
  assert.equal(gate.crowded, false);
  gate.enter('192.0.2.3');
  assert.equal(gate.crowded, true);
  assert.equal(gate.check('192.0.2.4'), 'full');
  assert.equal(gate.check('192.0.2.1'), 'address-full');
  leave();
  leave();
  assert.equal(gate.open, 3);
  assert.equal(gate.check('192.0.2.1'), 'admitted');
});

test('a limit of 0 for an address is none', () => {
  const gate = new ConnectionGate({ connections: 1000, connectionsPerAddress: 0 });
  for (let i = 0; i < 999; i++) gate.enter('127.0.0.1');
  assert.equal(gate.check('127.0.0.1'), 'admitted');
});
