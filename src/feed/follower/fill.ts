/** Fills a view that is being built, from a snapshot and the changes after it, and lets it serve. */

import { nextTurn } from '../../base/lifecycle/timers.ts';
import type { Change } from '../../protocol/change.ts';
import type { Snapshot, SnapshotFile } from '../ports/change-source.ts';
import { UnfitFileError, type ViewRebuild } from '../ports/view-writer.ts';
import { LogGapError } from './health.ts';

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

/** Pages are of different moments: a record may be of after the change that closed its namespace. So they are not served without all that was in the log by the last of them. */
export async function fillFromPages(filling: ViewFilling, snapshot: Snapshot): Promise<void> {
  const { rebuild, signal, after, inView } = filling;
  for await (const page of snapshot.pages) {
    if (signal.aborted) return;
    await inView(() => rebuild.load(page));
  }
  const end = await snapshot.end();
  // The later pages may be of another log.
  if (end.epoch !== snapshot.epoch) throw new LogGapError();
  await fillWithChanges(filling, snapshot, after, (_changes, seq) => seq >= end.head);
}

/** The file is some time old: what the serving view has must not be missing, so all changes are applied before it serves. */
export async function fillFromFile(filling: ViewFilling, snapshot: SnapshotFile): Promise<void> {
  const { rebuild, isLast, inView, head, servingCursor } = filling;
  const { file, seq, epoch } = snapshot;
  try {
    await inView(() => rebuild.adopt(file, { epoch, seq }));
    // While control is away, nobody knows where the log ends, and the stream may end before the view does.
    await fillWithChanges(
      filling,
      snapshot,
      (from) => remaining(filling, from),
      (changes, last) => isLast(changes) && last >= Math.max(head(), servingCursor(epoch)),
    );
  } catch (error) {
    if (error instanceof UnfitFileError || error instanceof LogGapError) snapshot.refuse();
    throw error;
  }
}

/** @param isEnd whether nothing must follow these changes, of which the last is `seq`. @throws LogGapError: the source gives no more before that */
async function fillWithChanges(
  { rebuild, signal, inView, finish }: ViewFilling,
  { seq, epoch }: Pick<Snapshot, 'seq' | 'epoch'>,
  after: ViewFilling['after'],
  isEnd: (changes: readonly Change[], seq: number) => boolean,
): Promise<void> {
  for (let next = seq; ; ) {
    const changes = await after(next);
    if (signal.aborted) return;
    const last = next + changes.length;
    if (isEnd(changes, last)) return finish(changes, last, epoch);
    if (changes.length === 0) throw new LogGapError();
    for (const part of changeParts(changes)) {
      next += part.length;
      const at = next;
      await inView(() => rebuild.apply(part, at));
      await nextTurn();
    }
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

/** Records, or items of datasets, that one transaction of the view writes: some ten milliseconds. */
const PART = 2000;

/** The changes in runs of at most `PART` records and items, or of one change. */
export function* changeParts(changes: readonly Change[]): Generator<readonly Change[]> {
  let start = 0;
  let weight = 0;
  for (const [i, change] of changes.entries()) {
    const more = change.type === 'dataset.items' ? change.items.length : 1;
    if (i > start && weight + more > PART) {
      yield changes.slice(start, i);
      start = i;
      weight = 0;
    }
    weight += more;
  }
  if (start < changes.length) yield changes.slice(start);
}
