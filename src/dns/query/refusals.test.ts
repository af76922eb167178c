import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  type Clockwork,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import {
  deleted,
  expired,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/view/view-changes.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { AppliedChange } from '../../protocol/change.ts';
import { RCODE } from '../../protocol/dns/codes.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';

const tokenOf = (seed: string): string => spellQueryToken(Buffer.alloc(32, seed));
const [VALID, NEVER, ENDED, ELSEWHERE, LOCKED] = ['valid', 'never', 'ended', 'elsewhere', 'locked'].map(
  tokenOf,
) as [string, string, string, string, string];
const KEY = 'alarm.site.acme.v1';
const CLOSED = 'alarm.site.closed.v1';
const SITE = 'site.acme.v1';

/** What is refused, or no query of its operation, whatever is stored. */
const QUESTIONS: readonly (readonly [what: string, name: string, rcode?: number])[] = [
  ['no token', `get.${KEY}`],
  ['no token, no such record', `get.nothing.${SITE}`],
  ['no token, no such namespace', 'get.alarm.site.nobody.v1'],
  ['a token that was never minted', `get.auth-${NEVER}.${KEY}`],
  ['a token that has ended', `get.auth-${ENDED}.${KEY}`],
  ['a token of another namespace', `get.auth-${ELSEWHERE}.${KEY}`],
  ['a suspended namespace, its token', `get.auth-${LOCKED}.${CLOSED}`],
  ['refused by its name', `info.${KEY}`],
  ['malformed by its name', `geoip.${KEY}`, RCODE.FORMERR],
];

const TRANSPORTS: readonly Transport[] = ['udp', 'tcp', 'dot', 'doh'];

describe('a cached refusal', () => {
  const clock: Clockwork = { now: START };
  const looked = { hits: 0, misses: 0 };
  let node: ReturnType<typeof signedNode>;
  let seq = 0;
  beforeEach(async () => {
    clock.now = START;
    const observe = { cacheHit: () => looked.hits++, cacheMiss: () => looked.misses++, signing() {} };
    node = signedNode({ zones: zoneOf(null, clock), observe }, clock);
    await apply(
      namespaceUpserted('acme'),
      namespaceUpserted('other'),
      namespaceUpserted('closed', false, true),
      namespaceUpserted('open', true),
      minted('acme', VALID),
      minted('acme', ENDED, START),
      minted('other', ELSEWHERE),
      minted('closed', LOCKED),
      upserted(KEY),
      upserted(CLOSED),
      upserted('a.open.v1'),
    );
  });

  const apply = (...changes: readonly AppliedChange[]): Promise<void> => node.apply(changes, ++seq);
  const packetOf = (name: string): Uint8Array => queryOf(`${name}.uqrp.net`, { dnssecOk: false });
  const rcodeOf = (name: string, transport: Transport = 'udp'): number =>
    messageOf(node.handler.slow(packetOf(name), transport, true) as Uint8Array).rcode;

  /** The counters of the cache: not its time, and not its memory. */
  function isHit(name: string, transport: Transport = 'udp'): boolean {
    const [before, packet] = [{ ...looked }, packetOf(name)];
    const octets = node.handler.hot(packet, packet.length, transport, Buffer.alloc(4096));
    assert.equal(looked.hits - before.hits, Number(octets > 0));
    assert.equal(looked.misses - before.misses, Number(octets === 0));
    return octets > 0;
  }

  /** A question's second answer is the first that is kept. */
  function keep(name: string, rcode: number = RCODE.REFUSED, transport: Transport = 'udp'): void {
    for (const _ of [1, 2]) assert.equal(rcodeOf(name, transport), rcode, name);
    assert.ok(isHit(name, transport), name);
  }

  const WRITES: readonly (readonly [what: string, changes: readonly AppliedChange[]])[] = [
    ['written', [upserted(KEY, 'new')]],
    ['deleted', [deleted(KEY)]],
    ['deleted because it has expired', [expired(KEY, START)]],
    ['written, and its value is on its way', [upserted(KEY, '', { data: null })]],
    ['deleted and made again', [deleted(KEY), upserted(KEY)]],
    ['the first of its name', [upserted(`nothing.${SITE}`)]],
    ['in a suspended namespace', [upserted(CLOSED, 'new'), deleted(CLOSED)]],
    ['of another customer', [upserted('a.other.v1'), upserted('a.open.v1', 'new')]],
  ];
  for (const [what, changes] of WRITES) {
    for (const transport of TRANSPORTS) {
      test(`stays one when a record is ${what}: ${transport}`, async () => {
        for (const [, name, rcode] of QUESTIONS) keep(name, rcode, transport);
        const end = node.freshness.begin(changes);
        for (const [asked, name] of QUESTIONS) assert.ok(isHit(name, transport), `${asked}, in the commit`);
        await node.view.apply(changes, ++seq);
        end();
        for (const [asked, name] of QUESTIONS) assert.ok(isHit(name, transport), asked);
      });
    }
  }

  test('stays one when its record ends by the clock', async () => {
    await apply(upserted(KEY, 'brief', { expiresAt: START + 5000 }));
    for (const [, name, rcode] of QUESTIONS) keep(name, rcode);
    for (const now of [START + 4999, START + 5000, START + 1e9]) {
      clock.now = now;
      for (const [asked, name] of QUESTIONS) assert.ok(isHit(name), asked);
    }
  });

  test('and the owner sees each write nevertheless', async () => {
    const own = `get.auth-${VALID}.${KEY}`;
    keep(own, RCODE.NOERROR);
    await apply(upserted(KEY, 'new'));
    assert.equal(isHit(own), false);
    keep(own, RCODE.NOERROR);
  });

  const ACCESS: readonly (readonly [what: string, change: AppliedChange])[] = [
    ['a token is minted', minted('acme', tokenOf('new'))],
    ['a token is revoked', revoked('acme', VALID)],
    ['a namespace is made', namespaceUpserted('fourth')],
    ['a namespace is opened', namespaceUpserted('acme', true)],
    ['a namespace is changed and stays private', namespaceUpserted('acme')],
    ['a namespace is suspended', namespaceUpserted('acme', false, true)],
    ['a namespace is about to be deleted', { type: 'namespace.closing', namespace: 'acme', id: 'x' }],
    ['a namespace is deleted', namespaceDeleted('acme')],
    ['an open namespace is closed', namespaceUpserted('open', false)],
  ];
  for (const [what, change] of ACCESS) {
    test(`is void with all others when ${what}, so that nobody sees whose it is`, async () => {
      for (const [, name, rcode] of QUESTIONS) keep(name, rcode);
      await apply(change);
      for (const [asked, name] of QUESTIONS) assert.equal(isHit(name), false, asked);
    });
  }

  const ANSWERS: readonly (readonly [what: string, name: string, changes: readonly AppliedChange[]])[] = [
    ['its token is minted', `get.auth-${NEVER}.${KEY}`, [minted('acme', NEVER)]],
    ['its token gets a later end', `get.auth-${ENDED}.${KEY}`, [minted('acme', ENDED)]],
    ['its namespace is opened', `get.${KEY}`, [namespaceUpserted('acme', true)]],
    ['its namespace is no longer suspended', `get.auth-${LOCKED}.${CLOSED}`, [namespaceUpserted('closed')]],
    [
      'its namespace is deleted, and made again by another owner',
      `get.${KEY}`,
      [deleted(KEY), namespaceDeleted('acme'), namespaceUpserted('acme', true, false, 'b'), upserted(KEY)],
    ],
    [
      'a namespace of its name is made',
      `get.auth-${NEVER}.a.nobody.v1`,
      [namespaceUpserted('nobody'), minted('nobody', NEVER), upserted('a.nobody.v1')],
    ],
  ];
  for (const [what, name, changes] of ANSWERS) {
    test(`becomes an answer when ${what}`, async () => {
      keep(name);
      await apply(...changes);
      assert.equal(isHit(name), false);
      keep(name, RCODE.NOERROR);
    });
  }

  const ENDS: readonly (readonly [what: string, change: AppliedChange | null])[] = [
    ['its token is revoked', revoked('acme', VALID)],
    ['its namespace is suspended', namespaceUpserted('acme', false, true)],
    ['its namespace is deleted', namespaceDeleted('acme')],
    ['its token ends by the clock', null],
  ];
  for (const [what, change] of ENDS) {
    test(`takes the place of an answer when ${what}, and stays when its record is written`, async () => {
      const own = `get.auth-${VALID}.${KEY}`;
      keep(own, RCODE.NOERROR);
      if (change === null) clock.now = 1_900_000_000_000;
      else await apply(change);
      assert.equal(isHit(own), false);
      keep(own);
      await apply(upserted(KEY, 'new'));
      assert.ok(isHit(own));
    });
  }

  test('is not kept when access changed after its counter was read', async () => {
    const name = `get.auth-${NEVER}.${KEY}`;
    assert.equal(rcodeOf(name), RCODE.REFUSED);
    const read = node.view.token.bind(node.view);
    node.view.token = (digest) => {
      const found = read(digest);
      node.view.token = read;
      const end = node.freshness.begin([minted('acme', NEVER)]);
      void node.view.apply([minted('acme', NEVER)], ++seq);
      end();
      return found;
    };
    assert.equal(rcodeOf(name), RCODE.REFUSED);
    assert.equal(isHit(name), false);
    assert.equal(rcodeOf(name), RCODE.NOERROR);
  });

  test('is not kept while a change of access is under way', async () => {
    const name = `get.${KEY}`;
    const end = node.freshness.begin([minted('other', NEVER)]);
    for (const _ of [1, 2, 3]) assert.equal(rcodeOf(name), RCODE.REFUSED);
    end();
    assert.equal(isHit(name), false);
    keep(name);
  });

  test('is void when another view serves', () => {
    for (const [, name, rcode] of QUESTIONS) keep(name, rcode);
    node.freshness.beginAll()();
    for (const [asked, name] of QUESTIONS) assert.equal(isHit(name), false, asked);
  });
});
