/** What goes wrong with the database, and what that means for those who judge what is seen. */
import { type CopyName, QUIET_DATABASE } from './database.ts';
import type { World } from './world.ts';

/** Something that goes wrong, and how it ends. */
export interface Harm {
  readonly name: string;
  readonly weight: number;
  /** @returns ends it; null: it has no end of its own */
  begin(world: World): (() => void) | null;
}

export const DATABASE_HARMS: readonly Harm[] = [
  {
    name: 'database: is down',
    weight: 3,
    begin({ database }) {
      database.isDown = true;
      return () => {
        database.isDown = false;
      };
    },
  },
  {
    name: 'database: announces nothing',
    weight: 2,
    begin({ database }) {
      database.isMute = true;
      return () => {
        database.isMute = false;
      };
    },
  },
  {
    name: 'database: is slow, and units run again',
    weight: 3,
    begin({ database, random }) {
      database.faults = { ...QUIET_DATABASE, slow: 0.8, delayMs: random.pick([20, 300, 2_000]), again: 0.3 };
      return () => {
        database.faults = QUIET_DATABASE;
      };
    },
  },
  {
    name: 'database: loses connections',
    weight: 3,
    begin({ database }) {
      database.faults = { ...QUIET_DATABASE, lostBefore: 0.1, lostAfter: 0.1, lostRead: 0.05 };
      return () => {
        database.faults = QUIET_DATABASE;
      };
    },
  },
  {
    name: 'database: log is pruned',
    weight: 1,
    begin({ database, truth, random }) {
      const left = random.between(0, 10);
      // What nobody has looked at yet would be missing from the history too.
      void truth.catchUp().then(() => database.prune(left));
      return null;
    },
  },
  {
    name: 'database: is backed up',
    weight: 1,
    begin({ database }) {
      database.copy('backup');
      return null;
    },
  },
  {
    name: 'database: is restored',
    weight: 1.5,
    begin(world) {
      // A database is restored while control is stopped.
      for (const control of world.controls) control.kill();
      for (const node of world.nodes) if (node.hasStore) node.kill();
      world.publishing?.kill();
      replaceBy('backup', world, false);
      return () => {
        for (const control of world.controls) if (!control.isRunning()) control.start();
        for (const node of world.nodes) if (node.hasStore && !node.isRunning()) node.start();
      };
    },
  },
];

/** Begun after the standby has got its last commit. It takes the place of the database under running control, and may not answer at once. */
export const FAILOVER: Harm = {
  name: 'database: fails over',
  weight: 1,
  begin(world) {
    const { controls, database, lock, publishing, random } = world;
    for (const control of controls) control.disconnect();
    publishing?.disconnect();
    // Its session was at the server that is gone.
    if (random.chance(0.5)) lock.revoke();
    else lock.steal();
    replaceBy('standby', world, true);
    database.isDown = random.chance(0.5);
    return () => {
      database.isDown = false;
    };
  },
};

/** @param mayStill what was asked before may still be done */
function replaceBy(name: CopyName, world: World, mayStill: boolean): void {
  const { database, truth, customers, datasets, usage } = world;
  usage.excuse();
  world.keysRestored();
  const at = database.copiedAt(name) ?? 0;
  // At once: what is asked for from now on is asked of the other database.
  customers.restored(at, mayStill);
  datasets.restored(at);
  void database.replaceBy(name, () => truth.catchUp());
}
