/** A change of a zone's offset. */
export interface OffsetChange {
  /** Milliseconds since the epoch, a whole second. */
  readonly at: number;
  /** Seconds east of UTC from then on. */
  readonly offset: number;
}

/** Milliseconds from `from` until before `until`, in which a zone's offset and its next change stay. */
interface Period {
  readonly from: number;
  readonly until: number;
  readonly offset: number;
  readonly next: OffsetChange | null;
}

const DAY_MS = 86_400_000;
/** How far ahead a change is looked for: two a year are usual. */
const SEARCH_MS = 366 * DAY_MS;
/** Shorter than any time between two changes of a zone in use. */
const STEP_MS = 7 * DAY_MS;
/** Without a change the search is repeated after this time. At most STEP_MS: the offset is not compared in between. */
const NO_CHANGE_MS = 7 * DAY_MS;

/** The latest period of each zone that was asked for. Formatters are not kept: those of all zones take 14 MB in each worker. */
const periods = new Map<string, Period>();

/** Seconds east of UTC. @param zone an IANA name; RangeError for another */
export function offsetAt(zone: string, ms: number): number {
  return periodAt(zone, ms).offset;
}

/** The next change within a year; null when there is none. */
export function nextChange(zone: string, now: number): OffsetChange | null {
  return periodAt(zone, now).next;
}

function periodAt(zone: string, ms: number): Period {
  const known = periods.get(zone);
  if (known !== undefined && ms >= known.from && ms < known.until) return known;
  const found = search(zone, ms);
  periods.set(zone, found);
  return found;
}

/** Takes up to a millisecond: a formatter takes 130 us to make, and each of up to 72 offsets 10 us. */
function search(zone: string, ms: number): Period {
  const format = formatOf(zone);
  const from = wholeSecond(ms);
  const offset = offsetOf(format, from);
  let before = from;
  let after = from;
  do {
    if (after - from >= SEARCH_MS) return { from, until: from + NO_CHANGE_MS, offset, next: null };
    before = after;
    after += STEP_MS;
  } while (offsetOf(format, after) === offset);
  while (after - before > 1000) {
    const middle = wholeSecond((before + after) / 2);
    if (offsetOf(format, middle) === offset) before = middle;
    else after = middle;
  }
  return { from, until: after, offset, next: { at: after, offset: offsetOf(format, after) } };
}

/** @param ms a whole second */
function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(ms)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return (Date.UTC(year, month - 1, day, hour, minute, second) - ms) / 1000;
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}
