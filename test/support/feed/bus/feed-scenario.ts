import { it } from 'node:test';
import { namespaceUpserted } from '../../view/view-changes.ts';
import { createFeedWorld, type FeedWorld } from './feed-world.ts';

/** What scenarios write when it may be anything. */
export const NAMESPACE = namespaceUpserted('acme', true);

/** A test in a world of its own. */
export const feedScenario = (title: string, run: (world: FeedWorld) => Promise<void>): void => {
  it(title, async () => {
    const world = createFeedWorld();
    try {
      await run(world);
    } finally {
      await world.close();
    }
  });
};

/** A publisher that has sent one change. */
export async function publishOne(world: FeedWorld): Promise<void> {
  world.publish('a');
  await world.timers.advance(100);
  world.origin.write(NAMESPACE);
  await world.timers.advance(100);
}
