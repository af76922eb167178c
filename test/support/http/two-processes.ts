/** Two processes over one database, and races of two requests in every order that a step of the first allows. */
import { describe, it } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { assertAgrees } from '../store/agreement.ts';
import { onEachEngine } from '../store/engines.ts';
import { withStore } from '../store/fixtures.ts';
import { endedOrBlocked, steppedStore } from '../store/stepped.ts';
import { openWorld, type World } from './world.ts';

/** Two pieces of work that a round races, each in the process that it is given. */
interface Round<L, R> {
  readonly left: (world: World) => Promise<L>;
  readonly right: (world: World) => Promise<R>;
  /** Called when both have ended; a failure of one is its value. */
  readonly check: (left: L, right: R) => unknown;
}

export interface TwoProcesses {
  /** Of the first process, whose work stops. */
  readonly world: World;
  readonly store: Store;
  readonly advance: (ms: number) => void;
  /**
   * Races `left` and `right`: one of them stops before its first step while the other one runs until it has ended or waits for the first; the
   * same before each later step, and the same with the other one first. After that the tables agree.
   * @param begin makes what a round needs
   */
  readonly race: <L, R>(begin: () => Promise<Round<L, R>>) => Promise<void>;
}

/** More than any of ours has. */
const STEPS_MAX = 200;

/** Registers races of two processes on each engine. On SQLite, where units do not meet, work stops between units. */
export function raceScenarios(
  group: string,
  scenarios: Readonly<Record<string, (two: TwoProcesses) => Promise<void>>>,
): void {
  onEachEngine((create) => {
    describe(group, () => {
      for (const [name, run] of Object.entries(scenarios)) {
        it(name, () =>
          withStore(create, async (store, open) => {
            if (store.engine === 'postgres') await endDeadlocksSoon(store);
            const stepped = steppedStore(await open());
            const world = await openWorld(stepped.store);
            const met = steppedStore(await open());
            const other = await openWorld(met.store);
            const two: TwoProcesses = {
              world,
              store,
              advance(ms) {
                world.advance(ms);
                other.advance(ms);
              },
              async race(begin) {
                for (const first of ['left', 'right'] as const) {
                  for (let step = 0, isOver = false; !isOver; step++) {
                    if (step >= STEPS_MAX) throw new Error('the work has too many steps');
                    const { left, right, check } = await begin();
                    const works = first === 'left' ? [left, right] : [right, left];
                    const stop = stepped.stopAt(step);
                    const begun = settled(works[0]!(world));
                    const at = await Promise.race([stop.reached, begun.then(() => null)]);
                    isOver = at === null;
                    const beside = settled(works[1]!(other));
                    if (!isOver) await endedOrBlocked(beside, store.read);
                    stop.go();
                    const results = [await begun, await beside];
                    if (first === 'right') results.reverse();
                    try {
                      await check(...(results as [never, never]));
                    } catch (cause) {
                      throw new Error(`${first} stopped before its step ${step}: ${at}`, { cause });
                    }
                  }
                  await Promise.all([world.settle(), other.settle()]);
                  await assertAgrees(store, world.now());
                }
              },
            };
            await run(two);
            for (const one of [world, other]) await one.close();
            const repeated = [...stepped.repeated, ...met.repeated];
            if (repeated.length > 0) throw new Error(`units that met a deadlock: ${repeated.join()}`);
          }),
        );
      }
    });
  });
}

async function settled(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error);
}

/** The server looks for deadlocks after this time; no two units of ours should need it. */
async function endDeadlocksSoon(store: Store): Promise<void> {
  const { rows } = await store.read.execute<{ name: string }>('select current_database() as name', []);
  await store.read.execute(`alter database ${rows[0]!.name} set deadlock_timeout = '20ms'`, []);
}
