import { marksOf } from '../../store/engine/unit-marks.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import type { Position } from './positions.ts';

/**
 * The same dependencies, with a store that tells where each unit of work ended in the feed.
 * @param onWritten called after the commit of a unit that appended changes
 */
export function noting<D extends HasStore & HasClock>(deps: D, onWritten: (position: Position) => void): D {
  const store: Store = {
    ...deps.store,
    async write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      const at = deps.clock();
      let seq: number | null = null;
      const result = await deps.store.write(async (tx) => {
        const value = await work(tx);
        ({ seq } = marksOf(tx));
        return value;
      });
      if (seq !== null) onWritten({ seq, at });
      return result;
    },
  };
  return { ...deps, store };
}
