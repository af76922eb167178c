/** Fills a view that is being built, from a snapshot and the changes after it, and lets it serve. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Change } from '../../protocol/change.ts';
import type { Snapshot, SnapshotFile } from '../ports/change-source.ts';
import { UnfitFileError, type ViewRebuild } from '../ports/view-writer.ts';
import { changeParts } from './change-parts.ts';
import { LogGapError } from './feed-faults.ts';

export interface ViewFilling {
  readonly rebuild: ViewRebuild;
  readonly signal: AbortSignal;
  /** The next changes of the log. @throws LogGapError when one is missing */
  readonly after: (seq: number) => Promise<readonly Change[]>;
  readonly isLast: (changes: readonly Change[]) => boolean;
  /** The end of the log, as far as it is known. */
  readonly head: () => number;
  /** Of the view that serves, 0 where it is of another epoch. */
  readonly servingCursor: (epoch: string) => number;
  /** Runs a call to the view, whose errors are the view's. */
  readonly inView: (work: () => Promise<void>) => Promise<void>;
  /** Applies the last changes; then the view serves. */
  readonly finish: (changes: readonly Change[], cursor: number, epoch: string) => Promise<void>;
}

export async function fillFromPages(filling: ViewFilling, { pages, seq, epoch }: Snapshot): Promise<void> {
  const { rebuild, signal, after, inView, finish } = filling;
  for await (const page of pages) {
    if (signal.aborted) return;
    await inView(() => rebuild.load(page));
  }
  const changes = await after(seq);
  await finish(changes, seq + changes.length, epoch);
}

/** The file is some time old: what the serving view has must not be missing, so all changes are applied before it serves. */
export async function fillFromFile(filling: ViewFilling, snapshot: SnapshotFile): Promise<void> {
  const { rebuild, signal, isLast, inView, finish } = filling;
  const { file, seq, epoch } = snapshot;
  try {
    await inView(() => rebuild.adopt(file, { epoch, seq }));
    let next = seq;
    for (;;) {
      const changes = await remaining(filling, next);
      if (signal.aborted) return;
      if (isLast(changes)) {
        const last = next + changes.length;
        // While control is away, nobody knows where the log ends, and the stream may end before the view does.
        if (last < Math.max(filling.head(), filling.servingCursor(epoch))) throw new LogGapError();
        return await finish(changes, last, epoch);
      }
      for (const part of changeParts(changes)) {
        next += part.length;
        const at = next;
        await inView(() => rebuild.apply(part, at));
        await nextTurn();
      }
    }
  } catch (error) {
    if (error instanceof UnfitFileError || error instanceof LogGapError) snapshot.refuse();
    throw error;
  }
}

/** Without control a view that has everything this node has heard of is good enough to serve. */
async function remaining({ after, head }: ViewFilling, from: number): Promise<readonly Change[]> {
  try {
    return await after(from);
  } catch (error) {
    if (error instanceof LogGapError || from < head()) throw error;
    return [];
  }
}
