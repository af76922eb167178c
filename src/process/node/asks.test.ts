import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpReply } from '../../dns/doh/request.ts';
import { type Ask, askedOf, createAskAnswers, createWaitingAsks, requestOf } from './asks.ts';

const ASK: Ask = { asked: { kind: 'schema', query: null }, address: '192.0.2.1' };
const REPLY: HttpReply = { status: 200, headers: {}, body: Uint8Array.of(7) };

test('what is asked survives the copy to a thread, with no octets beside it', () => {
  const params = new URLSearchParams('name=a%26b&type=16&name=c');
  assert.deepEqual(requestOf(structuredClone(askedOf({ kind: 'json', params }))), { kind: 'json', params });
  const message = Buffer.from('xxhelloxx').subarray(2, 7);
  const asked = structuredClone(askedOf({ kind: 'wire', message }));
  assert.ok(asked.kind === 'wire' && asked.message.buffer.byteLength === 5);
  assert.equal(Buffer.from(asked.message).toString(), 'hello');
});

test('each question gets its own reply, whatever their order; a late one is nobody’s', async () => {
  const posted: number[] = [];
  const asks = createWaitingAsks((id) => posted.push(id), 60_000);
  const [one, two] = [asks.ask(ASK), asks.ask(ASK)];
  assert.equal(asks.count(), 2);
  asks.replied(posted[1]!, REPLY);
  asks.replied(posted[0]!, null);
  assert.deepEqual([await one, await two, asks.count()], ['refused', REPLY, 0]);
  asks.replied(posted[0]!, REPLY);
});

test('a thread that is silent, ends or has ended leaves no question waiting', async () => {
  const silent = createWaitingAsks(() => {}, 1);
  assert.deepEqual([await silent.ask(ASK), silent.count()], ['silent', 0]);
  const ending = createWaitingAsks(() => {}, 60_000);
  const waiting = [ending.ask(ASK), ending.ask(ASK)];
  ending.end();
  assert.deepEqual(await Promise.all([...waiting, ending.ask(ASK)]), ['exited', 'exited', 'exited']);
});

test('a worker that stops answers what it has begun, refuses the rest, and waits no longer than its grace', async () => {
  const work = Promise.withResolvers<HttpReply>();
  const answers = createAskAnswers(
    () => work.promise,
    () => REPLY,
  );
  const begun = answers.answer(ASK);
  const stopped = answers.stop(60_000);
  assert.equal(await answers.answer(ASK), null);
  work.resolve(REPLY);
  assert.equal(await begun, REPLY);
  await stopped;
  const stuck = createAskAnswers(
    () => new Promise(() => {}),
    () => REPLY,
  );
  void stuck.answer(ASK);
  await stuck.stop(1);
});

test('a fault of an answer is told and becomes a reply', async () => {
  const faults: unknown[] = [];
  const answers = createAskAnswers(
    () => {
      throw new Error('fault');
    },
    (fault) => {
      faults.push(fault);
      return { ...REPLY, status: 500 };
    },
  );
  assert.equal((await answers.answer(ASK))?.status, 500);
  assert.equal(faults.length, 1);
});
