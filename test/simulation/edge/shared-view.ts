/**
 * A view and its counters as threads share them: the follower commits and counts, workers read in between. A question is answered without
 * a pause here, so what another thread does meanwhile is played: its reads begin at an instant before the commit, and go on in the present
 * from one of them on.
 */
import { createFreshness, type FreshnessCounters, isChanging } from '../../../src/view/freshness.ts';
import type { DatasetView, HostedView } from '../../../src/view/view.ts';
import { createMemoryView, type MemoryState, type MemoryView } from '../../support/view/memory-view.ts';

export type ReadableView = HostedView & { readonly datasets: DatasetView };

/** What one worker reads. */
export interface WorkerView {
  readonly view: ReadableView;
  readonly freshness: Pick<
    FreshnessCounters,
    'read' | 'counterOfKey' | 'counterOfNamespace' | 'counterOfAccess'
  >;
  /** A question arrives: from here on it sees what is committed now, or what `hold` kept. */
  begin(): void;
}

export interface SharedView {
  /** The follower's. */
  readonly freshness: FreshnessCounters;
  worker(): WorkerView;
  /** The instant before the commit that is under way is kept. @param names whose counters the question will read */
  hold(names: { readonly key: string; readonly namespace: string }): void;
  /** Runs a question whose first reads are of the instant that was kept. @param reads how many */
  inPast<T>(reads: number, run: () => T): T;
  /** What was kept; null: nothing is. */
  kept(): ReadableView | null;
}

interface Kept {
  readonly view: MemoryView;
  readonly counts: ReadonlyMap<number, number>;
  readonly commits: number;
  /** Reads that are left to it. */
  left: number;
}

export function shareView(view: MemoryView): SharedView {
  // The same names share counters in every run of a seed.
  const freshness = createFreshness((octets) => new Uint8Array(octets));
  let kept: Kept | null = null;

  /** One read of a worker. @returns what it reads from in place of the present */
  function read(): Kept | null {
    if (kept === null || kept.left === 0) return null;
    kept.left--;
    return kept;
  }

  return {
    freshness,
    kept: () => kept?.view ?? null,
    hold({ key, namespace }) {
      const { counterOfAccess } = freshness;
      const indices = [freshness.counterOfKey(key), freshness.counterOfNamespace(namespace), counterOfAccess];
      const counts = new Map(indices.map((index) => [index, before(freshness.read(index))]));
      const commits = before(freshness.commits());
      kept = { view: createMemoryView(copied(view.state)), counts, commits, left: 0 };
    },
    inPast(reads, run) {
      if (kept !== null) kept.left = reads;
      try {
        return run();
      } finally {
        kept = null;
      }
    },
    worker() {
      let seen = freshness.commits();
      let version: ReadableView = view;
      const reading =
        <Args extends unknown[], Result>(get: (from: ReadableView, ...args: Args) => Result) =>
        (...args: Args): Result => {
          read();
          return get(version, ...args);
        };
      return {
        begin() {
          // As the library of the view: a turn of the event loop ends the snapshot of the turn before.
          version = kept !== null && kept.left > 0 ? kept.view : view;
        },
        freshness: {
          counterOfKey: (key) => freshness.counterOfKey(key),
          counterOfNamespace: (name) => freshness.counterOfNamespace(name),
          counterOfAccess: freshness.counterOfAccess,
          read: (index) => read()?.counts.get(index) ?? freshness.read(index),
        },
        view: {
          datasets: {
            manifest: reading((from, slug: string, of: string | null) => from.datasets.manifest(slug, of)),
            identity: reading((from, slug: string, item: string) => from.datasets.identity(slug, item)),
            keys: reading((from) => from.datasets.keys()),
            proof: reading((from, slug: string, of: string | null) => from.datasets.proof(slug, of)),
            checkpoint: reading((from) => from.datasets.checkpoint()),
          },
          namespace: reading((from, name: string) => from.namespace(name)),
          token: reading((from, digest: string) => from.token(digest)),
          record: reading((from, key: string) => from.record(key)),
          hasExpired: reading((from, key: string, id: string, now: number) => from.hasExpired(key, id, now)),
          maxTtl: reading((from, name: string) => from.maxTtl(name)),
          anyBelow: reading((from, suffix: string) => from.anyBelow(suffix)),
          refresh() {
            const from = read();
            const commits = from?.commits ?? freshness.commits();
            if (commits === seen && !isChanging(commits)) return;
            seen = commits;
            version = from?.view ?? view;
          },
        },
      };
    },
  };
}

/** What the counter was when the commit under way began. */
function before(count: number): number {
  return isChanging(count) ? count - 1 : count;
}

function copied(state: MemoryState): MemoryState {
  const { datasets } = state;
  return {
    ...state,
    namespaces: new Map(state.namespaces),
    tokens: new Map(state.tokens),
    records: new Map(state.records),
    maxTtls: new Map(state.maxTtls),
    expired: new Map(state.expired),
    datasets: {
      keys: new Map(datasets.keys),
      manifests: new Map(datasets.manifests),
      items: new Map(datasets.items),
      proofs: new Map(datasets.proofs),
      retired: new Map(datasets.retired),
      checkpoint: new Map(datasets.checkpoint),
    },
  };
}
