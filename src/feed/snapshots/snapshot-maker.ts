/** Makes snapshots: after the start, every half hour, when the log has gone on far, and on demand. */

import { createHash } from 'node:crypto';
import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type Bus, untilAnswered } from '../bus/bus.ts';
import type { BatchSecrets } from '../message/batch.ts';
import type { FeedVerifier } from '../message/keys.ts';
import {
  type FileFormat,
  isLeftOver,
  manifestName,
  octetsMax,
  partName,
  partsIn,
  SLOTS,
  SNAPSHOT_ID_OCTETS,
  type SnapshotContent,
  type SnapshotKind,
  type SnapshotManifest,
  writeManifest,
  writePart,
} from './manifest.ts';
import { contentOf, type SharedFile } from './shared-files.ts';
import { createSnapshotReader, type FoundSnapshot } from './snapshot-reader.ts';

/** A copy of the view of this process. */
export interface ViewToSend {
  readonly epoch: string;
  readonly seq: number;
  /** Of the content. */
  readonly octets: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** What a snapshot has: all changes up to `seq`. */
export interface SnapshotPlace {
  readonly epoch: string;
  readonly seq: number;
}

interface SnapshotMakerOptions {
  readonly writer: SnapshotWriter;
  /** Copies a view that is up to date. Rejects when there is none. */
  readonly copyView: () => Promise<ViewToSend>;
  /** Removes what `copyView` made, also when it failed: on a full disk a part of a copy is left. */
  readonly discardCopy: () => Promise<void>;
  /** Lets the broker keep so many octets of snapshots. */
  readonly reserve: (octets: number) => Promise<void>;
  /** Where that view is now. */
  readonly present: () => SnapshotPlace | null;
  readonly format: FileFormat;
  /** Are put beside each snapshot, as long as they exist. */
  readonly files: readonly SharedFile[];
  readonly timers?: Timers | undefined;
  readonly onMade?: (manifest: SnapshotManifest) => void;
  readonly onError: (error: unknown) => void;
}

export interface SnapshotMaker {
  /** Makes one that begins after this call. Rejects when it cannot be made now. */
  make(): Promise<SnapshotManifest>;
  stop(): Promise<void>;
}

const MINUTE_MS = 60_000;
/** While one is made, the two before it are there. */
const KEPT = 3;
/** How often it is seen how far the log has gone on. */
const LOOK_MS = 5_000;
/** Of the time between two snapshots at most a tenth is spent on making them. */
const SHARE = 10;
/** Two are kept: a node has twice this time to download one before its parts are deleted. */
const LEAST_MS = MINUTE_MS;

interface LastSnapshot extends SnapshotPlace {
  /** Since its making began. */
  readonly agoMs: number;
  readonly tookMs: number;
}

/**
 * Whether the next snapshot is made. A node reads what was written since the last one change by change: 20,000 of them take about as long as
 * the download of 10^6 records.
 * @param present null: unknown
 */
export function isSnapshotDue(
  { agoMs, tookMs, epoch, seq }: LastSnapshot,
  present: SnapshotPlace | null,
): boolean {
  if (agoMs >= LIMITS.feedSnapshotMinutes * MINUTE_MS) return true;
  if (present === null || agoMs < Math.max(LEAST_MS, SHARE * tookMs)) return false;
  return present.epoch !== epoch || present.seq - seq >= LIMITS.feedSnapshotChanges;
}

const BACKOFF = { firstMs: 1_000, capMs: MINUTE_MS } as const;

export function startSnapshotMaker(options: SnapshotMakerOptions): SnapshotMaker {
  const { writer, copyView, discardCopy, reserve, present, format, files } = options;
  const { timers = realTimers, onMade, onError } = options;
  let last: (SnapshotPlace & { readonly beganAt: number; readonly tookMs: number }) | null = null;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);
  /** Who waits for the next one. */
  let asked: PromiseWithResolvers<SnapshotManifest>[] = [];

  async function makeOne(): Promise<SnapshotManifest> {
    try {
      const { epoch, seq, octets, content } = await copyView();
      // Where the broker has no room for that, it keeps fewer: nodes refuse one without all its parts.
      await reserve(KEPT * octets).catch(() => {});
      const manifest = await writer.put({ kind: 'view', epoch, seq, format, content });
      for (const file of files) {
        const found = await contentOf(file, epoch);
        if (found !== null) await writer.put(found);
      }
      onMade?.(manifest);
      return manifest;
    } finally {
      await discardCopy();
    }
  }

  function isDue(): boolean {
    if (last === null || asked.length > 0) return true;
    return isSnapshotDue({ ...last, agoMs: timers.elapsed() - last.beganAt }, present());
  }

  async function pass(): Promise<number> {
    if (!isDue()) return LOOK_MS;
    const waiting = asked;
    asked = [];
    const beganAt = timers.elapsed();
    try {
      const manifest = await makeOne();
      last = { epoch: manifest.epoch, seq: manifest.seq, beganAt, tookMs: timers.elapsed() - beganAt };
      for (const { resolve } of waiting) resolve(manifest);
    } catch (error) {
      // Due until one is made.
      last = null;
      for (const { reject } of waiting) reject(error);
      throw error;
    }
    return LOOK_MS;
  }

  const ended = loop({ signal: ending.signal, waker, pass, backoff: BACKOFF, onError });
  return {
    make() {
      const answer = Promise.withResolvers<SnapshotManifest>();
      asked.push(answer);
      waker.wake();
      return answer.promise;
    },
    async stop() {
      ending.abort();
      await ended;
      for (const { reject } of asked) reject(new Error('the process that makes snapshots ends'));
    },
  };
}

/** Puts snapshots at the broker: the parts, then the manifest. Two are kept. */

interface SnapshotWriterOptions {
  readonly bus: Bus;
  /** The present hourly key with the signing key; a snapshot has one key. */
  readonly secrets: () => BatchSecrets;
  readonly verifier: FeedVerifier;
  readonly clock: Clock;
}

export interface SnapshotWriter {
  /**
   * One at a time for each kind. Stopped in the middle, it leaves parts that the next call removes.
   * @throws BusError; RangeError for a content above its limit
   */
  put(snapshot: SnapshotContent): Promise<SnapshotManifest>;
}

/** Calls to the broker that are under way at once. */
const AT_ONCE = 4;

export function createSnapshotWriter(options: SnapshotWriterOptions): SnapshotWriter {
  const { bus, secrets, verifier, clock } = options;
  const reader = createSnapshotReader({
    bus,
    verifier,
    keys: () => ({ find: () => null }),
    files: { create: () => Promise.reject(new Error('a writer downloads nothing')) },
  });

  async function removeOthers(kind: SnapshotKind, kept: readonly Uint8Array[]): Promise<void> {
    const names = (await bus.chunkNames()).filter((name) => isLeftOver(name, kind, kept));
    await together(names, (name) => untilAnswered(() => bus.deleteChunk(name)));
  }

  async function putParts(snapshot: SnapshotContent, id: Uint8Array, { key, random }: BatchSecrets) {
    const hash = createHash('sha256');
    const sums = { octets: 0, partOctets: 0, parts: 0 };
    await together(partsIn(snapshot.content), async (plain) => {
      const index = sums.parts++;
      hash.update(plain);
      sums.octets += plain.length;
      if (sums.octets > octetsMax(snapshot.kind)) throw new RangeError('a snapshot is larger than its limit');
      const message = writePart(plain, { id, index }, key, random);
      sums.partOctets += message.length;
      // Of thousands of parts one may be late on a busy broker; it takes the place of itself.
      await untilAnswered(() => bus.putChunk(partName({ kind: snapshot.kind, id }, index), message));
    });
    return { ...sums, sha256: hash.digest() };
  }

  return {
    async put(snapshot) {
      const { kind, epoch, seq, format } = snapshot;
      const present = await reader.find(kind);
      await removeOthers(kind, idsOf(present));
      const hour = secrets();
      const id = hour.random(SNAPSHOT_ID_OCTETS);
      const sums = await putParts(snapshot, id, hour);
      const [newest] = present;
      // A clock that was set back must not make the new one the older one.
      const at = Math.max(clock(), (newest?.manifest.at ?? 0) + 1);
      const manifest: SnapshotManifest = { kind, id, keyId: hour.key.id, epoch, seq, at, ...sums, format };
      const slot = SLOTS.find((each) => each !== newest?.slot) ?? SLOTS[0];
      const message = writeManifest(manifest, hour);
      await untilAnswered(() => bus.putChunk(manifestName(kind, slot), message));
      await removeOthers(kind, [id, ...idsOf(present.slice(0, 1))]);
      return manifest;
    },
  };
}

function idsOf(found: readonly FoundSnapshot[]): readonly Uint8Array[] {
  return found.map(({ manifest }) => manifest.id);
}

/** Begins in order, a few at once. Rejects with the first failure, when nothing is under way any more. */
async function together<T>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  for await (const item of items) {
    const run = work(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => running.delete(run));
    running.add(run);
    if (running.size >= AT_ONCE) await Promise.race(running);
    if (failure !== null) break;
  }
  await Promise.all(running);
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
