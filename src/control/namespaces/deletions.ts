import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { loop } from '../../lifecycle/loop.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import type { Store } from '../store/store.ts';
import { closingNamespaces } from '../store/tables/namespaces.ts';
import { deleteSome } from './delete.ts';

/** Milliseconds between searches for deletions that another process left unfinished. */
const LOOK_MS = 5_000;
/** Longest pause after a unit, milliseconds. A pause is as long as its unit took, so that others can write. */
const REST_MAX_MS = 50;
/** Namespaces in one search. */
const PAGE = 100;

interface DeletionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when a pass failed. The next pass tries again. */
  readonly onError: (error: unknown) => void;
}

/** Deletes closed namespaces until aborted; several processes may do so on one database. Never rejects. */
export async function startDeletions(options: DeletionsOptions): Promise<void> {
  const { store, signal, onError } = options;
  const waker = createWaker(signal);
  const unlisten = store.onWork('deletions', () => waker.wake());
  const pass = async (): Promise<number> => {
    await deleteClosed(options);
    return LOOK_MS;
  };
  await loop({ signal, waker, pass, onError });
  unlisten();
}

export async function deleteClosed({
  store,
  clock,
  signal,
}: Pick<DeletionsOptions, 'store' | 'clock' | 'signal'>): Promise<void> {
  for (;;) {
    const ids = await closingNamespaces(store.read, PAGE);
    // One unit of each namespace in turn: a large one does not block the names of small ones.
    for (const id of ids) {
      if (signal.aborted) return;
      const began = performance.now();
      await store.write((tx) => deleteSome(tx, id, clock()));
      const rest = Math.min(REST_MAX_MS, performance.now() - began);
      await sleep(rest, undefined, { signal }).catch(() => {});
    }
    if (ids.length === 0) return;
  }
}
