import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeGate, setting } from '../../../../test/support/edge/transport/fakes.ts';
import { LIMITS } from '../../../core/limits.ts';
import { MISSES_A_TURN, type Miss, MissQueue } from './miss-queue.ts';

/** A queue whose turns come when the test says so. */
function scene(answer: (miss: Miss<number>) => void = () => {}, inFlight = 10) {
  const options = { ...setting(), inFlight };
  const answered: number[] = [];
  const turns: (() => void)[] = [];
  const ended = { turns: 0 };
  const queue = new MissQueue<number>(options, {
    answer(miss) {
      answered.push(miss.peer);
      answer(miss);
    },
    turnEnded: () => void ended.turns++,
    defer: (turn) => void turns.push(turn),
  });
  const offer = (peer: number, octets = 40): boolean => {
    if (!queue.hasRoom(octets)) return false;
    queue.push({ query: new Uint8Array(octets), peer, askedAt: 0 });
    return true;
  };
  return { options, queue, answered, turns, ended, offer };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('misses are answered a few a turn, the oldest first, and never in the turn in which they come', () => {
  const { offer, answered, turns, ended } = scene();
  for (const peer of upTo(MISSES_A_TURN * 2 + 3)) offer(peer);
  assert.deepEqual([answered, turns.length], [[], 1]);
  turns.shift()!();
  assert.deepEqual([answered, turns.length], [upTo(MISSES_A_TURN), 1]);
  turns.shift()!();
  turns.shift()!();
  assert.deepEqual([answered, turns.length], [upTo(MISSES_A_TURN * 2 + 3), 0]);
  assert.equal(ended.turns, 3);
  offer(7);
  assert.equal(turns.length, 1, 'a new one brings a new turn');
});

test('the number of waiting misses: the limit, and one more, which is counted', () => {
  const { offer, turns, answered, options } = scene();
  for (const peer of upTo(LIMITS.udpMisses)) assert.equal(offer(peer), true);
  assert.equal(offer(LIMITS.udpMisses), false);
  assert.equal(options.observe.count('miss dropped'), 1);
  turns.shift()!();
  for (const peer of upTo(MISSES_A_TURN)) assert.equal(offer(LIMITS.udpMisses + peer), true);
  assert.equal(offer(0), false);
  while (turns.length > 0) turns.shift()!();
  assert.deepEqual(answered, upTo(LIMITS.udpMisses + MISSES_A_TURN));
});

test('the octets of waiting misses: the limit, and one more', () => {
  const { offer, turns, options } = scene();
  const long = 65_536;
  const fit = LIMITS.udpMissOctets / long;
  for (const peer of upTo(fit)) assert.equal(offer(peer, long), true);
  assert.equal(offer(fit, 1), false);
  assert.equal(options.observe.count('miss dropped'), 1);
  turns.shift()!();
  assert.equal(offer(fit, long), true, 'what was answered is not counted');
});

test('a fault costs one miss', () => {
  const { offer, turns, answered, options } = scene(({ peer }) => {
    if (peer === 1) throw new Error('fault of a miss');
  });
  for (const peer of upTo(3)) offer(peer);
  turns.shift()!();
  assert.deepEqual([answered, options.faults.length], [[0, 1, 2], 1]);
});

test('finishing answers what waits, and waits for what services owe', async () => {
  const gate = makeGate();
  const { offer, turns, queue, answered } = scene(() => queue.wait(gate.opened, () => {}));
  offer(1);
  let finished = false;
  const finishing = queue.finish(60_000).then(() => (finished = true));
  assert.equal(queue.isFinishing, true);
  turns.shift()!();
  await new Promise(setImmediate);
  assert.deepEqual([answered, finished], [[1], false]);
  gate.open();
  await finishing;
});

test('finishing an empty queue takes no time, one whose turn never comes takes the grace', async () => {
  await scene().queue.finish(60_000);
  const { offer, queue } = scene();
  offer(1);
  await queue.finish(1);
});
