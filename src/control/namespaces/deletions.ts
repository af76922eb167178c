import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { loop } from '../../lifecycle/loop.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import type { Store } from '../store/store.ts';
import { closingNamespaces } from '../store/tables/namespaces.ts';
import { deleteSome } from './delete.ts';

/** Milliseconds between looks for deletions that a process left unfinished. */
const LOOK_MS = 5_000;
/** The longest pause after a unit, milliseconds. The pause is as long as the unit took, so that others can write. */
const REST_MAX_MS = 50;
/** Namespaces looked up at a time. */
const PAGE = 100;

interface DeletionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told of a pass that failed, which is tried again. */
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes what belongs to closed namespaces, unit by unit, until aborted; also what a process that was killed left behind.
 * Several processes may do so on one database. Resolves when it has stopped; never rejects.
 */
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

/** Deletes everything that is closed now, or until the signal is aborted. */
export async function deleteClosed({
  store,
  clock,
  signal,
}: Pick<DeletionsOptions, 'store' | 'clock' | 'signal'>): Promise<void> {
  for (;;) {
    const ids = await closingNamespaces(store.read, PAGE);
    // One unit of each in turn: a large namespace does not keep the names of small ones taken.
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
