import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import {
  FakeSource,
  feedsOf,
  market,
  value,
} from '../../../../test/support/edge/services/providers/fake-feeds.ts';
import { type Answer, type DeskOptions, openDesk, type Providers, type Question } from './desk.ts';
import type { FeedName } from './feeds.ts';
import { makeHub } from './hub.ts';
import { connectDesk } from './link.ts';
import type { Reading } from './reading.ts';

const NOW = Date.UTC(2026, 0, 1);
const reading = (price: number, until = NOW + 1000): Reading<unknown> => ({
  kind: 'value',
  value: market(price),
  time: NOW,
  at: NOW,
  freshUntil: until,
  until,
});

describe('a desk', () => {
  let ports: MessagePort[] = [];
  afterEach(() => {
    for (const port of ports) port.close();
    ports = [];
  });

  /** A desk, and the other end of its line: questions come in, answers are sent by the test. */
  function open(options: Partial<DeskOptions> = {}): {
    desk: Providers;
    questions: Question[];
    hub: MessagePort;
  } {
    const { port1: hub, port2: port } = new MessageChannel();
    ports.push(hub);
    const questions: Question[] = [];
    hub.on('message', (question: Question) => questions.push(question));
    return { desk: openDesk({ port, offered: ['crypto'], ...options }), questions, hub };
  }

  const arrived = async (questions: Question[], count: number): Promise<void> => {
    while (questions.length < count) await new Promise(setImmediate);
  };
  const answer = (hub: MessagePort, question: Question, reading: Reading<unknown>): void =>
    hub.postMessage({ id: question.id, reading } satisfies Answer);

  it('asks once for those who wait together, and answers at once while the value holds', async () => {
    const { desk, questions, hub } = open();
    const asked = Array.from({ length: 10 }, () => desk.ask('crypto', 'A', NOW));
    await arrived(questions, 1);
    answer(hub, questions[0]!, reading(1));
    for (const one of asked) assert.deepEqual(await one, reading(1));
    assert.deepEqual(desk.ask('crypto', 'A', NOW + 999), reading(1));
    const again = desk.ask('crypto', 'A', NOW + 1000);
    await arrived(questions, 2);
    answer(hub, questions[1]!, reading(2));
    assert.deepEqual(await again, reading(2));
    assert.equal(questions.length, 2);
  });

  it('gives up waiting, and has it for the next who asks', async () => {
    const { desk, questions, hub } = open({ patienceMs: 1 });
    assert.deepEqual(await desk.ask('crypto', 'A', NOW), { kind: 'late' });
    assert.deepEqual(await desk.ask('crypto', 'A', NOW), { kind: 'late' });
    await arrived(questions, 1);
    answer(hub, questions[0]!, reading(1));
    while (desk.ask('crypto', 'A', NOW) instanceof Promise) await new Promise(setImmediate);
    assert.deepEqual(desk.ask('crypto', 'A', NOW), reading(1));
    assert.equal(questions.length, 1);
  });

  it('keeps what holds, and nothing else', async () => {
    const table: readonly [Reading<unknown>, boolean][] = [
      [reading(1), true],
      [{ kind: 'missing', until: NOW + 1000 }, true],
      [{ kind: 'limited', retryAfter: 1 }, false],
      [{ kind: 'down' }, false],
    ];
    const { desk, questions, hub } = open();
    for (const [index, [word]] of table.entries()) {
      const first = desk.ask('crypto', `k${index}`, NOW);
      await arrived(questions, index + 1);
      answer(hub, questions[index]!, word);
      assert.deepEqual(await first, word);
    }
    for (const [index, [word, isKept]] of table.entries()) {
      assert.equal(!(desk.ask('crypto', `k${index}`, NOW) instanceof Promise), isKept, word.kind);
    }
  });

  it('passes on only so many keys a second that it has not heard of', async () => {
    const { desk, questions, hub } = open({ newPerSecond: 2 });
    const first = desk.ask('crypto', 'A', NOW);
    await arrived(questions, 1);
    answer(hub, questions[0]!, reading(1, NOW + 10));
    await first;
    void desk.ask('crypto', 'B', NOW);
    assert.deepEqual(desk.ask('crypto', 'C', NOW), { kind: 'limited', retryAfter: 1 });
    assert.ok(desk.ask('crypto', 'A', NOW + 10) instanceof Promise, 'a key that it knows always passes');
    assert.ok(desk.ask('crypto', 'C', NOW + 1000) instanceof Promise);
  });

  it('does not ask for feeds that nobody has', () => {
    const { desk, questions } = open();
    const feeds: readonly FeedName[] = ['meteo', 'stock', 'forex'];
    for (const feed of feeds) {
      assert.deepEqual(desk.ask(feed, 'A', NOW), { kind: 'off' });
      assert.equal(desk.has(feed), false);
    }
    assert.equal(desk.has('crypto'), true);
    assert.deepEqual(questions, []);
  });

  it('shares the hub with other desks: one call for all', async () => {
    const source = new FakeSource('kraken');
    source.answers = [value(1)];
    const hub = makeHub({ feeds: feedsOf([source]), clock: () => NOW });
    const desks = Array.from({ length: 4 }, () => {
      const port = connectDesk(hub);
      ports.push(port);
      return openDesk({ port, offered: hub.offered });
    });
    const asked = desks.flatMap((desk) => [desk.ask('crypto', 'A', NOW), desk.ask('crypto', 'A', NOW)]);
    const readings = await Promise.all(asked.map(async (reading) => await reading));
    for (const one of readings) assert.ok(one.kind === 'value' && one.value.price === 1);
    assert.equal(source.calls.length, 1);
  });
});
