import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { FakeSource, feedsOf, market, value } from '../../../test/support/services/providers/fake-feeds.ts';
import { makeProviderClient } from './client.ts';
import type { FeedName } from './feeds.ts';
import type { Reading } from './outcome.ts';
import {
  connectWorker,
  openWorkerProviders,
  type Providers,
  type Question,
  type ReadingOfQuestion,
  type WorkerProvidersOptions,
} from './worker.ts';

const NOW = Date.UTC(2026, 0, 1);
const reading = (price: number, until = NOW + 1000): Reading<unknown> => ({
  kind: 'value',
  value: market(price),
  time: NOW,
  at: NOW,
  freshUntil: until,
  until,
});

describe('the providers of a worker', () => {
  let ports: MessagePort[] = [];
  /** Who asks. */
  let share = 0;
  afterEach(() => {
    share = 0;
    for (const port of ports) port.close();
    ports = [];
  });

  /** A worker's side and the other end of its port: the test reads questions and sends answers. */
  function open(options: Partial<WorkerProvidersOptions> = {}): {
    worker: Providers;
    questions: Question[];
    client: MessagePort;
  } {
    const { port1: client, port2: port } = new MessageChannel();
    ports.push(client);
    const questions: Question[] = [];
    client.on('message', (question: Question) => questions.push(question));
    return {
      worker: openWorkerProviders({ port, offered: ['crypto'], shareNow: () => share, ...options }),
      questions,
      client,
    };
  }

  const arrived = async (questions: Question[], count: number): Promise<void> => {
    while (questions.length < count) await new Promise(setImmediate);
  };
  const answer = (client: MessagePort, question: Question, reading: Reading<unknown>): void =>
    client.postMessage({ id: question.id, reading } satisfies ReadingOfQuestion);

  it('asks once for those who wait together, and answers at once while the value holds', async () => {
    const { worker, questions, client } = open();
    const asked = Array.from({ length: 10 }, () => worker.ask('crypto', 'A', NOW));
    await arrived(questions, 1);
    answer(client, questions[0]!, reading(1));
    for (const one of asked) assert.deepEqual(await one, reading(1));
    assert.deepEqual(worker.ask('crypto', 'A', NOW + 999), reading(1));
    const again = worker.ask('crypto', 'A', NOW + 1000);
    await arrived(questions, 2);
    answer(client, questions[1]!, reading(2));
    assert.deepEqual(await again, reading(2));
    assert.equal(questions.length, 2);
  });

  it('gives up waiting, and has it for the next who asks', async () => {
    const { worker, questions, client } = open({ patienceMs: 1 });
    assert.deepEqual(await worker.ask('crypto', 'A', NOW), { kind: 'late' });
    assert.deepEqual(await worker.ask('crypto', 'A', NOW), { kind: 'late' });
    await arrived(questions, 1);
    answer(client, questions[0]!, reading(1));
    while (worker.ask('crypto', 'A', NOW) instanceof Promise) await new Promise(setImmediate);
    assert.deepEqual(worker.ask('crypto', 'A', NOW), reading(1));
    assert.equal(questions.length, 1);
  });

  it('asks again when the clock was set back, and does not hold a value until it has caught up', async () => {
    const { worker, questions, client } = open();
    const first = worker.ask('crypto', 'A', NOW);
    await arrived(questions, 1);
    answer(client, questions[0]!, reading(1));
    await first;
    const again = worker.ask('crypto', 'A', NOW - 2 * 3_600_000);
    assert.ok(again instanceof Promise);
    await arrived(questions, 2);
    answer(client, questions[1]!, reading(2));
    assert.deepEqual(await again, reading(2));
  });

  it('keeps what holds, and nothing else', async () => {
    const table: readonly [Reading<unknown>, boolean][] = [
      [reading(1), true],
      [{ kind: 'missing', until: NOW + 1000 }, true],
      [{ kind: 'limited', retryAfter: 1 }, false],
      [{ kind: 'down' }, false],
    ];
    const { worker, questions, client } = open();
    for (const [index, [word]] of table.entries()) {
      const first = worker.ask('crypto', `k${index}`, NOW);
      await arrived(questions, index + 1);
      answer(client, questions[index]!, word);
      assert.deepEqual(await first, word);
    }
    for (const [index, [word, isKept]] of table.entries()) {
      assert.equal(!(worker.ask('crypto', `k${index}`, NOW) instanceof Promise), isKept, word.kind);
    }
  });

  it('passes on only so many keys a second that it has not heard of, and of one asker half of what is left', async () => {
    const { worker, questions, client } = open({ offered: ['crypto', 'meteo'], newPerSecond: 4 });
    const isBusy = (key: string, now = NOW, feed: FeedName = 'crypto'): boolean => {
      const answer = worker.ask(feed, key, now);
      if (answer instanceof Promise) return false;
      assert.deepEqual(answer, { kind: 'limited', retryAfter: 1 });
      return true;
    };
    const first = worker.ask('crypto', 'A', NOW);
    await arrived(questions, 1);
    answer(client, questions[0]!, reading(1, NOW + 10));
    await first;
    assert.deepEqual(
      ['B', 'C', 'D'].map((key) => isBusy(key)),
      [false, true, true],
    );
    assert.ok(!isBusy('A', NOW + 10), 'a key that it knows always passes');
    share = 2;
    assert.deepEqual(
      ['C', 'D'].map((key) => isBusy(key)),
      [false, true],
    );
    share = 5;
    assert.ok(isBusy('D'), 'of one feed two thirds');
    assert.deepEqual(
      ['D', 'E'].map((key) => isBusy(key, NOW, 'meteo')),
      [false, true],
    );
    assert.ok(!isBusy('E', NOW + 1000));
  });

  it('new keys of one feed from all sources, also with forged addresses, leave room for another feed', () => {
    const { worker } = open({ offered: ['crypto', 'meteo'], newPerSecond: 90 });
    const isBusy = (feed: FeedName, key: string): boolean => !(worker.ask(feed, key, NOW) instanceof Promise);
    let had = 0;
    for (let i = 0; i < 1000; i++) {
      share = i % 128;
      if (!isBusy('meteo', `${i}_0`)) had++;
    }
    assert.equal(had, 60);
    share = 1;
    assert.equal(isBusy('crypto', 'A'), false);
  });

  it('asks again for those who waited with one that had no room', async () => {
    const { worker, questions, client } = open();
    const askers = [0, 0, 2, 4].map((one) => {
      share = one;
      return worker.ask('crypto', 'A', NOW);
    });
    await arrived(questions, 1);
    const limited: Reading<never> = { kind: 'limited', retryAfter: 7 };
    answer(client, questions[0]!, limited);
    assert.deepEqual([await askers[0], await askers[1]], [limited, limited]);
    await arrived(questions, 2);
    answer(client, questions[1]!, reading(1));
    assert.deepEqual([await askers[2], await askers[3]], [reading(1), reading(1)]);
    assert.deepEqual(
      questions.map((question) => question.share),
      [0, 2],
    );
  });

  it('does not ask for feeds without a source', () => {
    const { worker, questions } = open();
    const feeds: readonly FeedName[] = ['meteo', 'stock', 'forex'];
    for (const feed of feeds) {
      assert.deepEqual(worker.ask(feed, 'A', NOW), { kind: 'off' });
      assert.equal(worker.has(feed), false);
    }
    assert.equal(worker.has('crypto'), true);
    assert.deepEqual(questions, []);
  });

  it('shares the client with other workers: one call for all', async () => {
    const source = new FakeSource('kraken');
    source.answers = [value(1)];
    const client = makeProviderClient({ feeds: feedsOf([source]), clock: () => NOW });
    const workers = Array.from({ length: 4 }, () => {
      const port = connectWorker(client);
      ports.push(port);
      return openWorkerProviders({ port, offered: client.offered, shareNow: () => 0 });
    });
    const asked = workers.flatMap((worker) => [
      worker.ask('crypto', 'A', NOW),
      worker.ask('crypto', 'A', NOW),
    ]);
    const readings = await Promise.all(asked.map(async (reading) => await reading));
    for (const one of readings) assert.ok(one.kind === 'value' && one.value.price === 1);
    assert.equal(source.calls.length, 1);
  });
});
