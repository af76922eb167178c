import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { readRrsig } from '../../../test/support/dns/dnssec/keys.ts';
import {
  type Asking,
  type Clockwork,
  cachedReply,
  isSignedBy,
  messageOf,
  queryOf,
  rrsigsIn,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { namespaceUpserted } from '../../../test/support/view/view-changes.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { queryTokenDigest, spellQueryToken } from '../../protocol/query/query-token.ts';
import { generateKeySet } from '../dnssec/key-set.ts';
import { cacheSeconds } from '../doh/answer.ts';

const HOUR_MS = 3_600_000;
const NSEC = 47;
const P256 = 13;
const TOKEN = spellQueryToken(Buffer.alloc(32, 'one'));
const keys = generateKeySet('uqrp.net', START);

async function makeNode(clock: Clockwork) {
  const node = signedNode({ zones: zoneOf(keys, clock) }, clock);
  const digest = queryTokenDigest(TOKEN);
  await node.view.apply(
    [
      namespaceUpserted('acme', false),
      namespaceUpserted('open', true),
      { type: 'token.minted', namespace: 'acme', digest, expiresAt: START + 400 * 24 * HOUR_MS },
    ],
    1,
  );
  return {
    ...node,
    ask(name: string, asking: Asking = {}, transport: Transport = 'udp'): Uint8Array {
      const query = queryOf(`${name}.uqrp.net`, asking);
      const reply = cachedReply(node.handler, query) ?? node.handler.slow(query, transport, false);
      assert.ok(reply instanceof Uint8Array);
      return reply;
    },
  };
}

/** The signatures over the NSEC record, by algorithm. */
function nsecSignatures(message: Message): ReadonlyMap<number, Uint8Array> {
  const rrsigs = [...rrsigsIn(message.answer), ...rrsigsIn(message.authority)];
  return new Map(
    rrsigs.filter((rdata) => readRrsig(rdata).covered === NSEC).map((rdata) => [rdata[2]!, rdata]),
  );
}

/** Names at which clients must not see what others asked: with and without a namespace behind them. */
const PRIVATE: readonly (readonly [name: string, qtype: number])[] = [
  ['acme.v1', 1],
  ['config.acme.v1', 2],
  ['get.config.acme.v1', 1],
  ['get.config.acme.v1', NSEC],
  ['put.config.acme.v1', 1],
  ['config.nobody.v1', 1],
  ['get.config.nobody.v1', 1],
  [`get.auth-${TOKEN}.none.acme.v1`, 16],
  [`auth-${TOKEN}.none.acme.v1`, 1],
];

describe('denials at private names', () => {
  const clock: Clockwork = { now: START };
  let node: Awaited<ReturnType<typeof makeNode>>;
  beforeEach(async () => {
    clock.now = START;
    node = await makeNode(clock);
  });

  test('do not reveal earlier questions: each is signed separately, with an inception of its own hour', async () => {
    const untouched = await makeNode(clock);
    for (const [name, qtype] of PRIVATE) {
      const label = `${name} ${qtype}`;
      // One client asks three times, and five hours later another one asks twice.
      clock.now = START;
      for (const _ of [1, 2, 3]) node.ask(name, { qtype });
      clock.now = START + 5 * HOUR_MS;
      const [first, second, elsewhere] = [node, node, untouched].map((asked) => {
        const message = messageOf(asked.ask(name, { qtype }));
        assert.ok(isSignedBy(message, keys), label);
        return nsecSignatures(message);
      });
      assert.equal(first!.size, 2, label);
      for (const [algorithm, rdata] of first!) {
        const others = [second!.get(algorithm)!, elsewhere!.get(algorithm)!];
        for (const other of others) {
          assert.equal(readRrsig(rdata).inception, readRrsig(other).inception, label);
          // ECDSA draws a number for each signature; Ed25519 gives the same octets each time (RFC 8032 §5.1.6).
          assert.equal(Buffer.compare(rdata, other) === 0, algorithm !== P256, label);
        }
        assert.equal(readRrsig(rdata).inception * 1000, START + 4 * HOUR_MS, label);
      }
    }
  });

  test('are never in the packet cache, signed or not', () => {
    for (const [name, qtype] of PRIVATE) {
      for (const dnssecOk of [true, false]) {
        for (const _ of [1, 2, 3]) node.ask(name, { qtype, dnssecOk });
        const query = queryOf(`${name}.uqrp.net`, { qtype, dnssecOk });
        assert.equal(cachedReply(node.handler, query), null, `${name} ${qtype}`);
      }
    }
  });

  test('of open and public namespaces are cached, because their names are not secret', () => {
    for (const name of ['get.none.open.v1', 'none.open.v1', 'none.public.v1', 'www', 'v1']) {
      const signatures = [1, 2, 3].map(() =>
        nsecSignatures(messageOf(node.ask(name, { qtype: 1 }))).get(P256),
      );
      assert.deepEqual(signatures[2], signatures[1], name);
      assert.notEqual(cachedReply(node.handler, queryOf(`${name}.uqrp.net`, { qtype: 1 })), null, name);
    }
  });

  test('over HTTP are no-store for each name with a token or in a namespace that is not open', () => {
    for (const [name, qtype] of PRIVATE) {
      for (const dnssecOk of [true, false]) {
        // Asked over UDP first: what it left behind must not be served over HTTP.
        for (const _ of [1, 2, 3]) node.ask(name, { qtype, dnssecOk });
        const reply = node.ask(name, { qtype, dnssecOk }, 'doh');
        assert.equal(messageOf(reply).rcode, 0, name);
        assert.equal(cacheSeconds(reply), 0, `${name} ${qtype} ${dnssecOk}`);
      }
    }
    assert.equal(cacheSeconds(node.ask('get.none.open.v1', {}, 'doh')), 60);
    assert.equal(cacheSeconds(node.ask('www', {}, 'doh')), 60);
  });

  test('with a token leave with TTL 0 over every transport; without one resolvers may keep them', () => {
    for (const [name, qtype] of PRIVATE) {
      const { answer, authority } = messageOf(node.ask(name, { qtype }));
      const ttl = name.includes('auth-') ? 0 : 60;
      assert.deepEqual(new Set([...answer, ...authority].map((rr) => rr.ttl)), new Set([ttl]), name);
    }
  });
});

test('a denial that was kept while its namespace was open is not served once it is closed', async () => {
  const clock: Clockwork = { now: START };
  const node = await makeNode(clock);
  const names = ['get.none.open.v1', 'put.none.open.v1', 'none.open.v1', 'x\\001.open.v1'];
  const ask = (name: string, dnssecOk: boolean): number =>
    cacheSeconds(node.ask(name, { qtype: 1, dnssecOk }, 'doh'));
  const askAll = (): readonly number[] => names.flatMap((name) => [ask(name, true), ask(name, false)]);
  for (const _ of [1, 2, 3]) assert.deepEqual(new Set(askAll()), new Set([60]));
  const closed = namespaceUpserted('open', false);
  await node.apply([closed], 2);
  clock.now += 1000;
  assert.deepEqual(new Set(askAll()), new Set([0]));
});

test('an NXNAME denial ends when a record is created below the name', async () => {
  const clock: Clockwork = { now: START };
  const node = await makeNode(clock);
  const bitmap = (): string => {
    const nsec = messageOf(node.ask('get.m.open.v1')).authority.find(({ type }) => type === NSEC);
    return Buffer.from(nsec!.rdata).subarray(-20).toString('hex');
  };
  const [absent] = [bitmap(), bitmap(), bitmap()];
  const change = {
    type: 'record.upserted',
    key: 'get.m.open.v1',
    namespace: 'open',
    resource: 'm',
    version: 'v1',
    data: Buffer.from('hi').toString('base64'),
    contentType: 'text/plain',
    ttlSeconds: 300,
    expiresAt: null,
  } as const;
  await node.view.apply([change], 2);
  // Its key is not the key of the question, so no counter of the cached denial moves.
  clock.now += 1000;
  assert.notEqual(bitmap(), absent);
  assert.equal(messageOf(node.ask('get.get.m.open.v1')).answer[0]?.type, 16);
});
