import { type Random, realRandom } from '../base/chance.ts';
import { HASH_KEY_OCTETS, keyedHash } from '../base/hashes.ts';
import type { ViewWriter } from '../feed/ports/view-writer.ts';
import type { ChangeBody } from '../protocol/change.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../protocol/names/labels.ts';

/**
 * Freshness counters in shared memory: two atomic loads tell a worker whether a cached reply is still valid. A counter is odd while a
 * commit is under way that changes what it stands for (`isChanging`), and moves on when readers can see the commit. A worker (1) reads
 * the counters of key and namespace, (2) refreshes its view, (3) reads the view, (4) caches the reply with the counters of step 1 if
 * both are even. It serves the reply while both are unchanged. The writer makes odd (a) the count of commits and (b) the counters of the
 * changes, (c) commits, and (d) makes them even again. The orders matter: a worker that read a counter before (b) caches a value that (b)
 * makes invalid; between (b) and (d) nothing is served from a cache or stored there, and `refresh` takes a new snapshot for each question.
 * So once any worker has answered from the commit, no question that comes later is answered from before it. Names share counters: a
 * change may invalidate other replies, never too few. Counters wrap; only equality and parity count. One commit at a time: two would make an odd counter even.
 *
 * Who may not read must not see by time, from a reply that is no longer cached, that something private changed. So the cache entry of a refusal needs
 * the counter of access alone, which every change of a namespace or token moves, whichever it is; and which names share a counter is secret.
 *
 * A reply to a name of fewer than four labels depends on the namespace through its NSEC bitmap: its cache entry needs the
 * namespace's counter and an expiry time.
 */
export interface FreshnessCounters {
  /** Worker threads attach to it. */
  readonly buffer: SharedArrayBuffer;
  /** @param key a record's key in lower case @returns index for `read` */
  counterOfKey(key: string): number;
  /** @param name a namespace in lower case @returns index for `read` */
  counterOfNamespace(name: string): number;
  /** Index of the counter of who may read what: of all namespaces and tokens together. */
  readonly counterOfAccess: number;
  read(index: number): number;
  commits(): number;
  /** Called on the writer's side before a commit of these changes. @returns what ends it: to be called when readers can see it, or it failed */
  begin(changes: readonly ChangeBody[]): () => void;
  /** As `begin`, when another view will serve: it invalidates every reply. */
  beginAll(): () => void;
  /** Number of the view's file that serves; 0 before the writer opened it. It changes between `beginAll` and its end. */
  generation(): number;
  setGeneration(generation: number): void;
}

const COMMIT = 0;
/** In the cache line of the count of commits: read only when that has changed. */
const GENERATION = 1;
/** Two words: the key of the hash that says which names share a counter. Threads read it when they attach. */
const HASH_KEY_AT = 2;
/** The count of commits has its own cache line: every commit writes it, which would slow reads of neighbours. */
const ACCESS_AT = 16;
const NAMESPACES_AT = ACCESS_AT + 1;
const NAMESPACE_STRIPES = 4096;
const KEYS_AT = NAMESPACES_AT + NAMESPACE_STRIPES;
const KEY_STRIPES = 65_536;
const COUNTERS = KEYS_AT + KEY_STRIPES;

/** Whether a commit is under way that changes what this counter stands for: what is read now must not be cached. */
export function isChanging(count: number): boolean {
  return (count & 1) !== 0;
}

/** @param random gives the key that decides which names share a counter */
export function createFreshness(random: Random = realRandom): FreshnessCounters {
  const buffer = new SharedArrayBuffer(COUNTERS * Int32Array.BYTES_PER_ELEMENT);
  keyIn(buffer).set(random(HASH_KEY_OCTETS));
  return attachFreshness(buffer);
}

function keyIn(buffer: SharedArrayBuffer): Uint8Array {
  return new Uint8Array(buffer, HASH_KEY_AT * Int32Array.BYTES_PER_ELEMENT, HASH_KEY_OCTETS);
}

/** @throws RangeError when the buffer was not made by `createFreshness` */
export function attachFreshness(buffer: SharedArrayBuffer): FreshnessCounters {
  const counters = new Int32Array(buffer);
  if (counters.length !== COUNTERS) throw new RangeError('not a buffer of freshness');
  // With a secret key, so that nobody can calculate which name of an open namespace shares a counter with a private key, and see by
  // its replies when that is written.
  const hashOf = keyedHash(keyIn(buffer));
  const counterOfKey = (key: string): number => KEYS_AT + (hashOf(key) & (KEY_STRIPES - 1));
  const counterOfNamespace = (name: string): number =>
    NAMESPACES_AT + (hashOf(name) & (NAMESPACE_STRIPES - 1));

  function countersOf(change: ChangeBody): readonly number[] {
    if (/^(?:dataset|log)\./.test(change.type)) return [counterOfKey(DATASETS_KEY)];
    if ('key' in change) return [counterOfKey(change.key)];
    return [counterOfNamespace(change.namespace), ACCESS_AT];
  }

  return {
    buffer,
    counterOfKey,
    counterOfNamespace,
    counterOfAccess: ACCESS_AT,
    read: (index) => Atomics.load(counters, index),
    commits: () => Atomics.load(counters, COMMIT),
    begin(changes) {
      // No reply depends on items before their version is published.
      const touching = changes.filter(({ type }) => type !== 'dataset.items');
      if (touching.length === 0) return () => {};
      const touched = new Set([COMMIT, ...touching.flatMap(countersOf)]);
      const move = (): void => {
        for (const index of touched) Atomics.add(counters, index, 1);
      };
      move();
      return move;
    },
    beginAll() {
      const move = (): void => {
        Atomics.add(counters, COMMIT, 1);
        for (let i = ACCESS_AT; i < COUNTERS; i++) Atomics.add(counters, i, 1);
      };
      move();
      return move;
    },
    generation: () => Atomics.load(counters, GENERATION),
    setGeneration(generation) {
      Atomics.store(counters, GENERATION, generation);
    },
  };
}

/** `apply` of this view, which tells readers of each commit before they can see it, and once they can. */
export function announcedApply(
  view: Pick<ViewWriter, 'apply'>,
  freshness: Pick<FreshnessCounters, 'begin'>,
): ViewWriter['apply'] {
  return async (changes, cursor) => {
    const end = freshness.begin(changes);
    try {
      await view.apply(changes, cursor);
    } finally {
      end();
    }
  };
}

/** All replies of the registry share a counter, since few changes reach it. `packet.ts` reads it too. */
export const DATASETS_KEY = `${DATASETS_RESOURCE}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}`;
