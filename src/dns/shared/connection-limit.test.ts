import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTION_LIMITS, ConnectionLimit, type ConnectionLimits } from './admission.ts';
import { ConnectionTable, createConnectionMemory } from './connection-table.ts';

function limitOf(limits: Partial<ConnectionLimits>): ConnectionLimit {
  return new ConnectionLimit({ ...CONNECTION_LIMITS, ...limits }, 'tcp');
}

test('both sides of both limits', () => {
  const connectionLimit = limitOf({ connections: 4, connectionsPerAddress: 2 });
  const leave = connectionLimit.enter('192.0.2.1');
  assert.equal(connectionLimit.check('192.0.2.1'), 'admitted');
  connectionLimit.enter('192.0.2.1');
  assert.equal(connectionLimit.check('192.0.2.1'), 'address-full');
  assert.equal(connectionLimit.check('::ffff:192.0.2.1'), 'address-full');
  assert.equal(connectionLimit.check('192.0.2.2'), 'admitted');
  connectionLimit.enter('192.0.2.2');
  assert.equal(connectionLimit.crowded, false);
  connectionLimit.enter('192.0.2.3');
  assert.equal(connectionLimit.crowded, true);
  assert.equal(connectionLimit.check('192.0.2.4'), 'full');
  assert.equal(connectionLimit.check('192.0.2.1'), 'address-full');
  leave();
  leave();
  assert.equal(connectionLimit.open, 3);
  assert.equal(connectionLimit.check('192.0.2.1'), 'admitted');
});

test('IPv6 is counted by /64, /56 and /48, each with a limit of its own (security finding 7)', () => {
  const { connectionsPerAddress, connectionsPer56, connectionsPer48 } = CONNECTION_LIMITS;
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
    const connectionLimit = limitOf({});
    const leave = Array.from({ length: limit }, (_, i) => {
      assert.equal(connectionLimit.check(inside(i % 250)), 'admitted', `${limit}: ${i}`);
      return connectionLimit.enter(inside(i % 250));
    });
    assert.equal(connectionLimit.check(inside(0)), 'address-full', `${limit}`);
    assert.equal(connectionLimit.check(other), 'admitted', other);
    leave[0]!();
    assert.equal(connectionLimit.check(inside(0)), 'admitted');
  }
});

test('forms of an address that count as one', () => {
  for (const [one, same] of [
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::6'],
    ['fe80::1%eth0', 'fe80::2%eth1'],
    ['::1', '::'],
  ] as const) {
    const connectionLimit = limitOf({ connectionsPerAddress: 1 });
    connectionLimit.enter(one);
    assert.equal(connectionLimit.check(same), 'address-full', same);
  }
});

test('a limit of 0 for an address is none', () => {
  const connectionLimit = limitOf({ connections: 2000, connectionsPerAddress: 0 });
  for (let i = 0; i < 999; i++) connectionLimit.enter(i % 2 === 0 ? '127.0.0.1' : '2001:db8::1');
  assert.equal(connectionLimit.check('127.0.0.1'), 'admitted');
  assert.equal(connectionLimit.check('2001:db8::1'), 'admitted');
});

test('100 connections of an address are one count over TCP, DoT and all workers (dns.md differs 12)', () => {
  const memory = createConnectionMemory(2);
  const tables = [new ConnectionTable(memory, 0), new ConnectionTable(memory, 1)] as const;
  const connectionLimits = tables.flatMap((table) => [
    new ConnectionLimit(CONNECTION_LIMITS, 'tcp', table),
    new ConnectionLimit(CONNECTION_LIMITS, 'dot', table),
  ]);
  const leave = Array.from({ length: 100 }, (_, i) => {
    assert.equal(connectionLimits[i % 4]!.check('192.0.2.1'), 'admitted');
    return connectionLimits[i % 4]!.enter('192.0.2.1');
  });
  for (const connectionLimit of connectionLimits)
    assert.equal(connectionLimit.check('192.0.2.1'), 'address-full');
  assert.equal(connectionLimits[0]!.check('192.0.2.2'), 'admitted');
  const doh = new ConnectionLimit(CONNECTION_LIMITS, 'doh', tables[0]);
  assert.equal(doh.check('192.0.2.1'), 'admitted', 'DoH is counted for itself');
  for (const each of leave) each();
  for (const { size } of tables) assert.equal(size, 0, 'every count is given back');
});

test('the limit is that of all workers together, for each transport by itself', () => {
  const memory = createConnectionMemory(2);
  const limits = { ...CONNECTION_LIMITS, connections: 4, connectionsPerAddress: 0 };
  const [one, other] = [0, 1].map((worker) => {
    const table = new ConnectionTable(memory, worker);
    return { tcp: new ConnectionLimit(limits, 'tcp', table), dot: new ConnectionLimit(limits, 'dot', table) };
  }) as [{ tcp: ConnectionLimit; dot: ConnectionLimit }, { tcp: ConnectionLimit; dot: ConnectionLimit }];
  const leave = [1, 2, 3].map(() => one.tcp.enter('192.0.2.1'));
  assert.equal(other.tcp.check('192.0.2.1'), 'admitted');
  assert.equal(other.tcp.crowded, false);
  other.tcp.enter('192.0.2.1');
  assert.deepEqual([one.tcp.open, other.tcp.open], [3, 1]);
  for (const { tcp, dot } of [one, other]) {
    assert.equal(tcp.check('192.0.2.1'), 'full');
    assert.equal(tcp.crowded, true);
    assert.equal(dot.check('192.0.2.1'), 'admitted');
  }
  leave[0]!();
  assert.equal(other.tcp.check('192.0.2.1'), 'admitted');
});

test('a worker above its equal share owes a place to one below it that asked, once a request', () => {
  const memory = createConnectionMemory(2);
  const limits = { ...CONNECTION_LIMITS, connections: 4 };
  const [one, other] = [0, 1].map(
    (worker) => new ConnectionLimit(limits, 'dot', new ConnectionTable(memory, worker)),
  ) as [ConnectionLimit, ConnectionLimit];
  for (let i = 0; i < 3; i++) one.enter('192.0.2.1');
  other.enter('192.0.2.1');
  assert.equal(one.owesPlace(), false, 'none asked');
  one.wantPlace();
  assert.equal(one.owesPlace(), false, 'a worker above its share gets none');
  other.wantPlace();
  assert.equal(other.owesPlace(), false, 'a worker below its share owes none');
  assert.equal(one.owesPlace(), true);
  assert.equal(one.owesPlace(), false);
});
