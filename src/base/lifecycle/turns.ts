import type { Random } from '../chance.ts';
import { HASH_KEY_OCTETS, keyedHash } from '../hashes.ts';
import { FairQueue } from './fair-queue.ts';

export interface Turns {
  /**
   * Begins the work when it is the turn of who asks.
   * @param about what the work is for: that takes turns too, so that neither one asker nor many for one thing delay others. Default: the asker
   * @returns null: there was no room, or it gave way to others while it waited. Otherwise what the work returns, which must not be null
   */
  run<T>(asker: string, work: () => Promise<T>, about?: string): Promise<T | null>;
}

export interface TurnsOptions {
  readonly atOnce: number;
  /** Works that wait; above it who has most of them gives way. */
  readonly waiting: number;
  readonly random: Random;
}

/** Work that takes long for all, in turns by asker. */
export function createTurns({ atOnce, waiting, random }: TurnsOptions): Turns {
  // Nobody can choose a name that shares the turns of another.
  const share = keyedHash(random(HASH_KEY_OCTETS));
  const queue = new FairQueue<(mayBegin: boolean) => void>(waiting, (end) => end(false));
  let underWay = 0;

  function begin(asker: string, about: string): Promise<boolean> {
    if (underWay < atOnce) {
      underWay++;
      return Promise.resolve(true);
    }
    const [source, name] = [share(asker), share(about)];
    if (!queue.makeRoom(source, name)) return Promise.resolve(false);
    return new Promise((resolve) => queue.push(resolve, source, name));
  }

  function end(): void {
    const next = queue.next();
    // The place goes from one to the other: a newcomer cannot take it in between.
    if (next === undefined) underWay--;
    else next(true);
  }

  return {
    async run(asker, work, about = asker) {
      if (!(await begin(asker, about))) return null;
      try {
        return await work();
      } finally {
        end();
      }
    },
  };
}
