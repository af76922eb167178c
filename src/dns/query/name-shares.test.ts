import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { queryOf, START, signedNode, zoneOf } from '../../../test/support/dns/query/signed-node.ts';
import { fnvStep } from '../../base/hashes.ts';
import { queryTokenDigest, spellQueryToken } from '../../protocol/query/query-token.ts';
import type { PacketHandler } from '../shared/handler.ts';
import { NAME_SHARES } from './name-shares.ts';
import type { PublicService } from './operations.ts';

const TOKEN = spellQueryToken(Buffer.alloc(32, 'one'));
const WRONG = spellQueryToken(Buffer.alloc(32, 'wrong'));
const A = 1;

const service = (resource: string): PublicService => ({
  resource,
  info: () => ({ kind: 'refused', until: 0 }),
  answer: () => ({ kind: 'refused', until: 0 }),
});

const namespace = (name: string, publicRead: boolean, suspended = false) =>
  ({
    type: 'namespace.upserted',
    namespace: name,
    id: '00000000-0000-4000-8000-000000000000',
    publicRead,
    suspended,
    recordsCount: 0,
    createdAt: START,
    updatedAt: START,
  }) as const;

const clock = { now: START };
const { handler, view } = signedNode({ zones: zoneOf(null, clock), namesStart: 1 }, clock, [
  service('sun'),
  service('moon'),
  service('geoip'),
]);
await view.apply(
  [
    namespace('open', true),
    namespace('other', true),
    namespace('acme', false),
    namespace('shut', true, true),
    {
      type: 'token.minted',
      namespace: 'acme',
      digest: queryTokenDigest(TOKEN),
      expiresAt: START + 1_000_000,
    },
  ],
  1,
);

async function nodeWith(changes: readonly ReturnType<typeof namespace>[]) {
  const node = signedNode({ zones: zoneOf(null, clock), namesStart: 1 }, clock);
  await node.view.apply(changes, 1);
  return node;
}

function ask(asked: PacketHandler, name: string): number {
  const query = queryOf(name);
  return asked.nameShare(query, query.length);
}

function shareOf(name: string, qtype = 16): number {
  const query = queryOf(name, { qtype });
  const share = handler.nameShare(query, query.length);
  assert.ok(share >= 0 && share < NAME_SHARES);
  return share;
}
const inZone = (name: string): number => shareOf(`${name}.uqrp.net`);

/** Names of a row have one share, and each row has its own. */
const ROWS: readonly (readonly string[])[] = [
  ['uqrp.net', 'ns1.uqrp.net'],
  ['example.org', 'uqrp.org'],
  ['x1.uqrp.net', 'x2.uqrp.net', 'a.b.c.d.w1.uqrp.net', 'v1.uqrp.net', 'get.a.open.v0.uqrp.net'],
  [
    'get.a.open.v1.uqrp.net',
    'GET.B.OPEN.V1.uqrp.net',
    'get.a.b.c.open.v2.uqrp.net',
    'open.v1.uqrp.net',
    'x.open.v1.uqrp.net',
    'put.a.open.v1.uqrp.net',
  ],
  ['get.a.other.v1.uqrp.net'],
  [`get.auth-${TOKEN}.a.acme.v1.uqrp.net`, `get.auth-${TOKEN}.b.c.acme.v1.uqrp.net`],
  [
    'get.a.acme.v1.uqrp.net',
    `get.auth-${WRONG}.a.acme.v1.uqrp.net`,
    `get.auth-${TOKEN}.a.nobody.v1.uqrp.net`,
    'get.a.nobody.v1.uqrp.net',
    'get.a.x77.v1.uqrp.net',
    'get.a.shut.v1.uqrp.net',
    'acme.v1.uqrp.net',
    'nobody.v1.uqrp.net',
    'put.a.acme.v1.uqrp.net',
    'auth-x.v1.uqrp.net',
    'a.auth-x.v1.uqrp.net',
  ],
  ['get.berlin.sun.public.v1.uqrp.net', 'info.sun.public.v1.uqrp.net', 'sun.public.v1.uqrp.net'],
  ['get.berlin.moon.public.v1.uqrp.net'],
  ['geoip.ip-192-0-2-1.public.v1.uqrp.net', 'geoip.ip-192-0-2-2.public.v1.uqrp.net'],
  [
    'get.x1.public.v1.uqrp.net',
    'get.x2.public.v1.uqrp.net',
    'public.v1.uqrp.net',
    'ip-192-0-2-1.public.v1.uqrp.net',
  ],
];

describe('whose a name is', () => {
  for (const names of ROWS) {
    test(`one share: ${names[0]}`, () => {
      for (const name of names) assert.equal(shareOf(name), shareOf(names[0]!), name);
      for (const name of names) assert.equal(shareOf(name, A), shareOf(names[0]!), `${name} A`);
    });
  }

  test('every row has its own', () => {
    assert.equal(new Set(ROWS.map(([name]) => shareOf(name!))).size, ROWS.length);
  });

  test('a token that has expired is one that is not valid', () => {
    const name = `get.auth-${TOKEN}.a.acme.v1`;
    const before = inZone(name);
    clock.now += 1_000_000;
    assert.notEqual(inZone(name), before);
    assert.equal(inZone(name), inZone('get.a.nobody.v1'));
    clock.now -= 1_000_000;
  });

  test('what is no question has the share of what has no name', () => {
    const none = shareOf('example.org');
    for (const octets of [0, 11, 12, 20]) {
      assert.equal(handler.nameShare(queryOf('get.a.open.v1.uqrp.net').subarray(0, octets), octets), none);
    }
  });

  test('of an open namespace the share is the same from the octets alone', async () => {
    const cold = () => nodeWith([namespace('open', true), namespace('x', true)]);
    const warm = await cold();
    for (const name of ['get.a.open.v1', 'get.a.x.v1']) ask(warm.handler, `${name}.uqrp.net`);
    warm.view.namespace = () => assert.fail('the view was read');
    for (const name of [
      'get.b.open.v1',
      'GET.B.OPEN.V7',
      'open.v2',
      'get.a.b.x.v1',
      'put.a.open.v1',
      'a.auth-x.open.v1',
    ]) {
      const share = ask(warm.handler, `${name}.uqrp.net`);
      assert.equal(share, ask((await cold()).handler, `${name}.uqrp.net`), name);
    }
  });

  test('what only looks like a name of an open namespace has another share', async () => {
    const names = [
      ...[
        'openeds.v1',
        'opene.v1',
        'xopened.v1',
        'get.a.opened.v0',
        'get.a.open.w1',
        'get.a.opened.v',
        'opened.v1.a',
        'get.a.opened.v1.b.v1',
      ],
      ...[
        'v1',
        'a.v1',
        'opened',
        'get.opened.public.v1',
        'get.a.nobody.v1',
        'get.a.opened.v10',
        'get.a.opened.v1a',
      ],
    ].map((name) => `${name}.uqrp.net`);
    names.push(
      'get.a.opened.v1.uqrp.org',
      'get.a.opened.v1.xuqrp.net',
      'get.a.opened.v1.uqrp.net.org',
      'get.a.opened.v1.abcd.uqrp.net',
      'get.a.opened.v1.net',
    );
    for (const name of names) {
      const [warm, cold] = [
        await nodeWith([namespace('opened', true)]),
        await nodeWith([namespace('opened', true)]),
      ];
      ask(warm.handler, 'get.a.opened.v1.uqrp.net');
      assert.equal(ask(warm.handler, name), ask(cold.handler, name), name);
    }
  });

  test('an open namespace that is closed, suspended or opened again has another share at once', async () => {
    const node = await nodeWith([namespace('open', true)]);
    const share = (): number => ask(node.handler, 'get.a.open.v1.uqrp.net');
    const refused = ask(node.handler, 'get.a.nobody.v1.uqrp.net');
    const open = share();
    let at = 1;
    for (const [isPublic, isSuspended] of [
      [false, false],
      [true, false],
      [true, true],
      [true, false],
    ] as const) {
      const change = namespace('open', isPublic, isSuspended);
      await node.apply([change], ++at);
      for (let i = 0; i < 2; i++) assert.equal(share(), isPublic && !isSuspended ? open : refused);
    }
  });

  test('more open namespaces than are known at once each keep their share', async () => {
    const names = Array.from({ length: NAME_SHARES + 2 }, (_, i) => `n${i}`);
    const { handler } = await nodeWith(names.map((name) => namespace(name, true)));
    const shares = () => names.map((name) => ask(handler, `get.a.${name}.v1.uqrp.net`));
    assert.deepEqual(shares(), shares());
  });

  test('a namespace is taken for open by what the view has after the counter was read', async () => {
    const node = await nodeWith([namespace('open', true)]);
    const refused = ask(node.handler, 'get.a.nobody.v1.uqrp.net');
    const closed = { ...node.view.namespace('open')!, publicRead: false };
    node.view.refresh = () => {
      node.view.namespace = () => closed;
    };
    assert.equal(ask(node.handler, 'get.a.open.v1.uqrp.net'), refused);
  });

  test('a name with the hash of an open namespace is another one', async () => {
    const seen = new Map<number, string>();
    const hashOf = (label: string) => Buffer.from(`n${label}`).reduce(fnvStep, 1);
    let [open, other]: [string?, string?] = [];
    for (let i = 0; open === undefined; i++) {
      other = `x${i}`;
      open = seen.get(hashOf(other));
      seen.set(hashOf(other), other);
    }
    const { handler } = await nodeWith([namespace(open, true)]);
    const refused = ask(handler, 'get.a.nobody.v1.uqrp.net');
    assert.notEqual(ask(handler, `get.a.${open}.v1.uqrp.net`), refused);
    assert.equal(ask(handler, `get.a.${other}.v1.uqrp.net`), refused);
  });

  test('a view that cannot be read costs no exception', () => {
    const broken = signedNode({ zones: zoneOf(null, clock) }, clock);
    broken.view.namespace = () => {
      throw new Error('the view is gone');
    };
    const query = queryOf('get.a.open.v1.uqrp.net');
    assert.equal(broken.handler.nameShare(query, query.length), shareOf('example.org'));
  });
});
