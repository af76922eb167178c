/** A clock that is set back by an hour: of control, of a node, of both. Messages of before must not pass for news of now. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFeedWorld } from '../../../test/support/feed/bus/feed-world.ts';
import { SUBJECTS } from '../bus/bus.ts';

const HOUR = 3_600_000;
const NAMESPACE = {
  type: 'namespace.upserted',
  namespace: 'acme',
  id: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d',
  publicRead: true,
  suspended: false,
  recordsCount: 0,
  createdAt: 0,
  updatedAt: 0,
} as const;

describe('a clock that is set back by an hour', () => {
  it('of control: heartbeats go on at once, and a node that was set back with it takes them', async () => {
    const world = createFeedWorld();
    const { broker, timers } = world;
    world.controlClockError = HOUR;
    world.nodeClockError = HOUR;
    world.publish('a');
    const node = world.node('n1');
    let heartbeats = 0;
    broker.connect('listener').subscribe(SUBJECTS.head, () => heartbeats++);
    await timers.advance(5_000);
    const [counted, before] = [node.refused.length, heartbeats];
    world.controlClockError = 0;
    world.nodeClockError = 0;
    await timers.advance(10_000);
    assert.ok(heartbeats - before >= 18, `${heartbeats - before} heartbeats in ten seconds`);
    const late = node.refused.length;
    assert.ok(late - counted < 10, `${late - counted} refused until control was asked`);
    await timers.advance(10_000);
    assert.equal(node.refused.length, late);
    await world.close();
  });

  it('of a node: what never came live is read elsewhere, although the node heard of control in the future', async () => {
    const world = createFeedWorld();
    const { broker, timers, origin } = world;
    world.publish('a');
    const node = world.node('n1');
    origin.write(NAMESPACE);
    await timers.advance(5_000);
    world.nodeClockError = -HOUR;
    broker.bend = (subject, data) => (subject === SUBJECTS.live ? null : data);
    origin.write(NAMESPACE);
    await timers.advance(5_000);
    assert.equal(node.view.cursor(), origin.state().cursor);
    await world.close();
  });
});
