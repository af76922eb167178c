import type { ChangeBody } from '../../core/change.ts';
import { FNV_START, fnvEnd, fnvStep } from '../../core/fnv.ts';

/**
 * Counters in shared memory that tell every worker thread, for the price of two atomic loads, whether a reply it keeps may
 * have become untrue.
 *
 * The protocol. A worker that makes a reply (1) reads the freshness of the key and of the namespace, (2) refreshes its view, (3)
 * reads the view, (4) keeps the reply with the freshness of step 1. It may serve the reply while both freshness are the same.
 * The follower, once a commit is visible, (a) bumps the count of commits, then (b) the stripe of the change. So whoever sees
 * a stripe bumped also sees the count bumped, and its refresh takes a new snapshot; whoever read the stripe before
 * keeps a stamp that the bump voids. Both orders matter: (1) before (2), and (a) before (b).
 *
 * Several names share a stripe: a change may void replies it did not touch, never the reverse. Counters wrap; only equality
 * counts. Replies to short names (fewer than four labels) depend on what a namespace holds only through their NSEC bitmap:
 * whoever keeps such a reply must give it the namespace's stamp and a time after which it is void.
 */
export interface FreshnessCounters {
  /** Handed to worker threads, which attach to it. */
  readonly buffer: SharedArrayBuffer;
  /** @param key a record's key in lower case @returns index for `read` */
  counterOfKey(key: string): number;
  /** @param name a namespace in lower case @returns index for `read` */
  counterOfNamespace(name: string): number;
  read(index: number): number;
  /** Number of commits announced so far. */
  commits(): number;
  /** Announces a committed change. Called by the follower's side alone, once the commit is visible. */
  bumpFor(change: ChangeBody): void;
  /** Voids every reply: the view was replaced. */
  bumpAll(): void;
  /** Number of the view's file that serves; 0 before the writer has opened it. Changes are announced by `bumpAll` after them. */
  generation(): number;
  setGeneration(generation: number): void;
}

const COMMIT = 0;
/** Beside the count of commits: read only when that has changed. */
const GENERATION = 1;
/** The count of commits has a cache line of its own: it changes with every commit, and every stripe's neighbour would suffer. */
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
  return 'key' in change ? counterOfKey(change.key) : counterOfNamespace(change.namespace);
}

function counterOfKey(key: string): number {
  return KEYS_AT + (hashOf(key) & (KEY_STRIPES - 1));
}

function counterOfNamespace(name: string): number {
  return NAMESPACES_AT + (hashOf(name) & (NAMESPACE_STRIPES - 1));
}

/** FNV-1a over the letters. */
function hashOf(text: string): number {
  let hash = FNV_START;
  for (let i = 0; i < text.length; i++) hash = fnvStep(hash, text.charCodeAt(i));
  return fnvEnd(hash);
}
