import { systemFiles } from '../base/files.ts';
import { pause, type Timers } from '../base/lifecycle/timers.ts';
import { datasetReader } from './datasets/dataset-table.ts';
import { type FreshnessCounters, isChanging } from './freshness.ts';
import { hostedReader, type ReadTree } from './hosted/record-reader.ts';
import { openForReading, type Tree } from './lmdb/tree.ts';
import { generationPath, readState } from './lmdb/view-directory.ts';
import type { DatasetView, HostedView } from './view.ts';

export interface LmdbReaderOptions {
  readonly path: string;
  /**
   * Shared with the writer's process; they announce commits and a replaced view. Without them every `refresh` takes a
   * new snapshot and reads the state file.
   */
  readonly freshness?: Pick<FreshnessCounters, 'commits' | 'generation'>;
}

export interface LmdbReader extends HostedView {
  readonly datasets: DatasetView;
  close(): Promise<void>;
}

/** A view that is replaced while it opens is opened again, this many times. */
const OPEN_TRIES = 5;

/**
 * Opens the view for reading: in any thread of the writer's process, after the writer, or in another process.
 * A read sees everything committed before the current event loop tick. After `refresh` it sees everything committed
 * before that call, in the view that serves then.
 * @throws Error when there is no readable view in the directory
 */
export function openLmdbReader(options: LmdbReaderOptions): LmdbReader {
  const { path, freshness } = options;
  // Read before the view opens: the next refresh then sees a commit between the two.
  let seen = freshness?.commits() ?? 0;
  const serving = (): number => servingGeneration(options);
  const current = openServing(path, serving);
  return {
    ...hostedReader(current),
    datasets: datasetReader(current),
    refresh() {
      if (freshness !== undefined) {
        const commits = freshness.commits();
        if (commits === seen && !isChanging(commits)) return;
        seen = commits;
      }
      current.anyExpired = null;
      if (serving() === current.generation) {
        current.tree.resetReadTxn();
        return;
      }
      try {
        const next = openServing(path, serving);
        void current.tree.close();
        Object.assign(current, next);
      } catch {
        // Out of file handles, perhaps. The old view stays whole; the next refresh retries.
        seen--;
        current.tree.resetReadTxn();
      }
    },
    close: () => current.tree.close(),
  };
}

function servingGeneration({ path, freshness }: LmdbReaderOptions): number {
  return freshness?.generation() || (readState(path)?.generation ?? 0);
}

/** The writer makes a file whole right after a commit, which a busy machine may delay. */
const [LOOKS, LOOK_MS] = [100, 10];

/** As `openLmdbReader`, for the start of a thread: waits up to a second while the file is there and not whole. */
export async function openLmdbReaderOnceWhole(
  options: LmdbReaderOptions,
  timers: Timers,
): Promise<LmdbReader> {
  for (let look = 1; ; look++) {
    try {
      return openLmdbReader(options);
    } catch (error) {
      const isThere = systemFiles.facts(generationPath(options.path, servingGeneration(options))) !== null;
      if (!isThere || look === LOOKS) throw error;
    }
    await pause(timers, LOOK_MS);
  }
}

interface Serving extends ReadTree {
  tree: Tree;
  generation: number;
}

function openServing(directory: string, serving: () => number): Serving {
  for (let attempt = 1; ; attempt++) {
    const generation = serving();
    try {
      return { tree: openForReading(generationPath(directory, generation)), generation, anyExpired: null };
    } catch (error) {
      if (serving() === generation || attempt === OPEN_TRIES) throw error;
    }
  }
}
