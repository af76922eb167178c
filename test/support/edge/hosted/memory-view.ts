import { applyChange, snapshotTarget, type ViewTarget } from '../../../../src/edge/hosted/apply.ts';
import type {
  HostedNamespace,
  HostedRecord,
  HostedToken,
  HostedView,
} from '../../../../src/edge/hosted/view.ts';
import type { ViewWriter } from '../../../../src/feed/view-writer.ts';

/** Passed to a second view, it acts as the file that outlives a process. */
export interface MemoryState {
  readonly namespaces: Map<string, HostedNamespace>;
  readonly tokens: Map<string, HostedToken>;
  readonly records: Map<string, HostedRecord>;
  cursor: number | null;
  epoch: string | null;
}

export interface MemoryView extends HostedView, ViewWriter {
  readonly state: MemoryState;
  /** Makes `isLost` true, as if the file had been deleted. */
  lose(): void;
}

function emptyState(): MemoryState {
  return { namespaces: new Map(), tokens: new Map(), records: new Map(), cursor: null, epoch: null };
}

/** Both ports over maps: the LMDB view's behaviour without a file. */
export function createMemoryView(state: MemoryState = emptyState()): MemoryView {
  const target = mapTarget(state);
  let isLost = false;
  return {
    state,
    namespace: (name) => state.namespaces.get(name) ?? null,
    token: (digest) => state.tokens.get(digest) ?? null,
    record: (key) => state.records.get(key) ?? null,
    anyBelow: (suffix) => [...state.records.keys()].some((key) => isAtOrBelow(key, suffix)),
    refresh: () => {},
    cursor: () => state.cursor,
    epoch: () => state.epoch,
    isLost: () => isLost,
    lose: () => {
      isLost = true;
    },
    apply: async (changes, cursor) => {
      for (const change of changes) applyChange(target, change);
      state.cursor = cursor;
    },
    rebuild: async () => {
      const staged = emptyState();
      const loading = snapshotTarget(mapTarget(staged));
      return {
        load: async (changes) => {
          for (const change of changes) applyChange(loading, change);
        },
        // No reader runs between these lines, so the replacement is one step.
        finish: async (changes, cursor, epoch) => {
          replaceMap(state.namespaces, staged.namespaces);
          replaceMap(state.tokens, staged.tokens);
          replaceMap(state.records, staged.records);
          for (const change of changes) applyChange(target, change);
          state.cursor = cursor;
          state.epoch = epoch;
          isLost = false;
        },
        discard: async () => {},
      };
    },
    close: async () => {},
  };
}

function replaceMap<T>(map: Map<string, T>, by: ReadonlyMap<string, T>): void {
  map.clear();
  for (const [key, value] of by) map.set(key, value);
}

function mapTarget({ namespaces, tokens, records }: MemoryState): ViewTarget {
  return {
    putRecord: (key, record) => void records.set(key, record),
    deleteRecord: (key) => void records.delete(key),
    putNamespace: (name, namespace) => void namespaces.set(name, namespace),
    dropNamespace(name) {
      namespaces.delete(name);
      for (const [digest, token] of tokens) if (token.namespace === name) tokens.delete(digest);
      for (const key of records.keys()) if (key.split('.').at(-2) === name) records.delete(key);
    },
    putToken: (digest, token) => void tokens.set(digest, token),
    deleteToken: (digest) => void tokens.delete(digest),
  };
}

function isAtOrBelow(key: string, suffix: string): boolean {
  return suffix === '' || key === suffix || key.endsWith(`.${suffix}`);
}
