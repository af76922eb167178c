import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeGate, setting } from '../../../test/support/dns/fakes.ts';
import { LIMITS } from '../../base/limits.ts';
import { MISSES_A_TURN } from '../shared/handler.ts';
import { CROWDED, type Miss, MissQueue } from './replies.ts';

/** A queue whose ticks the test runs. */
function scene(answer: (miss: Miss<number>) => void = () => {}, inFlight = 10) {
  /** The share of names of what is offered next: an octet of the query, which the handler reads. */
  const nameNow = { share: 0 };
  const base = setting();
  const handler = { ...base.handler, nameShare: (query: Uint8Array) => query[0]! };
  const options = { ...base, handler, inFlight };
  const answered: number[] = [];
  const ticks: (() => void)[] = [];
  const ended = { ticks: 0 };
  const queue = new MissQueue<number>(options, {
    answer(miss) {
      answered.push(miss.peer);
      answer(miss);
    },
    tickEnded: () => void ended.ticks++,
    defer: (turn) => void ticks.push(turn),
  });
  const offer = (peer: number, octets = 40, source = 0): boolean => {
    const query = new Uint8Array(octets).fill(nameNow.share);
    const name = queue.nameShare(query, octets);
    if (!queue.makeRoom(octets, source, name)) return false;
    queue.push({ query, peer, client: '', askedAt: 0, source, name });
    return true;
  };
  return { options, queue, answered, ticks, ended, offer, nameNow };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('16 misses are answered per tick, oldest first, and never in the tick of their arrival', () => {
  const { offer, answered, ticks, ended } = scene();
  for (const peer of upTo(MISSES_A_TURN * 2 + 3)) offer(peer);
  assert.deepEqual([answered, ticks.length], [[], 1]);
  ticks.shift()!();
  assert.deepEqual([answered, ticks.length], [upTo(MISSES_A_TURN), 1]);
  ticks.shift()!();
  ticks.shift()!();
  assert.deepEqual([answered, ticks.length], [upTo(MISSES_A_TURN * 2 + 3), 0]);
  assert.equal(ended.ticks, 3);
  offer(7);
  assert.equal(ticks.length, 1, 'a new miss schedules a tick');
});

test('beside hits a turn answers fewer misses: 2 where they fill a batch, and 16 once none come', () => {
  const turns: number[] = [];
  for (const hits of [0, 1, 32, 64, 1000]) {
    const { offer, answered, ticks, queue } = scene();
    for (const peer of upTo(3 * MISSES_A_TURN)) offer(peer);
    for (let i = 0; i < hits; i++) queue.hit();
    ticks.shift()!();
    turns.push(answered.length);
    ticks.shift()!();
    turns.push(answered.length - turns.at(-1)!);
  }
  assert.deepEqual(turns, [16, 16, 16, 16, 9, 16, 2, 16, 2, 16]);
});

test('the number of waiting misses: the limit, and one more, which is counted', () => {
  const { offer, ticks, answered, options } = scene();
  for (const peer of upTo(LIMITS.udpMisses)) assert.equal(offer(peer), true);
  assert.equal(offer(LIMITS.udpMisses), false);
  assert.equal(options.observe.count('miss dropped'), 1);
  ticks.shift()!();
  for (const peer of upTo(MISSES_A_TURN)) assert.equal(offer(LIMITS.udpMisses + peer), true);
  assert.equal(offer(0), false);
  while (ticks.length > 0) ticks.shift()!();
  assert.deepEqual(answered, upTo(LIMITS.udpMisses + MISSES_A_TURN));
});

test('the octets of waiting misses: the limit, and one more', () => {
  const { offer, ticks, options } = scene();
  const long = 65_536;
  const fit = LIMITS.udpMissOctets / long;
  for (const peer of upTo(fit - 1)) assert.equal(offer(peer, long), true);
  assert.equal(offer(fit, long + 1), false);
  assert.equal(offer(fit - 1, long), true);
  assert.equal(offer(fit, 1), false);
  assert.equal(options.observe.count('miss dropped'), 2);
  ticks.shift()!();
  assert.equal(offer(fit, long), true, 'what was answered is not counted');
});

test('one name from many sources, as many as the queue holds: another name has room, and is answered in the next tick', () => {
  const { offer, ticks, answered, options, nameNow } = scene();
  nameNow.share = 1;
  for (const peer of upTo(LIMITS.udpMisses)) assert.equal(offer(peer, 40, peer % 64), true);
  assert.equal(offer(-1, 40, 5), false, 'the queue is full for the name that filled it');
  nameNow.share = 2;
  assert.equal(offer(-2, 40, 5), true, 'not for another one');
  assert.equal(options.observe.count('miss dropped'), 2, 'the newest of the flood gave way');
  ticks.shift()!();
  assert.ok(answered.includes(-2));
});

test('one source with many names: another source has room, and is answered in the next tick', () => {
  const { offer, ticks, answered, nameNow } = scene();
  for (const peer of upTo(LIMITS.udpMisses)) {
    nameNow.share = peer % 256;
    assert.equal(offer(peer, 40, 1), true);
  }
  assert.equal(offer(-2, 40, 2), true);
  ticks.shift()!();
  assert.ok(answered.includes(-2));
});

test('a few long queries are as heavy as many short ones: they give way', () => {
  const { offer, options, nameNow } = scene();
  for (const peer of upTo(CROWDED)) offer(peer);
  nameNow.share = 1;
  const long = 65_536;
  const fit = (LIMITS.udpMissOctets - CROWDED * 1024) / long;
  for (const peer of upTo(fit)) assert.equal(offer(peer, long, 1), true);
  nameNow.share = 2;
  for (const peer of upTo(64)) assert.equal(offer(peer, 40, 2), true);
  assert.equal(options.observe.count('miss dropped'), 1);
});

test('whose a name is is not asked while few wait', () => {
  const { offer, nameNow, options, queue } = scene();
  options.handler.nameShare = () => assert.fail('asked');
  nameNow.share = 9;
  for (const peer of upTo(CROWDED)) offer(peer);
  assert.throws(() => queue.nameShare(new Uint8Array(40), 40), /asked/);
});

test('a fault costs one miss', () => {
  const { offer, ticks, answered, options } = scene(({ peer }) => {
    if (peer === 1) throw new Error('fault of a miss');
  });
  for (const peer of upTo(3)) offer(peer);
  ticks.shift()!();
  assert.deepEqual([answered, options.faults.length], [[0, 1, 2], 1]);
});

test('answers that are waited for: of one name half of the limit and half of the rest, and there is room for another name', async () => {
  const gate = makeGate();
  const refused: number[] = [];
  const { offer, ticks, queue, nameNow } = scene((miss) => {
    if (queue.isFull(miss)) refused.push(miss.peer);
    else queue.wait(miss, gate.opened, () => {});
  }, 32);
  const ask = (peer: number): void => {
    offer(peer);
    ticks.shift()!();
  };
  nameNow.share = 1;
  for (const peer of upTo(40)) ask(peer);
  assert.equal(refused[0], 24);
  assert.equal(refused.length, 16);
  nameNow.share = 2;
  ask(100);
  assert.equal(refused.includes(100), false);
  gate.open();
  await queue.finish(60_000);
});

test('finishing answers what waits, and waits for what services owe', async () => {
  const gate = makeGate();
  const { offer, ticks, queue, answered } = scene((miss) => queue.wait(miss, gate.opened, () => {}));
  offer(1);
  let finished = false;
  const finishing = queue.finish(60_000).then(() => (finished = true));
  assert.equal(queue.isFinishing, true);
  ticks.shift()!();
  await new Promise(setImmediate);
  assert.deepEqual([answered, finished], [[1], false]);
  gate.open();
  await finishing;
});

test('finishing an empty queue takes no time; a queue that gets no tick takes the grace period', async () => {
  await scene().queue.finish(60_000);
  const { offer, queue } = scene();
  offer(1);
  await queue.finish(1);
});
