import {
  perform,
  snapshotOperations,
  type ViewOperation,
  type ViewTarget,
  viewOperations,
} from '../../../../src/edge/hosted/apply.ts';
import type {
  HostedNamespace,
  HostedRecord,
  HostedToken,
  HostedView,
} from '../../../../src/edge/hosted/view.ts';
import type { ViewWriter } from '../../../../src/feed/view-writer.ts';

/** What a memory view holds; handed to a second one, it plays the file that outlives a process. */
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

/** Both ports over maps: what the LMDB view does, without a file. For tests. */
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
      for (const operation of viewOperations(changes)) perform(target, operation);
      state.cursor = cursor;
    },
    rebuild: async () => {
      const staged: ViewOperation[] = [];
      return {
        load: async (changes) => {
          staged.push(...snapshotOperations(changes));
        },
        // No reader runs between these lines, so the replacement is one step.
        finish: async (changes, cursor, epoch) => {
          const operations = [...staged, ...viewOperations(changes)];
          for (const map of [state.namespaces, state.tokens, state.records]) map.clear();
          for (const operation of operations) perform(target, operation);
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

function mapTarget({ namespaces, tokens, records }: MemoryState): ViewTarget {
  return {
    'put-record': ({ key, record }) => records.set(key, record),
    'delete-record': ({ key }) => records.delete(key),
    'put-namespace': ({ name, namespace }) => namespaces.set(name, namespace),
    'drop-namespace': ({ name }) => {
      namespaces.delete(name);
      for (const [digest, token] of tokens) if (token.namespace === name) tokens.delete(digest);
      for (const key of records.keys()) if (key.split('.').at(-2) === name) records.delete(key);
    },
    'put-token': ({ digest, token }) => tokens.set(digest, token),
    'delete-token': ({ digest }) => tokens.delete(digest),
  };
}

function isAtOrBelow(key: string, suffix: string): boolean {
  return suffix === '' || key === suffix || key.endsWith(`.${suffix}`);
}
