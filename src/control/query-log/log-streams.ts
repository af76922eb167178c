import { AppError, malformed } from '../../base/errors.ts';
import { createWaker, every, loop } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import type { EventOutput } from '../../http/streams.ts';
import {
  beforeBatchOf,
  lastBlock,
  type NewRow,
  readNewRows,
  startOfLast,
} from '../../store/query-log/new-rows.ts';
import type { Store } from '../../store/store.ts';
import type { RowFilter } from './listing-query.ts';
import { RowStream } from './row-stream.ts';

/** Milliseconds between two reads without a wake-up. On SQLite other processes do not wake this one. */
const POLL_MS = 1_000;
/** While nobody follows. */
const IDLE_MS = 3_600_000;
/** Rows of all customers that one statement examines. */
const SPAN = 1_000;

/** Milliseconds. Batches come about once a second. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

/** Who follows the log of one customer. */
interface Follower {
  readonly customerId: string;
  /** Called once: rows of the blocks after this one come to `offer`, and none before. */
  begin(from: number): void;
  /** Rows of the customer, in order. Must not throw. */
  offer(rows: readonly NewRow[]): void;
}

interface LiveReader {
  /** @returns stops the follower */
  follow(follower: Follower): () => void;
  /** Stops reading. Resolves when a read under way has ended. */
  close(): Promise<void>;
}

interface LiveReaderOptions {
  readonly store: Store;
  readonly onError: (error: unknown) => void;
}

/** Reads each new row once, whatever the number of followers. It reads nothing while there are none. */
function openLiveReader({ store, onError }: LiveReaderOptions): LiveReader {
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, backgroundTimers);
  const joining = new Set<Follower>();
  const followers = new Map<string, Set<Follower>>();
  /** Every block up to it was offered; null while nobody follows. */
  let cursor: number | null = null;
  let running: Promise<void> | null = null;

  /** Between two spans: a follower that joins during one would miss its rows. */
  function admit(from: number): void {
    for (const follower of joining) {
      const others = followers.get(follower.customerId);
      if (others === undefined) followers.set(follower.customerId, new Set([follower]));
      else others.add(follower);
      follower.begin(from);
    }
    joining.clear();
  }

  async function pass(): Promise<number> {
    if (joining.size === 0 && followers.size === 0) {
      cursor = null;
      return IDLE_MS;
    }
    const last = await lastBlock(store.read);
    cursor ??= last;
    admit(cursor);
    while (cursor < last && followers.size > 0 && !signal.aborted) {
      const customers = [...followers.keys()];
      const { rows, end }: { rows: readonly NewRow[]; end: number | null } = await readNewRows(
        store.read,
        customers,
        { after: cursor, last, limit: SPAN },
      );
      for (const [customer, own] of Map.groupBy(rows, ({ customer_id }) => customer_id)) {
        for (const follower of followers.get(customer) ?? []) follower.offer(own);
      }
      cursor = end ?? last;
      admit(cursor);
    }
    return POLL_MS;
  }

  function start(): Promise<void> {
    const unlisten = store.onWork('query_log', () => waker.wake());
    return loop({ signal, waker, pass, backoff: BACKOFF, onError }).finally(unlisten);
  }

  return {
    follow(follower) {
      joining.add(follower);
      running ??= start();
      waker.wake();
      return () => {
        joining.delete(follower);
        const others = followers.get(follower.customerId);
        others?.delete(follower);
        if (others?.size === 0) followers.delete(follower.customerId);
      };
    },
    async close() {
      ending.abort();
      await running;
    },
  };
}

/** Rows of all customers that one statement of a resumption examines. */
const RESUME_SPAN = 500;

const ROW_ID = /^(?:0|[1-9][0-9]{0,15})$/;

/** One client of `GET /query_logs/stream`. */
export interface StreamClient {
  readonly actor: Actor;
  readonly filter: RowFilter;
  /** The row after which it goes on; null: only what comes from now on. */
  readonly after: number | null;
  readonly output: EventOutput;
  /** Asks whether its credential still counts, and for which customer. */
  readonly renew: () => Promise<Actor | null>;
  /** Ends the answer. */
  readonly end: () => void;
}

export interface LogStreams {
  /** Begins to send. @returns stops; call it when the answer has ended or the connection is closed */
  open(client: StreamClient): () => void;
  /** Ends every stream, also those that begin later: call it before connections are closed. */
  endAll(): void;
  close(): Promise<void>;
}

interface LogStreamsOptions {
  readonly store: Store;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}

/** Reads `Last-Event-ID`. @throws AppError 400 */
export function parseLastEventId(header: string | readonly string[] | undefined): number | null {
  if (header === undefined || header === '') return null;
  const id = typeof header === 'string' && ROW_ID.test(header) ? Number(header) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw malformed(400, 'Last-Event-ID is not the id of a row');
  return id;
}

export function tooManyStreams(): AppError {
  return new AppError('rate_limit_exceeded', 'Too many streams of the query log are open', {
    retryAfter: 10,
  });
}

/** The open streams of a process. One reader of the log and one timer serve all of them. */
export function openLogStreams({ store, timers, onError }: LogStreamsOptions): LogStreams {
  const reader = openLiveReader({ store, onError });
  const open = new Map<StreamClient, RowStream>();
  const ending = new WeakSet<StreamClient>();
  const joining = new Set<Promise<void>>();
  const unfollows = new Map<StreamClient, () => void>();
  let checking: Promise<void> | null = null;
  let mustCheckAgain = false;
  /** Told once: while the database is away no credential can be checked, and no row can be sent. */
  let isFailing = false;
  let isClosing = false;

  /** What a slow client has not read yet is not sent any more. The stream stays open until the client has read the end, or is cut off. */
  function end(client: StreamClient): void {
    if (ending.has(client)) return;
    ending.add(client);
    if (client.output.isReady()) client.end();
    else client.output.cutOff();
  }

  /** Ends the stream when its credential ended, or now acts for another customer. @returns whether it goes on */
  async function checkOne(client: StreamClient): Promise<boolean> {
    const actor = await client.renew();
    const goesOn = actor?.customerId === client.actor.customerId;
    if (!goesOn) end(client);
    return goesOn;
  }

  async function check(): Promise<void> {
    do {
      mustCheckAgain = false;
      for (const client of [...open.keys()]) if (!ending.has(client)) await checkOne(client);
    } while (mustCheckAgain);
  }

  function reportOnce(error: unknown): void {
    if (!isFailing) onError(error);
    isFailing = true;
  }

  function checkSoon(): Promise<void> {
    // A credential may have ended after the check under way has asked for it.
    mustCheckAgain = true;
    checking ??= check()
      .then(() => {
        isFailing = false;
      }, reportOnce)
      .finally(() => {
        checking = null;
      });
    return checking;
  }

  /**
   * Follows the log once the credential was checked again: it may have ended since the request was let in. From `open.set` on, each end
   * of a credential is a check of this client too.
   */
  async function join(client: StreamClient, stream: RowStream): Promise<void> {
    const isOpen = (): boolean => open.has(client);
    try {
      if (!(await checkOne(client)) || !isOpen() || ending.has(client)) return;
      unfollows.set(client, reader.follow(resumable(store, client, stream, isOpen, onError)));
    } catch (error) {
      reportOnce(error);
      end(client);
    }
  }

  const unlisten = store.onWork('credentials', () => void checkSoon());
  const ticking = every({
    ms: 1_000,
    timers,
    onError,
    task() {
      for (const stream of open.values()) stream.tick();
      // Not awaited: a check goes on as long as credentials end, and without the next second a stream falls silent.
      if (open.size > 0 && checking === null) void checkSoon();
    },
  });

  return {
    open(client) {
      const stream = new RowStream(client.actor, client.filter, client.output);
      open.set(client, stream);
      if (isClosing) end(client);
      const joined: Promise<void> = join(client, stream).finally(() => joining.delete(joined));
      joining.add(joined);
      return () => {
        open.delete(client);
        unfollows.get(client)?.();
        unfollows.delete(client);
      };
    },
    endAll() {
      isClosing = true;
      for (const client of open.keys()) end(client);
    },
    async close() {
      unlisten();
      await Promise.all([ticking.stop(), reader.close(), checking, ...joining]);
    },
  };
}

/** A follower that first sends the rows after `client.after`. Rows that come meanwhile wait, as many as one second may send. */
function resumable(
  store: Store,
  { actor, after }: StreamClient,
  stream: RowStream,
  isOpen: () => boolean,
  onError: (error: unknown) => void,
): Follower {
  const { customerId } = actor;
  let waiting: NewRow[] | null = after === null ? null : [];
  const resume = async (from: number, last: number): Promise<void> => {
    const start = await startOfLast(store.read, last, LIMITS.queryLogResumeRows);
    // The other blocks of its batch may have later rows: that batch is read whole.
    const first = beforeBatchOf(from);
    const isWhole = beforeBatchOf(start) <= first;
    if (!isWhole) stream.tellGap();
    let position = isWhole ? first : start;
    while (isOpen()) {
      const span = await readNewRows(store.read, [customerId], { after: position, last, limit: RESUME_SPAN });
      stream.offer(span.rows.filter(({ id }) => id > from));
      if (span.end === null) return;
      position = span.end;
    }
  };
  return {
    customerId,
    begin(last) {
      if (after === null) return;
      void resume(after, last)
        .catch((error: unknown) => {
          stream.tellGap();
          onError(error);
        })
        .finally(() => {
          stream.offer(waiting ?? []);
          waiting = null;
        });
    },
    offer(rows) {
      if (waiting === null) {
        stream.offer(rows);
        return;
      }
      const room = LIMITS.queryLogStreamRows - waiting.length;
      waiting.push(...rows.slice(0, room));
      stream.skip(rows.slice(room));
    },
  };
}
