import { deserialize, serialize } from 'node:v8';
import { LIMITS } from '../../../src/base/limits.ts';
import { UnfitFileError, type ViewWriter } from '../../../src/feed/ports/view-writer.ts';
import { afterPages, applyChange, snapshotTarget, type ViewTarget } from '../../../src/view/apply.ts';
import { periodOf } from '../../../src/view/hosted/record-table.ts';
import type {
  DatasetView,
  HostedNamespace,
  HostedRecord,
  HostedToken,
  HostedView,
} from '../../../src/view/view.ts';
import {
  type DatasetState,
  datasetMaps,
  emptyDatasets,
  memoryDatasets,
  replaceDatasets,
} from './datasets/memory-datasets.ts';

/** Passed to a second view, it acts as the file that outlives a process. */
export interface MemoryState {
  readonly namespaces: Map<string, HostedNamespace>;
  readonly tokens: Map<string, HostedToken>;
  readonly records: Map<string, HostedRecord | 'withheld'>;
  readonly maxTtls: Map<string, number>;
  /** Time of expiry by namespace id and key. */
  readonly expired: Map<string, number>;
  readonly datasets: DatasetState;
  cursor: number | null;
  epoch: string | null;
}

export interface MemoryView extends HostedView, ViewWriter {
  readonly state: MemoryState;
  readonly datasets: DatasetView;
  /** Makes `isLost` true, as if the file had been deleted. */
  lose(): void;
  /** The whole view as the content of a file, for `adopt`. */
  copy(): Uint8Array;
}

/** What a view returned for a record, as text: its payload. */
export function payloadText(record: ReturnType<HostedView['record']>): string | null {
  return record === null || record === 'withheld' ? record : Buffer.from(record.data).toString();
}

/** Files by path, for the views of a test. */
export type MemoryFiles = Map<string, Uint8Array>;

function emptyState(): MemoryState {
  return {
    namespaces: new Map(),
    tokens: new Map(),
    records: new Map(),
    maxTtls: new Map(),
    expired: new Map(),
    datasets: emptyDatasets(),
    cursor: null,
    epoch: null,
  };
}

/** Both ports over maps: the LMDB view's behaviour without a file. */
export function createMemoryView(
  state: MemoryState = emptyState(),
  files: MemoryFiles = new Map(),
): MemoryView {
  const target = mapTarget(state);
  let isLost = false;
  return {
    state,
    datasets: memoryDatasets(state.datasets),
    namespace: (name) => state.namespaces.get(name) ?? null,
    token: (digest) => state.tokens.get(digest) ?? null,
    record: (key) => state.records.get(key) ?? null,
    hasExpired: (key, namespaceId, now) => {
      const at = state.expired.get(`${namespaceId} ${key}`);
      return at !== undefined && periodOf(at) <= periodOf(now) && periodOf(at) >= periodOf(now) - 1;
    },
    maxTtl: (name) => state.maxTtls.get(name) ?? LIMITS.openTtlDefault,
    anyBelow: (suffix) => [...state.records.keys()].some((key) => isAtOrBelow(key, suffix)),
    refresh: () => {},
    cursor: () => state.cursor,
    epoch: () => state.epoch,
    isLost: () => isLost,
    lose: () => {
      isLost = true;
    },
    copy: () => serialize(state),
    apply: async (changes, cursor) => {
      for (const change of changes) applyChange(target, change);
      state.cursor = cursor;
    },
    rebuild: async () => {
      const staged = emptyState();
      const loading = snapshotTarget({
        ...mapTarget(staged),
        // Pages of a snapshot have no order.
        putProof: (versionId, proof) => void staged.datasets.proofs.set(versionId, proof),
      });
      let isAdopted = false;
      return {
        adopt: async (file, has) => {
          const content = files.get(file);
          files.delete(file);
          const found = content === undefined ? null : stateIn(content);
          if (found?.cursor !== has.seq || found.epoch !== has.epoch) throw new UnfitFileError();
          replaceAll(staged, found);
          isAdopted = true;
        },
        apply: async (changes, _cursor) => {
          const to = mapTarget(staged);
          for (const change of changes) applyChange(isAdopted ? to : afterPages(to), change);
        },
        load: async (changes) => {
          for (const change of changes) applyChange(loading, change);
        },
        // No reader runs between these lines, so the replacement is one step.
        finish: async (changes, cursor, epoch) => {
          replaceAll(state, staged);
          for (const change of changes) applyChange(isAdopted ? target : afterPages(target), change);
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

function stateIn(content: Uint8Array): MemoryState | null {
  try {
    return deserialize(content) as MemoryState;
  } catch {
    return null;
  }
}

function replaceAll(state: MemoryState, by: MemoryState): void {
  replaceMap(state.namespaces, by.namespaces);
  replaceMap(state.tokens, by.tokens);
  replaceMap(state.records, by.records);
  replaceMap(state.maxTtls, by.maxTtls);
  replaceMap(state.expired, by.expired);
  replaceDatasets(state.datasets, by.datasets);
}

function replaceMap<T>(map: Map<string, T>, by: ReadonlyMap<string, T>): void {
  map.clear();
  for (const [key, value] of by) map.set(key, value);
}

function mapTarget({ namespaces, tokens, records, maxTtls, expired, datasets }: MemoryState): ViewTarget {
  const nameOf = (key: string, namespace: string): string | null => {
    const id = namespaces.get(namespace)?.id;
    return id === undefined ? null : `${id} ${key}`;
  };
  return {
    ...datasetMaps(datasets),
    putRecord: (key, record) => void records.set(key, record),
    deleteRecord: (key) => void records.delete(key),
    withholdRecord: (key) => void records.set(key, 'withheld'),
    rememberExpired(key, namespace, at) {
      const name = nameOf(key, namespace);
      if (name !== null) expired.set(name, at);
    },
    forgetExpired(key, namespace) {
      const name = nameOf(key, namespace);
      if (name !== null) expired.delete(name);
    },
    putNamespace(name, namespace, maxTtl) {
      namespaces.set(name, namespace);
      maxTtls.set(name, maxTtl);
    },
    dropNamespace(name) {
      maxTtls.delete(name);
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
