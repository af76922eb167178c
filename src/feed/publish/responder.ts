/** Answers the questions of nodes from the log: its bounds, changes, and snapshots page by page. Every control process has one. */

import type { Clock } from '../../base/clock.ts';
import { createPlaces } from '../../base/lifecycle/places.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { type Bus, nodeOfSubject, pageSubject, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import {
  type BatchHeader,
  type BatchSecrets,
  batchHash,
  NO_HASH,
  type PackedRows,
  packRows,
  writeBatch,
} from '../message/batch.ts';
import { writeHead } from '../message/head.ts';
import { SHARD } from '../message/message.ts';
import {
  answerNumber,
  NO_ANSWER,
  type NumberedQuestion,
  numberText,
  readQuestion,
  writeAnswer,
} from '../message/question.ts';
import type { ChangeSource, LogBounds, Snapshot } from '../ports/change-source.ts';

interface ResponderOptions {
  readonly source: ChangeSource;
  readonly bus: Bus;
  readonly secrets: () => BatchSecrets;
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly onError?: (error: unknown) => void;
}

/** Above these, questions are answered with `NO_ANSWER`: the database has other work too, and so have other nodes. */
const QUESTIONS = { all: 64, each: 8 } as const;
const SNAPSHOTS_MAX = 4;
/** A snapshot that no page is asked of. */
const SNAPSHOT_IDLE_MS = 30_000;
/** Above `SNAPSHOTS_MAX` it makes room for another already after this time: a node that waits for a page asks again every two seconds. */
const SNAPSHOT_LEFT_MS = 5_000;
/** With those whose last page was made: it may be asked for again. */
const SNAPSHOTS_KNOWN_MAX = 64;

/** A snapshot whose pages are not all asked for. */
interface OpenSnapshot {
  readonly node: string;
  /** When a page was last asked for. */
  askedAt: number;
  end(): void;
}

/** @returns ends the answers */
export function startResponder(options: ResponderOptions): () => void {
  const { source, bus, secrets, clock, timers = realTimers, onError } = options;
  const snapshots = new Set<OpenSnapshot>();
  /** Ends the answers of snapshots, also of those whose last answer may be asked for again. */
  const ends = new Set<() => void>();
  const places = createPlaces(QUESTIONS);

  function answer(bounds: LogBounds, number: Uint8Array, batch: Uint8Array | null): Uint8Array {
    const signedFor = answerNumber(number, batch);
    return writeAnswer(writeHead({ ...bounds, at: clock() }, secrets().signer, signedFor), batch);
  }

  function write(
    rows: PackedRows,
    more: Pick<BatchHeader, 'epoch' | 'previous' | 'kind' | 'streamSeq'>,
  ): Uint8Array {
    return writeBatch({ ...more, shard: SHARD, at: clock() }, rows, secrets());
  }

  async function since(number: Uint8Array, seq: number, limit: number): Promise<Uint8Array> {
    // Read first: it is no later than the changes, so a node never believes to be current too early.
    const bounds = await source.bounds();
    const [rows] = packRows(await source.since(seq, limit));
    const head = { epoch: bounds.epoch, previous: NO_HASH, streamSeq: 0, kind: 'changes' } as const;
    return answer(bounds, number, rows === undefined ? null : write(rows, head));
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

  async function snapshot(node: string, number: Uint8Array): Promise<Uint8Array> {
    if (!hasRoom(node)) return NO_ANSWER;
    const opened = await source.openSnapshot();
    servePages(node, number, opened);
    const { epoch, seq } = opened;
    return answer({ epoch, head: seq, oldest: 1 }, number, null);
  }

  /** Answers at a subject of the snapshot's own until the last page was asked for, or nobody asks. */
  function servePages(node: string, id: Uint8Array, { epoch, seq, pages }: Snapshot): void {
    const rows = pagesOf(pages);
    let previous = NO_HASH;
    let sent: { readonly from: number; readonly next: number; readonly message: Uint8Array | null } | null =
      null;
    let working: Promise<unknown> = Promise.resolve();
    let waiting = 0;
    let cancel = timers.after(SNAPSHOT_IDLE_MS, end);
    const open: OpenSnapshot = { node, askedAt: clock(), end };

    async function page(from: number): Promise<Uint8Array | null> {
      // A repeated question: its answer was lost.
      if (sent?.from === from) return sent.message;
      if (from !== (sent?.next ?? 1)) throw new Error('a page was asked for out of order');
      const found = await rows.next();
      if (found.done === true || found.value.isLast) snapshots.delete(open);
      if (found.done === true) {
        sent = { from, next: from, message: null };
        return null;
      }
      const { isLast, ...packed } = found.value;
      const kind = isLast ? 'last-page' : 'page';
      const message = write(packed, { epoch, previous, kind, streamSeq: seq });
      previous = batchHash(message);
      sent = { from, next: packed.to + 1, message };
      return message;
    }

    const stop = bus.respond(pageSubject(numberText(id)), (data) => {
      const asked = readQuestion(data);
      if (asked?.question.ask !== 'page') return Promise.resolve(null);
      const { number, question } = asked;
      if (waiting === QUESTIONS.each) return Promise.resolve(null);
      open.askedAt = clock();
      cancel();
      cancel = timers.after(SNAPSHOT_IDLE_MS, end);
      // One after the other: a repeated question may come while the first is answered.
      waiting++;
      const result = working.then(async () => {
        const message = await page(question.from);
        return answer(await source.bounds(), number, message);
      });
      working = result.catch(() => {}).then(() => waiting--);
      return result.catch(failed);
    });
    function end(): void {
      cancel();
      stop();
      snapshots.delete(open);
      ends.delete(end);
      rows.return(undefined).catch(() => {});
    }
    snapshots.add(open);
    ends.add(end);
  }

  function failed(error: unknown): Uint8Array {
    onError?.(error);
    return NO_ANSWER;
  }

  async function answerTo(node: string, { number, question }: NumberedQuestion): Promise<Uint8Array> {
    if (question.ask === 'bounds') return answer(await source.bounds(), number, null);
    if (question.ask === 'since') return since(number, question.seq, question.limit);
    return question.ask === 'snapshot' ? snapshot(node, number) : NO_ANSWER;
  }

  const stop = bus.respond(subjectOfNode(SUBJECTS.get, '*'), async (data, sentTo) => {
    const asked = readQuestion(data);
    if (asked === null) return null;
    const node = nodeOfSubject(sentTo);
    return places.run(node, () => answerTo(node, asked).catch(failed)) ?? NO_ANSWER;
  });
  return () => {
    stop();
    for (const end of ends) end();
  };
}

/** The rows of a snapshot in batches, numbered from 1; one is read ahead, to know the last. */
async function* pagesOf(pages: Snapshot['pages']): AsyncGenerator<PackedRows & { readonly isLast: boolean }> {
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
    if (held !== null) yield { ...held, isLast: false };
    held = next;
  }
  if (held !== null) yield { ...held, isLast: true };
}

/** A row of a snapshot has no time, owner or cause. */
function rowOf(body: ChangeBody, seq: number): Change {
  return { ...body, seq, at: 0, owner: null, cause: 'direct' };
}
