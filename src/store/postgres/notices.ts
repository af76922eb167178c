import type { Pool } from 'pg';
import { randomUuid, realRandom } from '../../base/chance.ts';
import { type Backoff, createDrain, createWaker, loop } from '../../base/lifecycle/loop.ts';
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { joinMarks, type Marks, NO_MARKS } from '../engine/signals.ts';
import { WORK_TOPICS } from '../store.ts';
import { BoundedClient, connectionConfig } from './driver.ts';

const CHANNEL = 'uqrp_store';

/** Delays between attempts to connect again. */
const RECONNECT: Backoff = { firstMs: 100, capMs: 1_000 };

/** The store that sends the notice, the `seq` of the last change of its units, and the work that they left. */
type Notice = readonly [origin: string, seq: number | null, work: readonly string[]];

/**
 * Notifies other processes of committed units, after the commit: NOTIFY inside a transaction takes a lock that makes all commits
 * of the server queue. One notice is sent at a time; units that commit meanwhile share the next one. A lost notice delays its
 * readers until their next poll.
 */
export class Notifier {
  /** Identifies this store in its notices. */
  readonly origin: string = randomUuid(realRandom);
  readonly #pool: Pool;
  readonly #drain = createDrain(
    () => !isSilent(this.#next),
    () => this.#send(),
  );
  #next: Marks = NO_MARKS;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Sends nothing for a unit that appended no change and left no work. */
  tell(marks: Marks): void {
    if (isSilent(marks)) return;
    this.#next = joinMarks([this.#next, marks]);
    this.#drain.start();
  }

  /** Resolves when no notice is being sent. */
  idle(): Promise<void> {
    return this.#drain.idle();
  }

  async #send(): Promise<void> {
    const { seq, work } = this.#next;
    this.#next = NO_MARKS;
    const notice: Notice = [this.origin, seq, [...work]];
    await this.#pool.query('select pg_notify($1, $2)', [CHANNEL, JSON.stringify(notice)]).catch(() => {});
  }
}

function isSilent({ seq, work }: Marks): boolean {
  return seq === null && work.size === 0;
}

/** @returns null for a notice of this store, and for text that is not a notice */
function readNotice(text: string | undefined, self: string): Marks | null {
  try {
    const [origin, seq, work] = JSON.parse(text ?? '') as Notice;
    if (origin === self) return null;
    return { ...NO_MARKS, seq, work: new Set(WORK_TOPICS.filter((topic) => work.includes(topic))) };
  } catch {
    return null;
  }
}

/**
 * Listens for the notices of other stores, on a connection outside the pools. When the connection is lost it reconnects with
 * exponential backoff, without a limit. After each connect it calls `heard` once with the head of the log and all work topics,
 * since notices may have been missed.
 * @param self notices of this origin are skipped
 * @returns stops listening
 */
export function watchNotices(url: string, self: string, heard: (marks: Marks) => void): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const pass = (): Promise<number> => listen(url, self, heard, signal);
  void loop({
    signal,
    waker: createWaker(signal, backgroundTimers),
    pass,
    backoff: RECONNECT,
    onError() {},
  });
  return () => ending.abort();
}

/**
 * Listens on one connection until it is lost or the signal is aborted.
 * @returns milliseconds to wait before the next connection; rejects when it could not listen at all
 */
async function listen(
  url: string,
  self: string,
  heard: (marks: Marks) => void,
  signal: AbortSignal,
): Promise<number> {
  const client = new BoundedClient({ ...connectionConfig(url), statement_timeout: 0 });
  const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
  client.on('error', () => onLost());
  client.on('end', onLost);
  client.on('notification', ({ payload }) => {
    const marks = readNotice(payload, self);
    if (marks !== null && !signal.aborted) heard(marks);
  });
  const close = (): void => void client.end().catch(() => {});
  signal.addEventListener('abort', close, { once: true });
  try {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    const { rows } = await client.query<{ seq: number }>('select seq from feed_head where id = 1');
    if (!signal.aborted) heard({ ...NO_MARKS, seq: rows[0]?.seq ?? 0, work: new Set(WORK_TOPICS) });
    await lost;
    return RECONNECT.firstMs;
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}
