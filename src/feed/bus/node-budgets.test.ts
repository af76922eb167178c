import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { LIMITS } from '../../base/limits.ts';
import { SUBJECTS, subjectOfNode } from './bus.ts';
import { withNodeBudgets } from './node-budgets.ts';

const BURST = 5;

/** Control with budgets, and two nodes; answers have the length that the test says. */
function world() {
  const timers = createManualTimers();
  const broker = createMemoryBroker(undefined, timers);
  const dropped: string[] = [];
  const heard: string[] = [];
  let answerOctets = 1;
  const control = withNodeBudgets(broker.connect('control'), {
    clock: () => timers.now,
    onDropped: (node) => dropped.push(node),
  });
  control.subscribe(subjectOfNode(SUBJECTS.state, '*'), (_data, sentTo) => heard.push(sentTo));
  control.respond(subjectOfNode(SUBJECTS.get, '*'), async (_data, sentTo) => {
    heard.push(sentTo);
    return new Uint8Array(answerOctets);
  });
  const node = broker.connect('node');
  const count = (of: string): number => heard.splice(0).filter((sentTo) => sentTo.endsWith(of)).length;
  return {
    timers,
    node,
    dropped,
    count,
    answersWith: (octets: number) => {
      answerOctets = octets;
    },
    send: async (name: string, messages: number, octets = 10) => {
      for (let i = 0; i < messages; i++) {
        node.publish(subjectOfNode(SUBJECTS.state, name), new Uint8Array(octets));
      }
      await timers.advance(0);
    },
  };
}

it('of one node control hears so many messages a second, and of the others as before', async () => {
  const { timers, send, count, dropped } = world();
  await send('fra1', LIMITS.feedNodeMessages * BURST);
  assert.equal(count('fra1'), LIMITS.feedNodeMessages * BURST);
  assert.deepEqual(dropped, []);
  await send('fra1', 50);
  await send('sin1', 50);
  assert.deepEqual([count('sin1'), dropped.length], [50, 50]);
  assert.ok(dropped.every((node) => node === 'fra1'));
  await timers.advance(1_000);
  await send('fra1', LIMITS.feedNodeMessages + 7);
  assert.equal(count('fra1'), LIMITS.feedNodeMessages);
});

it('of one node control hears so many octets a second, whatever the number of messages', async () => {
  const { timers, send, count, dropped } = world();
  const large = LIMITS.feedMessage;
  const most = Math.ceil((LIMITS.feedNodeOctets * BURST) / large);
  await send('fra1', most + 5, large);
  assert.equal(count('fra1'), most);
  assert.equal(dropped.length, 5);
  await timers.advance(1_000);
  await send('fra1', 10, large);
  assert.ok(Math.abs(count('fra1') - LIMITS.feedNodeOctets / large) <= 1);
});

it('an answer counts as what was asked: large ones are given as slowly (finding 11)', async () => {
  const { timers, node, count, dropped, answersWith } = world();
  answersWith(900_000);
  let answered = 0;
  for (let i = 0; i < 40; i++) {
    void node.request(subjectOfNode(SUBJECTS.get, 'fra1'), new Uint8Array(30), 1_000).then(
      () => answered++,
      () => {},
    );
    await timers.advance(0);
  }
  const most = Math.ceil((LIMITS.feedNodeOctets * BURST) / 900_000);
  assert.equal(count('fra1'), most);
  assert.equal(dropped.length, 40 - most);
  await timers.advance(2_000);
  assert.equal(answered, most);
});
