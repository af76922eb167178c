import type { FreshnessCounters } from '../freshness.ts';
import type { HostedView } from '../view.ts';
import { openForReading, type Tree } from './tree.ts';
import { generationPath, readState } from './view-directory.ts';
import { type Bytes, isBelow, namespaceKey, recordKey, seekBelow, tokenKey } from './view-keys.ts';
import { decodeNamespace, decodeRecord, decodeToken } from './view-values.ts';

export interface LmdbReaderOptions {
  readonly path: string;
  /**
   * Shared with the writer's process; they announce commits and a replaced view. Without them every `refresh` takes a
   * new snapshot and reads the state file.
   */
  readonly freshness?: Pick<FreshnessCounters, 'commits' | 'generation'>;
}

export interface LmdbReader extends HostedView {
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
export function openLmdbReader({ path, freshness }: LmdbReaderOptions): LmdbReader {
  // Read before the view opens: the next refresh then sees a commit between the two.
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
        // Out of file handles, perhaps. The old view stays whole; the next refresh retries.
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
