import { randomUUID } from 'node:crypto';
import { Client, type Pool } from 'pg';
import { type Backoff, backoffMs } from '../../../lifecycle/backoff.ts';
import { createDrain } from '../../../lifecycle/drain.ts';
import { joinMarks, type Marks, NO_MARKS } from '../engine/unit-marks.ts';
import { WORK_TOPICS } from '../engine/work-topics.ts';
import { connectionConfig } from './driver.ts';

const CHANNEL = 'uqrp_store';

/** Between attempts to listen again. */
const RECONNECT: Backoff = { firstMs: 100, capMs: 1_000 };

/** What a notice says: who sends it, the last change of its units, the work that they left. */
type Notice = readonly [origin: string, seq: number | null, work: readonly string[]];

/**
 * Tells other processes what committed units did, after the commits and not in them: NOTIFY inside a transaction takes a
 * lock that makes all commits of the server queue. One notice at a time; what is to be told meanwhile becomes one. A notice
 * that is lost costs the time to the next poll.
 */
export class Notifier {
  /** Names this store in its notices. */
  readonly origin: string = randomUUID();
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

  /** Resolves when no notice is on its way. */
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

/** @returns null for a notice of the store itself, and for text that is no notice */
function readNotice(text: string | undefined, self: string): Marks | null {
  try {
    const [origin, seq, work] = JSON.parse(text ?? '') as Notice;
    if (origin === self) return null;
    return { seq, work: new Set(WORK_TOPICS.filter((topic) => work.includes(topic))) };
  } catch {
    return null;
  }
}

/**
 * Listens on a connection of its own, made again whenever it is lost; `heard` is then called at once with the head of the
 * log and all work, for what was missed.
 *
 * @param self notices of this origin are not heard
 * @returns the way to stop
 */
export function watchNotices(url: string, self: string, heard: (marks: Marks) => void): () => void {
  let stopped = false;
  let client: Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;

  const connect = async (): Promise<void> => {
    const fresh = new Client({ ...connectionConfig(url), statement_timeout: 0 });
    client = fresh;
    let lost = false;
    const retry = (): void => {
      if (lost) return;
      lost = true;
      void fresh.end().catch(() => {});
      if (stopped) return;
      failures++;
      timer = setTimeout(() => void connect(), backoffMs(failures, RECONNECT));
      timer.unref();
    };
    fresh.on('error', retry);
    fresh.on('end', retry);
    fresh.on('notification', ({ payload }) => {
      const marks = readNotice(payload, self);
      if (marks !== null) heard(marks);
    });
    try {
      await fresh.connect();
      await fresh.query(`listen ${CHANNEL}`);
      const { rows } = await fresh.query<{ seq: number }>('select seq from feed_head where id = 1');
      if (stopped) return;
      failures = 0;
      heard({ seq: rows[0]?.seq ?? 0, work: new Set(WORK_TOPICS) });
    } catch {
      retry();
    }
  };

  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    void client?.end().catch(() => {});
  };
}
