/** Makes snapshots: after the start, every half hour, and on demand. */

import { loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { LIMITS } from '../../base/limits.ts';
import type { FileFormat, Manifest } from './manifest.ts';
import { contentOf, type SharedFile } from './shared-files.ts';
import type { SnapshotWriter } from './snapshot-writer.ts';

/** A copy of the view of this process. */
export interface ViewCopy {
  readonly epoch: string;
  readonly seq: number;
  readonly content: AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

export interface SnapshotMakerOptions {
  readonly writer: SnapshotWriter;
  /** Copies a view that is up to date. Rejects when there is none. */
  readonly copyView: () => Promise<ViewCopy>;
  readonly format: FileFormat;
  /** Are put beside each snapshot, as long as they exist. */
  readonly files: readonly SharedFile[];
  readonly timers?: Timers;
  readonly onMade?: (manifest: Manifest) => void;
  readonly onError: (error: unknown) => void;
}

export interface SnapshotMaker {
  /** Makes one that begins after this call. Rejects when it cannot be made now. */
  make(): Promise<Manifest>;
  stop(): Promise<void>;
}

const MINUTE_MS = 60_000;
const BACKOFF = { firstMs: 1_000, capMs: MINUTE_MS } as const;

export function startSnapshotMaker(options: SnapshotMakerOptions): SnapshotMaker {
  const { writer, copyView, format, files, timers = realTimers, onMade, onError } = options;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);
  /** Who waits for the next one. */
  let asked: PromiseWithResolvers<Manifest>[] = [];

  async function makeOne(): Promise<Manifest> {
    const copy = await copyView();
    const { epoch, seq, content } = copy;
    try {
      const manifest = await writer.put({ kind: 'view', epoch, seq, format, content });
      for (const file of files) {
        const found = await contentOf(file, epoch);
        if (found !== null) await writer.put(found);
      }
      onMade?.(manifest);
      return manifest;
    } finally {
      await copy.discard();
    }
  }

  async function pass(): Promise<number> {
    const waiting = asked;
    asked = [];
    try {
      const manifest = await makeOne();
      for (const { resolve } of waiting) resolve(manifest);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      throw error;
    }
    return LIMITS.feedSnapshotMinutes * MINUTE_MS;
  }

  const ended = loop({ signal: ending.signal, waker, pass, backoff: BACKOFF, onError });
  return {
    make() {
      const answer = Promise.withResolvers<Manifest>();
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
