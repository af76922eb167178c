import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { ownChanges } from '../../store/log/own-changes.ts';
import type { Store } from '../../store/store.ts';
import type { HasClock, HasStore } from '../deps.ts';
import type { LiveReader } from '../live/reader.ts';
import { epochTag, type Position, type Positions } from '../unit.ts';
import {
  type ChangeFilter,
  type ChangeResource,
  changeResource,
  type FeedRow,
  isToldTo,
  type Lost,
  lostAt,
  rowOfOwn,
} from './rows.ts';

export interface ChangesDeps extends HasStore, HasClock {
  readonly positions: Positions;
}

/** Rows of the log that one statement reads. */
const READ_AT_ONCE = 500;

export interface Page {
  readonly rows: readonly FeedRow[];
  /** Everything up to it was looked at. */
  readonly place: Position;
  /** Whether there may be more behind it. */
  readonly hasMore: boolean;
}

/** Near the old end of the log, pruning may delete rows between two statements of a page. A unit prunes 1,000. */
const NEAR_THE_END = 100_000;

/**
 * The next changes of the actor's customer after a place. It looks through `changesExamined` changes at most, so a page may have no
 * rows although there are more.
 * @param since null: the present end
 */
export async function readChanges(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  filter: ChangeFilter,
  { since, limit }: { readonly since: Position | null; readonly limit: number },
): Promise<Page | Lost> {
  // First: whatever commits meanwhile comes after this head.
  const { head, oldest, epoch: full } = await store.changes.bounds();
  const epoch = epochTag(full);
  if (since === null) return { rows: [], place: { seq: head, at: clock(), epoch }, hasMore: false };
  const lost = lostAt(since, { head, oldest, epoch: full });
  if (lost !== null) return lost;
  const page = await pageAfter(store, actor, filter, since, limit, head);
  const isNear = since.seq < oldest + NEAR_THE_END;
  return (isNear ? lostAt(since, await store.changes.bounds()) : null) ?? page;
}

async function pageAfter(
  { read: db }: Store,
  actor: Actor,
  filter: ChangeFilter,
  since: Position,
  limit: number,
  head: number,
): Promise<Page> {
  const rows: FeedRow[] = [];
  const { epoch } = since;
  let place = since;
  for (let examined = 0; examined < LIMITS.changesExamined; ) {
    const read = await ownChanges(db, { owner: actor.customerId, after: place.seq, limit: READ_AT_ONCE });
    for (const row of read.map(rowOfOwn)) {
      examined++;
      place = { seq: row.seq, at: row.at, epoch };
      if (isToldTo(actor, filter, row)) rows.push(row);
      if (rows.length === limit) {
        const isLast = read.length < READ_AT_ONCE && row.seq === read.at(-1)?.seq;
        return { rows, place, hasMore: !isLast };
      }
    }
    if (read.length < READ_AT_ONCE) {
      return { rows, place: { seq: Math.max(place.seq, head), at: place.at, epoch }, hasMore: false };
    }
  }
  return { rows, place, hasMore: true };
}

export interface ChangesPage {
  readonly changes: readonly ChangeResource[];
  readonly next: string;
  readonly has_more: boolean;
}

/** The answer with a page. */
export function pageResource({ positions }: ChangesDeps, { customerId }: Actor, page: Page): ChangesPage {
  const { rows, place, hasMore } = page;
  const cursorOf = ({ seq, at }: FeedRow): string =>
    positions.text(customerId, { seq, at, epoch: place.epoch });
  return {
    changes: rows.map((row) => changeResource(row, cursorOf(row))),
    next: positions.text(customerId, place),
    has_more: hasMore,
  };
}

/**
 * Reads on from a page without rows until there are some, or the signal aborts.
 * @param read the page after a place
 */
export async function nextRows(
  reader: LiveReader<FeedRow>,
  actor: Actor,
  filter: ChangeFilter,
  read: (since: Position) => Promise<Page>,
  signal: AbortSignal,
  empty: Page,
): Promise<Page> {
  const news = follow(reader, actor, filter, signal);
  try {
    // What was appended between the first page and the beginning of the news is in a second page.
    await news.begun;
    let page = await read(empty.place);
    while (page.rows.length === 0 && !page.hasMore && !signal.aborted) {
      await news.after(page.place.seq);
      page = await read(page.place);
    }
    return page;
  } finally {
    news.stop();
  }
}

interface News {
  /** From then on, what is appended is heard of. */
  readonly begun: Promise<void>;
  /** Resolves when a change behind `seq` was heard of that the reader is told, and when the signal aborts. */
  after(seq: number): Promise<void>;
  stop(): void;
}

function follow(reader: LiveReader<FeedRow>, actor: Actor, filter: ChangeFilter, signal: AbortSignal): News {
  const begun = Promise.withResolvers<void>();
  let heard = 0;
  let wake = (): void => {};
  const onAbort = (): void => {
    begun.resolve();
    wake();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const unfollow = reader.follow({
    customerId: actor.customerId,
    begin: () => begun.resolve(),
    offer(rows) {
      const last = rows.findLast((row) => isToldTo(actor, filter, row));
      if (last === undefined) return;
      heard = last.seq;
      wake();
    },
  });
  return {
    begun: begun.promise,
    after: (seq) =>
      new Promise((resolve) => {
        wake = resolve;
        if (heard > seq || signal.aborted) resolve();
      }),
    stop() {
      signal.removeEventListener('abort', onAbort);
      unfollow();
    },
  };
}
