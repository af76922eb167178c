import { AppError, malformed } from '../../base/errors.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
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
import { type LiveFollower, openLiveReader } from '../live/reader.ts';
import type { Sender } from '../live/streams.ts';
import type { RowFilter } from './listing-query.ts';
import { RowStream } from './row-stream.ts';

/** Rows of all customers that one statement examines. */
const SPAN = 1_000;

/** Rows of all customers that one statement of a resumption examines. */
const RESUME_SPAN = 500;

const ROW_ID = /^(?:0|[1-9][0-9]{0,15})$/;

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

/** What one client of `GET /query_logs/stream` asked for. */
export interface LogRequest {
  readonly actor: Actor;
  readonly filter: RowFilter;
  /** The row after which it goes on; null: only what comes from now on. */
  readonly after: number | null;
}

export interface LogSenders {
  sender(request: LogRequest, output: EventOutput): Sender;
  close(): Promise<void>;
}

/** What the streams of a process send. One reader of the log serves all of them. */
export function openLogSenders({
  store,
  timers,
  onError,
}: {
  readonly store: Store;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}): LogSenders {
  const reader = openLiveReader<NewRow>(
    {
      listen: (wake) => store.onWork('query_log', wake),
      last: () => lastBlock(store.read),
      read: ({ customers, after, last }) =>
        readNewRows(store.read, [...customers], { after, last, limit: SPAN }),
      customerOf: (row) => row.customer_id,
    },
    onError,
    timers,
  );
  return {
    sender(request, output) {
      const stream = new RowStream(request.actor, request.filter, output);
      let isOpen = true;
      return {
        begin() {
          const unfollow = reader.follow(resumable(store, request, stream, () => isOpen, onError));
          return () => {
            isOpen = false;
            unfollow();
          };
        },
        tick: (isHeartbeat) => stream.tick(isHeartbeat),
      };
    },
    close: () => reader.close(),
  };
}

/** A follower that first sends the rows after `client.after`. Rows that come meanwhile wait, as many as one second may send. */
function resumable(
  store: Store,
  { actor, after }: LogRequest,
  stream: RowStream,
  isOpen: () => boolean,
  onError: (error: unknown) => void,
): LiveFollower<NewRow> {
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
