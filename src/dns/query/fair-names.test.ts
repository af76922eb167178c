/** The budget of fresh signatures is shared by names: a flood at one namespace leaves room for the others. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  answerOf,
  isSignedBy,
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { namespaceUpserted } from '../../../test/support/view/view-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { queryTokenDigest, spellQueryToken } from '../../protocol/query/query-token.ts';
import { QUEUE_SHARES } from '../shared/handler.ts';
import type { PublicService } from './operations.ts';
import type { ReloadableHandler } from './packet.ts';

const BUDGET = LIMITS.signaturesPerSecond;
const QUEUE = LIMITS.signingQueue;
const SERVFAIL = 2;
const A = 1;
const TOKEN = spellQueryToken(Buffer.alloc(32, 'one'));
const keys = keysMadeAt(START);

describe('names share the fresh signatures', () => {
  let timers: ManualTimers;
  let handler: ReloadableHandler;
  let unique = 0;

  async function begin(): Promise<void> {
    const own = createManualTimers();
    const clock = {
      get now() {
        return START + own.now;
      },
    };
    const computing = (resource: string): PublicService => ({
      resource,
      work: 2,
      info: () => ({ kind: 'refused', until: 0 }),
      answer: (_query, at) => answerOf('v=svc1', at + 1000),
    });
    const services = ['sun', 'moon'].map(computing);
    const node = signedNode({ zones: zoneOf(keys, clock), timers: own, namesStart: 1 }, clock, services);
    const digest = queryTokenDigest(TOKEN);
    await node.view.apply(
      [
        ...['busy', 'calm', 'third'].map((name) => namespaceUpserted(name, true)),
        namespaceUpserted('acme', false),
        { type: 'token.minted', namespace: 'acme', digest, expiresAt: START + 100_000_000 },
      ],
      1,
    );
    timers = own;
    handler = node.handler;
  }

  beforeEach(begin);

  interface Asker {
    readonly share?: number;
    readonly isProven?: boolean;
    readonly qtype?: number;
    readonly token?: string;
  }

  /** A question that was not asked before, from a share of sources. `below`: what is below the unique label. */
  const ask = (below: string, { share = 0, isProven = false, qtype = A, token }: Asker = {}) =>
    handler.slow(
      queryOf(`get.${token === undefined ? '' : `auth-${token}.`}x${unique++}.${below}.uqrp.net`, { qtype }),
      isProven ? 'tcp' : 'udp',
      isProven,
      share,
    );
  const now = (reply: ReturnType<typeof ask>): Message => {
    assert.ok(reply instanceof Uint8Array, 'answered at once');
    return messageOf(reply);
  };
  /** How many of so many questions over UDP get a whole answer. */
  const answered = (below: string, count: number, asker: Asker = {}): number =>
    Array.from({ length: count }, (_, i) => now(ask(below, { share: i % QUEUE_SHARES, ...asker }))).filter(
      ({ tc }) => !tc,
    ).length;

  test('a flood at one namespace from all sources: another namespace gets every answer, whole and signed', async () => {
    answered('busy.v1', 2 * BUDGET);
    let flooded = 0;
    // Two seconds: 3,000 questions a second at the one, 50 at the other.
    for (let i = 0; i < 100; i++) {
      await timers.advance(20);
      flooded += answered('busy.v1', 60);
      const reply = now(ask('calm.v1'));
      assert.equal(reply.tc, false, `question ${i}`);
      if (i % 10 === 0) assert.ok(isSignedBy(reply, keys));
    }
    // Nobody else wants it: the flood has what is left, which is not wasted.
    assert.ok(flooded > 0.95 * (2 * BUDGET - 100) && flooded < 2 * BUDGET, `${flooded} of the flood`);
  });

  test('so do those that it may be mistaken for: names of the zone, other services, names that are refused', () => {
    answered('busy.v1', 2 * BUDGET);
    for (const below of ['calm.v1', 'nobody.v1', 'moon.public.v1', 'none.public.v1', 'x.w1']) {
      assert.equal(now(ask(below)).tc, false, below);
    }
    assert.equal(now(ask('acme.v1', { token: TOKEN })).tc, false, 'a private namespace');
    assert.equal(now(handler.slow(queryOf('uqrp.net', { qtype: 6 }), 'udp', false)).tc, false);
    assert.equal(now(ask('busy.v1')).tc, true);
  });

  test('names of namespaces that do not exist, however many, are one flood, with those of private ones and wrong tokens', () => {
    for (let i = 0; i < BUDGET; i++) now(ask(`made-up-${i}.v1`));
    const token = spellQueryToken(Buffer.alloc(32, 'wrong'));
    // Nobody can tell by it whether there is a namespace of the name.
    for (const below of ['acme.v1', 'nobody.v1']) {
      assert.equal(now(ask(below)).tc, true, below);
      assert.equal(now(ask(below, { token })).tc, true, below);
    }
    assert.equal(now(ask('acme.v1', { token: TOKEN })).tc, false, 'the valid token');
    assert.equal(now(ask('calm.v1')).tc, false);
  });

  test('how much others ask with a valid token does not show to who has none', async () => {
    const had: number[] = [];
    for (const below of ['acme.v1', 'nobody.v1']) {
      await begin();
      const [others, beside] = [answered('acme.v1', 300, { token: TOKEN }), answered(below, BUDGET)];
      assert.equal(others, 300);
      had.push(beside);
    }
    assert.equal(had[0], had[1]);
  });

  test('three that flood have the same', async () => {
    const floods = ['busy.v1', 'third.v1', 'made-up.v1'];
    const had = floods.map(() => 0);
    for (let i = 0; i < 150; i++) {
      await timers.advance(10);
      for (const [n, below] of floods.entries()) had[n]! += answered(below, 15);
    }
    const second = had[1]!;
    for (const each of had) assert.ok(Math.abs(each - second) < 0.1 * second, had.join(' '));
    assert.equal(now(ask('calm.v1')).tc, false);
  });

  /** What a listener asks before it queues a question. */
  const isSpent = (name: string, asked: Parameters<typeof queryOf>[1] = {}): boolean => {
    const question = queryOf(`${name}.uqrp.net`, asked);
    return handler.isSpent(question, question.length);
  };

  test('the octets of a question tell that its name has no signature left, where its answer would be TC', async () => {
    assert.equal(isSpent('get.new.busy.v1'), false, 'nothing is known of it yet');
    answered('busy.v1', BUDGET);
    for (const name of ['get.new.busy.v1', 'GET.New.Busy.V1', 'new.busy.v1']) {
      for (const qtype of [A, 16, 127]) assert.equal(isSpent(name, { qtype }), true, `${name} ${qtype}`);
      const reply = handler.slow(queryOf(`${name}.uqrp.net`), 'udp', false);
      assert.ok(reply instanceof Uint8Array && messageOf(reply).tc, name);
    }
    const others: [string, Parameters<typeof queryOf>[1]?][] = [
      ['get.new.busy.v1', { dnssecOk: false }],
      ...[0, 41, 128, 250, 252, 255].map((qtype) => ['get.new.busy.v1', { qtype }] as [string, object]),
      ['get.new.calm.v1'],
      ['get.new.nobody.v1'],
      ['get.new.acme.v1'],
      ['get.new.busy.v10'],
      ['get.new.busy.v1.other'],
    ];
    for (const [name, asked] of others)
      assert.equal(isSpent(name, asked), false, `${name} ${JSON.stringify(asked)}`);
    await timers.advance(20);
    assert.equal(isSpent('get.new.busy.v1'), false, 'time brings signatures');
  });

  test('in a zone that is not signed no question waits for a signature, whatever was asked in a signed one', async () => {
    const clock = { now: START };
    const zones = [...zoneOf(keys, clock), ...zoneOf(null, clock, 'plain.example')];
    const both = signedNode({ zones, namesStart: 1 }, clock);
    await both.view.apply([namespaceUpserted('busy', true)], 1);
    for (let i = 0; i < BUDGET; i++)
      void both.handler.slow(queryOf(`get.x${i}.busy.v1.uqrp.net`), 'udp', false);
    const spent = ['uqrp.net', 'plain.example'].map((zone) => {
      const question = queryOf(`get.new.busy.v1.${zone}`);
      return both.handler.isSpent(question, question.length);
    });
    assert.deepEqual(spent, [true, false]);
  });

  test('a service that floods leaves room for another one', () => {
    const flooded = answered('sun.public.v1', BUDGET, { qtype: 16 });
    assert.ok(flooded > 0 && flooded < BUDGET / 2, `${flooded}`);
    assert.equal(now(ask('sun.public.v1', { qtype: 16 })).tc, true);
    assert.equal(now(ask('moon.public.v1', { qtype: 16 })).tc, false);
    // Names of services that are not there are one flood, too, and not each its own.
    for (let i = 0; i < BUDGET; i++) now(ask(`none-${i}.public.v1`));
    assert.equal(now(ask('moon.public.v1', { qtype: 16 })).tc, false);
  });

  test('streams from all sources flood one namespace: another one neither waits nor is refused', async () => {
    const flood = (i: number) => ask('busy.v1', { share: i % QUEUE_SHARES, isProven: true });
    const replies = Array.from({ length: BUDGET / 2 + 2 * QUEUE }, (_, i) => flood(i));
    assert.ok(replies.some((reply) => reply instanceof Promise));
    assert.equal(messageOf((await replies.at(-1)) ?? null).rcode, SERVFAIL, 'the queue is full of the flood');
    assert.equal(now(ask('calm.v1', { share: 3, isProven: true })).rcode, 0, 'over a stream');
    assert.equal(now(ask('calm.v1')).tc, false, 'and over UDP');
    await timers.advance((1000 * QUEUE) / BUDGET + 20);
    for (const reply of replies) await reply;
  });

  test('while five flood over streams, one that asks in a quiet namespace is answered within two refills', async () => {
    // Each may have as much as is left: five leave a sixth.
    const floods = ['busy.v1', 'third.v1', 'made-up.v1', 'sun.public.v1', 'moon.public.v1'];
    const waiting: ReturnType<typeof ask>[] = [];
    for (let i = 0; i < 2 * BUDGET; i++) {
      waiting.push(ask(floods[i % 5]!, { share: i % QUEUE_SHARES, isProven: true, qtype: 16 }));
    }
    const quiet = ask('calm.v1', { share: 3, isProven: true });
    await timers.advance(10);
    assert.equal(messageOf((await quiet) ?? null).rcode, 0);
    await timers.advance((4 * 1000 * QUEUE) / BUDGET);
    for (const reply of waiting) await reply;
  });
});
