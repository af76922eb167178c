import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  answerOf,
  type Clockwork,
  cachedReply,
  isSignedBy,
  keysMadeAt,
  messageOf,
  queryOf,
  rrsigsIn,
  START,
  signedNode,
  waitingService,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { decodeRequest, isRequestFault } from '../../protocol/dns/message/request.ts';
import { FOREVER } from '../../protocol/query/outcome.ts';
import type { KeySet } from '../dnssec/key-set.ts';
import type { ReloadableHandler } from './packet.ts';
import { finish, nodataBody, type ReplyBody } from './reply.ts';
import { writeReply } from './write-reply.ts';
import { makeZone, signedZone, unsignedZone } from './zones.ts';

const NAME = 'get.berlin.weather.public.v1.uqrp.net';
const QUERY = queryOf(NAME);

describe('reload while a query waits for a provider', () => {
  const clock: Clockwork = { now: START };
  const old = keysMadeAt(START);
  const next = keysMadeAt(START + 1);
  const service = waitingService('weather');
  let handler: ReloadableHandler;

  const start = (keys: KeySet | null): void => {
    clock.now = START;
    service.waiting.length = 0;
    ({ handler } = signedNode({ zones: zoneOf(keys, clock) }, clock, [service]));
  };
  const ask = (): Promise<Uint8Array | null> => {
    const reply = handler.slow(QUERY, 'udp', false);
    assert.ok(reply instanceof Promise, 'the query waits');
    return reply;
  };
  const answerAll = (text: string): void => {
    for (const settle of service.waiting.splice(0)) settle(answerOf(text, FOREVER));
  };

  beforeEach(() => start(old));

  test('other keys: the answer is signed, by the keys with which the query began', async () => {
    const waiting = ask();
    handler.reload(zoneOf(next, clock));
    answerAll('1');
    const message = messageOf(await waiting);
    assert.equal(message.answer[0]?.type, 16);
    assert.ok(isSignedBy(message, old));
    const after = ask();
    answerAll('2');
    assert.ok(isSignedBy(messageOf(await after), next));
  });

  test('keys taken away: the answer is signed; the next one is not', async () => {
    const waiting = ask();
    handler.reload(zoneOf(null, clock));
    answerAll('1');
    assert.ok(isSignedBy(messageOf(await waiting), old));
    const after = ask();
    answerAll('2');
    assert.equal(rrsigsIn(messageOf(await after).answer).length, 0);
  });

  test('keys given to a zone without: the answer is unsigned and stays out of the new cache; the next one is signed', async () => {
    start(null);
    await Promise.all([ask(), ask(), Promise.resolve(answerAll('0'))]);
    const waiting = [ask(), ask()];
    handler.reload(zoneOf(next, clock));
    answerAll('1');
    for (const reply of await Promise.all(waiting)) {
      assert.equal(rrsigsIn(messageOf(reply).answer).length, 0);
    }
    assert.equal(cachedReply(handler, QUERY), null);
    const after = ask();
    answerAll('2');
    assert.ok(isSignedBy(messageOf(await after), next));
  });

  test('two waiting clients: both answers are signed, and the new cache holds neither', async () => {
    const waiting = [ask(), ask()];
    handler.reload(zoneOf(next, clock));
    answerAll('1');
    for (const reply of await Promise.all(waiting)) assert.ok(isSignedBy(messageOf(reply), old));
    assert.equal(cachedReply(handler, QUERY), null);
    // The new cache has not even seen the question: a question's second answer is the first that is kept.
    for (const kept of [false, true]) {
      const reply = ask();
      answerAll('2');
      await reply;
      assert.equal(cachedReply(handler, QUERY) !== null, kept);
    }
    assert.ok(isSignedBy(messageOf(cachedReply(handler, QUERY)), next));
  });

  test('a new database of addresses: the zones are the same, the answer is signed, and no old reply is served', async () => {
    const zones = zoneOf(old, clock);
    handler.reload(zones);
    const waiting = [ask(), ask()];
    handler.reload(zones);
    answerAll('1');
    for (const reply of await Promise.all(waiting)) assert.ok(isSignedBy(messageOf(reply), old));
    assert.equal(cachedReply(handler, QUERY), null);
  });

  test('other zones: the answer is signed; the next one is REFUSED', async () => {
    const waiting = ask();
    handler.reload(zoneOf(keysMadeAt(START, 'uqrp.org'), clock, 'uqrp.org'));
    answerAll('1');
    assert.ok(isSignedBy(messageOf(await waiting), old));
    assert.equal(messageOf(handler.slow(QUERY, 'udp', false) as Uint8Array).rcode, 5);
  });

  test('without a query that waits: what was cached is gone', async () => {
    for (const _ of [1, 2]) {
      const reply = ask();
      answerAll('1');
      await reply;
    }
    assert.ok(isSignedBy(messageOf(cachedReply(handler, QUERY)), old));
    handler.reload(zoneOf(next, clock));
    assert.equal(cachedReply(handler, QUERY), null);
  });
});

describe('what could not be signed', () => {
  const zone = makeZone('uqrp.net', [{ label: 'ns1', addresses: ['192.0.2.1'] }]);
  const request = decodeRequest(QUERY, QUERY.length);
  assert.ok(request !== null && !isRequestFault(request));

  test('questions for NSEC and RRSIG get SERVFAIL when the NSEC record cannot be made', () => {
    const failing = signedZone(zone, {
      sign: () => ({ rrsigs: [new Uint8Array(20)], renewAt: FOREVER, isFresh: true }),
      nsec() {
        throw new Error('no memory');
      },
    });
    const { handler } = signedNode({ zones: [failing] }, { now: START });
    for (const name of ['get.none.acme.v1.uqrp.net', 'acme.v1.uqrp.net', 'uqrp.net']) {
      for (const qtype of name === 'uqrp.net' ? [47] : [46, 47]) {
        for (const dnssecOk of [true, false]) {
          const reply = handler.slow(queryOf(name, { qtype, dnssecOk }), 'udp', false);
          assert.ok(reply instanceof Uint8Array);
          const { rcode, answer, authority } = messageOf(reply);
          assert.deepEqual([rcode, answer, authority], [2, [], []], `${name} ${qtype}`);
        }
      }
    }
  });

  test('a body that was not finished cannot be written: the compiler says so', () => {
    const body: ReplyBody = nodataBody(zone);
    // @ts-expect-error only a FinishedBody can be written
    writeReply(request, body);
    assert.ok(writeReply(request, finish(body, null, request, unsignedZone(zone))).bytes.length > 0);
  });
});
