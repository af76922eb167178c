import type { FreshnessCounters } from '../freshness.ts';
import type { HostedView } from '../view.ts';
import { openForReading, type Tree } from './tree.ts';
import { generationPath, readState } from './view-directory.ts';
import { type Bytes, isBelow, namespaceKey, recordKey, seekBelow, tokenKey } from './view-keys.ts';
import { decodeNamespace, decodeRecord, decodeToken } from './view-values.ts';

export interface LmdbReaderOptions {
  /** Directory of the view. */
  readonly path: string;
  /**
   * Of the process whose follower writes the view: they tell of commits and of a replaced view. Without them every `refresh`
   * takes a new snapshot and reads the state file.
   */
  readonly freshness?: Pick<FreshnessCounters, 'commits' | 'generation'>;
}

export interface LmdbReader extends HostedView {
  close(): Promise<void>;
}

/** A view that is replaced while it is opened is opened again, this many times. */
const OPEN_TRIES = 5;

/**
 * Opens the view for reading: in any thread of the process that writes it, once the writer is open, or in another process.
 *
 * A read sees everything committed before the event loop's present turn began, and after `refresh` everything committed before
 * that, in the view that serves then.
 *
 * @throws Error when there is no readable view in the directory
 */
export function openLmdbReader({ path, freshness }: LmdbReaderOptions): LmdbReader {
  // Before the view is opened: a commit between the two is seen by the next refresh.
  let seen = freshness?.commits() ?? 0;
  const serving = (): number => freshness?.generation() || (readState(path)?.generation ?? 0);
  let { tree, generation } = openServing(path, serving);
  const get = <T>(key: Bytes | null, decode: (bytes: Buffer) => T): T | null => {
    const bytes = key === null ? undefined : tree.getBinaryFast(key);
    return bytes === undefined ? null : decode(bytes);
  };
  return {
    namespace: (name) => get(namespaceKey(name), decodeNamespace),
    token: (digest) => get(tokenKey(digest), decodeToken),
    record: (key) => get(recordKey(key), decodeRecord),
    anyBelow(suffix) {
      for (const found of tree.getKeys({ start: seekBelow(suffix), limit: 1 })) return isBelow(found, suffix);
      return false;
    },
    refresh() {
      if (freshness !== undefined) {
        const commits = freshness.commits();
        if (commits === seen) return;
        seen = commits;
      }
      if (serving() === generation) {
        tree.resetReadTxn();
        return;
      }
      try {
        const next = openServing(path, serving);
        void tree.close();
        ({ tree, generation } = next);
      } catch {
        // Out of file handles, perhaps. The old view stays whole; the next refresh tries again.
        seen--;
        tree.resetReadTxn();
      }
    },
    close: () => tree.close(),
  };
}

function openServing(directory: string, serving: () => number): { tree: Tree; generation: number } {
  for (let attempt = 1; ; attempt++) {
    const generation = serving();
    try {
      return { tree: openForReading(generationPath(directory, generation)), generation };
    } catch (error) {
      if (serving() === generation || attempt === OPEN_TRIES) throw error;
    }
  }
}
