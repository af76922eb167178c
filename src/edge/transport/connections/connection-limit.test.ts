import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionGate, GATE_LIMITS, type GateLimits } from './connection-limit.ts';
import { ConnectionTable, createConnectionMemory } from './connection-table.ts';

function gateOf(limits: Partial<GateLimits>): ConnectionGate {
  return new ConnectionGate({ ...GATE_LIMITS, ...limits }, 'stream');
}

test('both sides of both limits', () => {
  const gate = gateOf({ connections: 4, connectionsPerAddress: 2 });
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

test('IPv6 is counted by /64, /56 and /48, each with a limit of its own (security finding 7)', () => {
  const { connectionsPerAddress, connectionsPer56, connectionsPer48 } = GATE_LIMITS;
  const cases: [limit: number, inside: (i: number) => string, other: string][] = [
    [connectionsPerAddress, (i) => `2001:db8:0:101::${i.toString(16)}`, '2001:db8:0:102::1'],
    [
      connectionsPer56,
      (i) => `2001:db8:0:1${(i % 256).toString(16).padStart(2, '0')}::1`,
      '2001:db8:0:200::1',
    ],
    [connectionsPer48, (i) => `2001:db8:0:${i.toString(16)}00::1`, '2001:db8:1::1'],
  ];
  for (const [limit, inside, other] of cases) {
    const gate = gateOf({});
    const leave = Array.from({ length: limit }, (_, i) => {
      assert.equal(gate.check(inside(i % 250)), 'admitted', `${limit}: ${i}`);
      return gate.enter(inside(i % 250));
    });
    assert.equal(gate.check(inside(0)), 'address-full', `${limit}`);
    assert.equal(gate.check(other), 'admitted', other);
    leave[0]!();
    assert.equal(gate.check(inside(0)), 'admitted');
  }
});

test('forms of an address that count as one', () => {
  for (const [one, same] of [
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::6'],
    ['fe80::1%eth0', 'fe80::2%eth1'],
    ['::1', '::'],
  ] as const) {
    const gate = gateOf({ connectionsPerAddress: 1 });
    gate.enter(one);
    assert.equal(gate.check(same), 'address-full', same);
  }
});

test('a limit of 0 for an address is none', () => {
  const gate = gateOf({ connections: 2000, connectionsPerAddress: 0 });
  for (let i = 0; i < 999; i++) gate.enter(i % 2 === 0 ? '127.0.0.1' : '2001:db8::1');
  assert.equal(gate.check('127.0.0.1'), 'admitted');
  assert.equal(gate.check('2001:db8::1'), 'admitted');
});

test('100 connections of an address are one count over TCP, DoT and all workers (dns.md differs 12)', () => {
  const memory = createConnectionMemory(2);
  const tables = [new ConnectionTable(memory, 0), new ConnectionTable(memory, 1)] as const;
  const gates = tables.flatMap((table) => [
    new ConnectionGate(GATE_LIMITS, 'stream', table),
    new ConnectionGate(GATE_LIMITS, 'stream', table),
  ]);
  const leave = Array.from({ length: 100 }, (_, i) => {
    assert.equal(gates[i % 4]!.check('192.0.2.1'), 'admitted');
    return gates[i % 4]!.enter('192.0.2.1');
  });
  for (const gate of gates) assert.equal(gate.check('192.0.2.1'), 'address-full');
  assert.equal(gates[0]!.check('192.0.2.2'), 'admitted');
  const doh = new ConnectionGate(GATE_LIMITS, 'doh', tables[0]);
  assert.equal(doh.check('192.0.2.1'), 'admitted', 'DoH is counted for itself');
  for (const each of leave) each();
  for (const { size } of tables) assert.equal(size, 0, 'every count is given back');
});
