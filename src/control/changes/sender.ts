import type { Turns } from '../../base/lifecycle/turns.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import type { EventOutput } from '../../http/streams.ts';
import type { LiveReader } from '../live/reader.ts';
import type { Sender } from '../live/streams.ts';
import { epochTag, type Position } from '../unit.ts';
import { type ChangesDeps, readChanges } from './pages.ts';
import { type ChangeQuery, changeResource, type FeedRow, isToldTo, type Lost } from './rows.ts';

interface SenderOptions extends ChangesDeps {
  readonly reader: LiveReader<FeedRow> & { epoch(): string | null };
  readonly turns: Turns;
  readonly onError: (error: unknown) => void;
}

/**
 * The events of one client of `GET /changes/stream`. It holds a place in the log and no rows but those that wait in its output. At the end
 * of the log it takes what the live reader offers. A client that reads slowly, or is told of more than a second may send, falls behind: it
 * reads page by page from its place until it is at the end again. Nothing is dropped.
 */
export function changeSender(
  options: SenderOptions,
  actor: Actor,
  query: ChangeQuery,
  output: EventOutput,
): Sender {
  const { reader, turns, onError, positions } = options;
  const { customerId } = actor;
  let place = query.since;
  /** Whether it takes what the reader offers. Else it reads pages. */
  let isLive = false;
  let isReading = false;
  /** Before, the reader's place is that of other customers: what it offers there this client is not offered. */
  let hasBegun = false;
  let hasEnded = false;
  /** Rows of this second. */
  let sent = 0;
  /** Whether the client knows a cursor of this place. */
  let isTold = true;

  const hasRoom = (): boolean => output.isReady() && sent < LIMITS.changeStreamRows;

  function send(row: FeedRow, epoch: string): void {
    place = { seq: row.seq, at: row.at, epoch };
    if (!isToldTo(actor, query, row)) {
      isTold = false;
      return;
    }
    sent++;
    isTold = true;
    const cursor = positions.text(customerId, place);
    output.write(`id: ${cursor}\ndata: ${JSON.stringify(changeResource(row, cursor))}\n\n`);
  }

  /** The place as an event of its own, so that the cursor of a quiet client never grows old. */
  function checkpoint(): void {
    if (place === null) return;
    isTold = true;
    // With data: some clients take an id only from an event that has some.
    output.write(`event: checkpoint\nid: ${positions.text(customerId, place)}\ndata: {}\n\n`);
  }

  const read = (since: Position | null, limit: number) =>
    turns.run(actor.personId, () => readChanges(options, actor, query, { since, limit }));

  /** Tells that changes are missing, and goes on from the present end. */
  async function reset(reason: Lost): Promise<void> {
    const page = await read(null, 1);
    if (page === null || typeof page === 'string') return;
    place = page.place;
    isTold = true;
    const cursor = positions.text(customerId, place);
    output.write(`event: reset\nid: ${cursor}\ndata: ${JSON.stringify({ reason, cursor })}\n\n`);
  }

  /** Reads pages until the client is at the end of the log, or has no room. */
  async function catchUp(): Promise<void> {
    while (!hasEnded && !isLive && hasRoom()) {
      const limit = Math.min(LIMITS.changeStreamPage, LIMITS.changeStreamRows - sent);
      const page = await read(place, limit);
      // Without a turn it reads at the next tick.
      if (hasEnded || page === null) return;
      if (typeof page === 'string') {
        await reset(page);
        continue;
      }
      for (const row of page.rows) send(row, page.place.epoch);
      if (place === null || page.place.seq > place.seq) {
        isTold = false;
        place = page.place;
      }
      // What the reader has offered since was not taken. It stands behind this place when the reader has gone further.
      const offered = reader.place();
      isLive = !page.hasMore && offered !== null && offered <= page.place.seq;
    }
    if (!isTold && hasRoom()) checkpoint();
  }

  /** In a log of another epoch the next change is not the one after this place. The next page says so. */
  function leaveOtherLog(): void {
    if (place !== null && place.epoch !== epochTag(reader.epoch() ?? '')) isLive = false;
  }

  function pump(): void {
    if (!hasBegun || isReading || isLive || hasEnded) return;
    isReading = true;
    void catchUp()
      .catch(onError)
      .finally(() => {
        isReading = false;
      });
  }

  return {
    begin() {
      output.onRoom?.(pump);
      const unfollow = reader.follow({
        customerId,
        begin() {
          hasBegun = true;
          pump();
        },
        offer(rows) {
          leaveOtherLog();
          if (!isLive || place === null) return;
          const { epoch, seq } = place;
          for (const row of rows) {
            if (row.seq <= seq) continue;
            if (!hasRoom()) {
              isLive = false;
              return;
            }
            send(row, epoch);
          }
        },
      });
      return () => {
        hasEnded = true;
        unfollow();
      };
    },
    tick(isHeartbeat) {
      sent = 0;
      leaveOtherLog();
      const offered = reader.place();
      if (isLive && place !== null && offered !== null && offered > place.seq)
        place = { ...place, seq: offered };
      if (isHeartbeat || !isTold) checkpoint();
      pump();
    },
  };
}
