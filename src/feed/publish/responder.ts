/** Answers the questions of nodes from the log: its bounds, changes, and snapshots page by page. Every control process has one. */
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { clearOf, type PackedRows, packRows } from '../message/batch.ts';
import { fieldReader } from '../message/fields.ts';
import {
  answerPlain,
  type ControlEnd,
  type ControlReply,
  type SignedQuestion,
  snapshotSubject,
} from '../message/rpc.ts';
import type { ChangeSource, LogBounds, Snapshot } from '../ports/change-source.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

interface ResponderOptions {
  readonly source: ChangeSource;
  readonly end: ControlEnd;
  readonly timers?: Timers | undefined;
}

/** Above these, questions are `busy`: the database has other work too, and so have other nodes. */
const QUESTIONS = { all: 64, each: 8 } as const;
const SNAPSHOTS_MAX = 4;
/** A snapshot that no page is asked of. */
const SNAPSHOT_IDLE_MS = 30_000;
/** Above `SNAPSHOTS_MAX` it makes room for another already after this time: a node that waits for a page asks again every two seconds. */
const SNAPSHOT_LEFT_MS = 5_000;
/** With those whose last page was made: it may be asked for again. */
const SNAPSHOTS_KNOWN_MAX = 64;
const BUSY: ControlReply = { status: 'busy' };

/** A snapshot whose pages are not all asked for. */
interface OpenSnapshot {
  readonly node: string;
  /** When a page was last asked for. */
  askedAt: number;
  end(): void;
}

interface Page {
  /** Null: the snapshot has no rows, and this is its only page. */
  readonly rows: PackedRows | null;
  readonly isLast: boolean;
}

/** @returns ends the answers */
export function startResponder({ source, end: control, timers = realTimers }: ResponderOptions): () => void {
  const { clock } = control;
  const snapshots = new Set<OpenSnapshot>();
  /** Ends the answers of snapshots, also of those whose last answer may be asked for again. */
  const ends = new Set<() => void>();

  async function since({ clear }: SignedQuestion): Promise<ControlReply> {
    const reader = fieldReader(clear);
    const [seq, limit] = [reader.u64(), reader.u32()];
    if (limit < 1 || limit > LIMITS.feedBatchChanges || reader.left() > 0)
      throw new FeedRefusedError('format');
    // Read first: it is no later than the changes, so a node never believes to be current too early.
    const bounds = await source.bounds();
    const [rows] = packRows(await source.since(bounds.epoch, seq, limit));
    return rows === undefined ? { clear: clearOf(bounds) } : { clear: clearOf(bounds, rows), rows };
  }

  /** Also ends a snapshot that a node has left: one that was killed meanwhile asks for no more pages. */
  function hasRoom(node: string): boolean {
    // A node needs one: it has left the one before.
    for (const open of snapshots) if (open.node === node) open.end();
    if (ends.size >= SNAPSHOTS_KNOWN_MAX) return false;
    if (snapshots.size < SNAPSHOTS_MAX) return true;
    const [longest] = [...snapshots].toSorted((a, b) => a.askedAt - b.askedAt);
    if (longest === undefined || Math.abs(clock() - longest.askedAt) < SNAPSHOT_LEFT_MS) return false;
    longest.end();
    return true;
  }

  async function snapshot({ node, hash }: SignedQuestion): Promise<ControlReply> {
    if (!hasRoom(node)) return BUSY;
    const opened = await source.openSnapshot();
    servePages(node, snapshotSubject(hash), opened);
    return { clear: clearOf(boundsOf(opened)) };
  }

  /** Answers at a subject of the snapshot's own until the last page was asked for, or nobody asks. */
  function servePages(node: string, subject: string, opened: Snapshot): void {
    const pages = pagesOf(opened.pages);
    let sent: { readonly from: number; readonly next: number; readonly page: Page } | null = null;
    let working: Promise<unknown> = Promise.resolve();
    let cancel = timers.after(SNAPSHOT_IDLE_MS, end);
    const open: OpenSnapshot = { node, askedAt: clock(), end };

    async function page(from: number): Promise<Page> {
      // A repeated question: its answer was lost.
      if (sent?.from === from) return sent.page;
      if (from !== (sent?.next ?? 1)) throw new Error('a page was asked for out of order');
      const found = await pages.next();
      // The question waited, and the snapshot was ended or could not be read meanwhile. That is not a snapshot without rows.
      if (found.done === true) throw new Error('the snapshot has ended');
      const { value } = found;
      if (value.isLast) snapshots.delete(open);
      sent = { from, next: (value.rows?.to ?? 0) + 1, page: value };
      return value;
    }

    const stop = answerPlain(control, {
      kinds: ['page'],
      subject,
      atOnce: { all: QUESTIONS.each },
      answer({ clear }) {
        const reader = fieldReader(clear);
        const from = reader.u64();
        open.askedAt = clock();
        cancel();
        cancel = timers.after(SNAPSHOT_IDLE_MS, end);
        // One after the other: a repeated question may come while the first is answered.
        const result = working.then(async (): Promise<ControlReply> => {
          const { rows, isLast } = await page(from);
          if (rows === null) return { clear: clearOf(boundsOf(opened)) };
          return { clear: clearOf(boundsOf(opened), rows, isLast), rows };
        });
        working = result.catch(() => {});
        return result;
      },
    });
    function end(): void {
      cancel();
      stop();
      snapshots.delete(open);
      ends.delete(end);
      pages.return(undefined).catch(() => {});
    }
    snapshots.add(open);
    ends.add(end);
  }

  const stop = answerPlain(control, {
    kinds: ['bounds', 'since', 'pages'],
    atOnce: QUESTIONS,
    async answer(question) {
      if (question.kind === 'since') return since(question);
      return question.kind === 'pages' ? snapshot(question) : { clear: clearOf(await source.bounds()) };
    },
  });
  return () => {
    stop();
    for (const end of ends) end();
  };
}

/** Its `seq` stands in the place of the log's head. */
function boundsOf({ epoch, seq }: Snapshot): LogBounds {
  return { epoch, head: seq, oldest: 1 };
}

/** The rows of a snapshot in batches, numbered from 1; one is read ahead, to know the last. There is always a last page. */
async function* pagesOf(pages: Snapshot['pages']): AsyncGenerator<Page> {
  let count = 0;
  let rows: Change[] = [];
  let held: PackedRows | null = null;
  async function* all(): AsyncGenerator<PackedRows> {
    for await (const page of pages) {
      for (const body of page) rows.push(rowOf(body, ++count));
      if (rows.length < LIMITS.feedBatchChanges) continue;
      yield* packRows(rows);
      rows = [];
    }
    yield* packRows(rows);
  }
  for await (const next of all()) {
    if (held !== null) yield { rows: held, isLast: false };
    held = next;
  }
  yield { rows: held, isLast: true };
}

/** A row of a snapshot has no time, owner or cause. */
function rowOf(body: ChangeBody, seq: number): Change {
  return { ...body, seq, at: 0, owner: null, cause: 'direct' };
}
