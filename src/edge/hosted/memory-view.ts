import { perform, snapshotOperations, type ViewOperation, type ViewTarget, viewOperations } from './apply.ts';
import type { HostedNamespace, HostedRecord, HostedToken, HostedView, ViewWriter } from './view.ts';

/** What a memory view holds; handed to a second one, it plays the file that outlives a process. */
export interface MemoryState {
  readonly namespaces: Map<string, HostedNamespace>;
  readonly tokens: Map<string, HostedToken>;
  readonly records: Map<string, HostedRecord>;
  cursor: number | null;
}

export interface MemoryView extends HostedView, ViewWriter {
  readonly state: MemoryState;
}

/** Both ports over maps: what the LMDB view does, without a file. For tests, and for a node without synchronisation. */
export function createMemoryView(
  state: MemoryState = { namespaces: new Map(), tokens: new Map(), records: new Map(), cursor: null },
): MemoryView {
  const target = mapTarget(state);
  let staged: ViewOperation[] = [];
  return {
    state,
    namespace: (name) => state.namespaces.get(name) ?? null,
    token: (digest) => state.tokens.get(digest) ?? null,
    record: (key) => state.records.get(key) ?? null,
    anyBelow: (suffix) => [...state.records.keys()].some((key) => isAtOrBelow(key, suffix)),
    refresh: () => {},
    cursor: () => state.cursor,
    apply: async (changes, cursor) => {
      const operations = [...staged, ...viewOperations(changes)];
      staged = [];
      for (const operation of operations) perform(target, operation);
      state.cursor = cursor;
    },
    clear: async () => {
      staged = [];
      for (const map of [state.namespaces, state.tokens, state.records]) map.clear();
      state.cursor = null;
    },
    load: async (changes) => {
      staged.push(...snapshotOperations(changes));
    },
    close: async () => {
      staged = [];
    },
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
