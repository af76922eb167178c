/** Control's side: answers what edges ask, from the provider client. */
import type { Clock } from '../../../base/clock.ts';
import { realTimers, type Timers } from '../../../base/lifecycle/timers.ts';
import { GRID } from '../../weather-sources.ts';
import type { ProviderClient } from '../client/provider-client.ts';
import type { Reading } from '../reading.ts';
import type { FeedName } from '../sources/feeds.ts';
import { type RemoteReading, remoteReading } from './remote-reading.ts';

/** Milliseconds until an edge is told that the fetch still runs. It goes on, and the next question has its result. */
const PATIENCE_MS = 2_000;

/** @returns null for a feed or a key that no edge asks for: a key becomes part of a URL */
export function answerAsk(
  client: Pick<ProviderClient, 'ask'>,
  clock: Clock,
  timers: Timers = realTimers,
): (feed: string, key: string) => Promise<RemoteReading | null> {
  return async (feed, key) => {
    if (!isKey(feed, key)) return null;
    const reading = client.ask(feed as FeedName, key);
    if (!(reading instanceof Promise)) return remoteReading(reading, clock());
    const late = Promise.withResolvers<Reading<unknown>>();
    const cancel = timers.after(PATIENCE_MS, () => late.resolve({ kind: 'late' }));
    const first = await Promise.race([reading, late.promise]);
    cancel();
    return remoteReading(first, clock());
  };
}

const PAIR = /^[A-Za-z0-9]{1,16}-[A-Za-z0-9]{1,16}$/;
const TICKER = /^[A-Za-z0-9]{1,12}(?:[.-][A-Za-z0-9]{1,4})?$/;
const CELL = /^(-?\d{1,6})_(-?\d{1,6})$/;

/** The spelling of each feed's keys: those that the services of an edge make. */
function isKey(feed: string, key: string): boolean {
  if (feed === 'forex' || feed === 'crypto') return PAIR.test(key);
  if (feed === 'stock') return TICKER.test(key);
  const cell = feed === 'meteo' ? CELL.exec(key) : null;
  return cell !== null && Math.abs(Number(cell[1])) <= 90 * GRID && Math.abs(Number(cell[2])) <= 180 * GRID;
}
