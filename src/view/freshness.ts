import { FNV_START, fnvEnd, fnvStep } from '../base/hashes.ts';
import type { ChangeBody } from '../protocol/change.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../protocol/names/labels.ts';

/**
 * Freshness counters in shared memory: two atomic loads tell a worker whether a cached reply is still valid. A worker (1) reads the
 * counters of key and namespace, (2) refreshes its view, (3) reads the view, (4) caches the reply with the counters of step 1. It serves
 * the reply while both are unchanged. The follower, once a commit is visible, (a) bumps the count of commits, then (b) the counter of the
 * change. Both orders matter: a worker that sees (b) also sees (a) and takes a new snapshot; a worker that read the counter earlier caches
 * a value that (b) makes invalid. Names share counters: a change may invalidate other replies, never too few. Counters wrap; only equality
 * counts. A reply to a name of fewer than four labels depends on the namespace through its NSEC bitmap: its cache entry needs the
 * namespace's counter and an expiry time.
 */
export interface FreshnessCounters {
  /** Worker threads attach to it. */
  readonly buffer: SharedArrayBuffer;
  /** @param key a record's key in lower case @returns index for `read` */
  counterOfKey(key: string): number;
  /** @param name a namespace in lower case @returns index for `read` */
  counterOfNamespace(name: string): number;
  read(index: number): number;
  commits(): number;
  /** Announces a change. Called only on the follower's side, once the commit is visible. */
  bumpFor(change: ChangeBody): void;
  /** Invalidates every reply: the view was replaced. */
  bumpAll(): void;
  /** Number of the view's file that serves; 0 before the writer opened it. `bumpAll` announces a change. */
  generation(): number;
  setGeneration(generation: number): void;
}

const COMMIT = 0;
/** In the cache line of the count of commits: read only when that has changed. */
const GENERATION = 1;
/** The count of commits has its own cache line: every commit writes it, which would slow reads of neighbours. */
const NAMESPACES_AT = 16;
const NAMESPACE_STRIPES = 4096;
const KEYS_AT = NAMESPACES_AT + NAMESPACE_STRIPES;
const KEY_STRIPES = 65_536;
const COUNTERS = KEYS_AT + KEY_STRIPES;

export function createFreshness(): FreshnessCounters {
  return attachFreshness(new SharedArrayBuffer(COUNTERS * Int32Array.BYTES_PER_ELEMENT));
}

/** @throws RangeError when the buffer was not made by `createFreshness` */
export function attachFreshness(buffer: SharedArrayBuffer): FreshnessCounters {
  const counters = new Int32Array(buffer);
  if (counters.length !== COUNTERS) throw new RangeError('not a buffer of freshness');
  return {
    buffer,
    counterOfKey,
    counterOfNamespace,
    read: (index) => Atomics.load(counters, index),
    commits: () => Atomics.load(counters, COMMIT),
    bumpFor(change) {
      // No reply depends on items before their version is published.
      if (change.type === 'dataset.items') return;
      Atomics.add(counters, COMMIT, 1);
      Atomics.add(counters, stripeOf(change), 1);
    },
    bumpAll() {
      Atomics.add(counters, COMMIT, 1);
      for (let i = NAMESPACES_AT; i < COUNTERS; i++) Atomics.add(counters, i, 1);
    },
    generation: () => Atomics.load(counters, GENERATION),
    setGeneration(generation) {
      Atomics.store(counters, GENERATION, generation);
    },
  };
}

function stripeOf(change: ChangeBody): number {
  if (/^(?:dataset|log)\./.test(change.type)) return counterOfKey(DATASETS_KEY);
  return 'key' in change ? counterOfKey(change.key) : counterOfNamespace(change.namespace);
}

/** All replies of the registry share a counter, since few changes reach it. `packet.ts` reads it too. */
export const DATASETS_KEY = `${DATASETS_RESOURCE}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}`;

function counterOfKey(key: string): number {
  return KEYS_AT + (hashOf(key) & (KEY_STRIPES - 1));
}

function counterOfNamespace(name: string): number {
  return NAMESPACES_AT + (hashOf(name) & (NAMESPACE_STRIPES - 1));
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = FNV_START;
  for (let i = 0; i < text.length; i++) hash = fnvStep(hash, text.charCodeAt(i));
  return fnvEnd(hash);
}
