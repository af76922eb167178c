import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFeedWorld } from '../../../test/support/feed/bus/feed-world.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { writeQuestion } from '../message/question.ts';

const RECORD: ChangeBody = {
  type: 'record.upserted',
  key: 'k.doc.acme.v1',
  resource: 'doc',
  namespace: 'acme',
  version: 'v1',
  data: 'b25l',
  contentType: 'text/plain',
  ttlSeconds: 300,
  expiresAt: null,
};
/** Questions of one node that are answered at once. */
const QUESTIONS_EACH = 8;
/** As many snapshots as the responder gives at once. */
const AT_ONCE = 4;

describe('the questions that control answers', () => {
  it('are answered with bounds that were read before the changes: a node never believes to be current too early (F14)', async () => {
    const world = createFeedWorld();
    world.publish('a');
    await world.timers.advance(1_000);
    const order: string[] = [];
    world.origin.before = (call) => void order.push(call);
    const answer = world.broker
      .connect('fra1')
      .request(
        subjectOfNode(SUBJECTS.get, 'fra1'),
        writeQuestion({ number: Buffer.alloc(16, 1), question: { ask: 'since', seq: 0, limit: 1 } }),
        60_000,
      );
    await world.timers.advance(100);
    await answer;
    assert.deepEqual(order.filter((call) => call !== 'page').slice(-2), ['bounds', 'since']);
    await world.close();
  });

  it('are so many at once of one node, and those of other nodes besides', async () => {
    const world = createFeedWorld();
    world.publish('a');
    await world.timers.advance(1_000);
    const question = (i: number) =>
      writeQuestion({ number: Buffer.alloc(16, i), question: { ask: 'since', seq: 0, limit: 1 } });
    const release = Promise.withResolvers<void>();
    const since = world.origin.since.bind(world.origin);
    world.origin.since = async (...args) => {
      await release.promise;
      return since(...args);
    };
    const ask = (node: string, i: number): Promise<number> =>
      world.broker
        .connect(node)
        .request(subjectOfNode(SUBJECTS.get, node), question(i), 60_000)
        .then(({ length }) => length);
    const greedy = Array.from({ length: QUESTIONS_EACH + 2 }, (_, i) => ask('greedy', i));
    await world.timers.advance(100);
    const other = ask('other', 99);
    await world.timers.advance(100);
    release.resolve();
    await world.timers.advance(1_000);
    const empty = (await Promise.all(greedy)).filter((length) => length === 0);
    assert.equal(empty.length, 2);
    assert.ok((await other) > 0);
    await world.close();
  });
});

describe('the snapshots that control answers', () => {
  it('make room for the next one with their last page', async () => {
    const world = createFeedWorld();
    world.publish('a');
    world.origin.write(RECORD);
    await world.timers.advance(1_000);
    const nodes = Array.from({ length: 2 * AT_ONCE }, (_, i) => world.node(`n${i}`));
    await world.timers.advance(3_000);
    assert.deepEqual(
      nodes.map(({ view }) => view.cursor()),
      nodes.map(() => 1),
    );
    await world.close();
  });

  it('which nodes have left make room after five seconds', async () => {
    const world = createFeedWorld();
    world.publish('a');
    world.origin.write(RECORD);
    await world.timers.advance(1_000);
    for (let i = 0; i < AT_ONCE; i++) {
      const question = writeQuestion({ number: Buffer.alloc(16, i), question: { ask: 'snapshot' } });
      const killed = world.broker.connect(`killed${i}`);
      void killed.request(subjectOfNode(SUBJECTS.get, `killed${i}`), question, 2_000).catch(() => {});
    }
    await world.timers.advance(100);
    const node = world.node('n1');
    await world.timers.advance(3_000);
    assert.equal(node.view.cursor(), null);
    await world.timers.advance(3_000);
    assert.equal(node.view.cursor(), 1);
    await world.close();
  });
});
