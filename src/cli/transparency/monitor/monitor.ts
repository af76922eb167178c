import { TINDEX_VERSION } from '../../../base/brand.ts';
import { InputError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { decodeBase64 } from '../../../protocol/encodings.ts';
import {
  type LogNews,
  type LogRules,
  readTransparencyEntry,
  transparencyRules,
} from '../../../protocol/transparency/entries.ts';
import { type Alarm, type AlarmCode, alarm } from './alarms.ts';
import {
  compareNote,
  cosignedAt,
  type HeldHead,
  readGrowth,
  readHeld,
  signedHead,
  staleness,
  type Watched,
} from './round.ts';
import { compareServed, type ServedSources } from './served.ts';

interface MonitorOptions extends Watched {
  readonly sources: ServedSources;
  /** Only what concerns this dataset, or the log as a whole; null: everything. */
  readonly slug: string | null;
  /** A checkpoint that somebody else was shown, or null. */
  readonly note: string | null;
  readonly tell: (event: LogEvent) => void;
  /** Keeps the evidence and tells of it. @throws InputError where the evidence cannot be kept, after it has told */
  readonly raise: (alarm: Alarm) => Promise<void>;
  /** Whether a quorum of witnesses answers the monitor; where the policy does not say where they are, true. */
  readonly areWitnessesThere: () => Promise<boolean>;
  /** Tells something that is no alarm. */
  readonly remark: (text: string) => void;
}

export interface Monitor {
  /** @returns how many alarms there were. @throws InputError when something could not be checked */
  round(): Promise<number>;
}

/** An entry that keeps to the rules. */
export type LogEvent = Exclude<LogNews, { readonly reason: string }>;

/** What is served may be a moment ahead of the published checkpoint, or behind it: an alarm is what stays. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 2000;
/** A listing may be in caches for a minute. An answer from one is looked at again for a little longer. */
const CACHED_MS = 75_000;

/** What is served differs so from the log while its newest entries wait for witnesses, and nothing is wrong. */
const WAITING: ReadonlySet<AlarmCode> = new Set(['served_not_logged', 'logged_not_served', 'older_latest']);
const DAY_MS = 86_400_000;
/** Until the log has asked again, once witnesses answer. */
const SETTLE_MS = 120_000;
/** What could not be checked for this time is an alarm. */
const UNCHECKED_MS = 3_600_000;

const HEAD_TXT = `v=${TINDEX_VERSION};e=b64;d=`;

/** What the folder holds, and the sum of its entries. */
interface Known {
  readonly held: HeldHead;
  readonly rules: LogRules;
}

/** One at a time. What it knows is read from the folder at the first round, and after a failure. */
export function createMonitor(options: MonitorOptions): Monitor {
  const { slug, state } = options;
  let hadListing = false;
  const sources: ServedSources = {
    ...options.sources,
    async datasets() {
      const served = await options.sources.datasets();
      if (served === null && hadListing) throw new InputError('there is no listing of datasets any more');
      hadListing ||= served !== null;
      return served;
    },
  };
  let known: Known | null = null;
  let raised = 0;
  const counts = new Map<AlarmCode, number>();
  /** What this round could not write. It keeps no alarm back: the end of the round tells of it. */
  let unkept: InputError[] = [];
  /** Since when no round was whole. */
  let failedSince: number | null = null;

  const concerns = (of: string | null): boolean => slug === null || of === null || of === slug;

  async function raise(one: Alarm): Promise<void> {
    if (!concerns(one.slug)) return;
    raised += 1;
    // Of each alarm its own: many cheap ones do not hide another one.
    const count = (counts.get(one.code) ?? 0) + 1;
    counts.set(one.code, count);
    if (count <= LIMITS.monitorAlarms) await options.raise(one).catch(faultInto(unkept));
  }

  /** @returns whether it was written */
  function isKept(write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      faultInto(unkept)(error);
      return false;
    }
  }

  function load(): Known {
    const rules = transparencyRules();
    return { held: readHeld(options, (leaf) => void rules.add(leaf)), rules };
  }

  /** Takes over what is new. @returns whether the log continues what is held, with a quorum */
  async function grow(checkTime: () => void): Promise<boolean> {
    known ??= load();
    const { held, rules } = known;
    const { alarms, next } = await readGrowth(options, held, checkTime);
    for (const one of alarms) await raise(one);
    if (next === null) return false;
    // The sum changes from here on: after a failure the next round begins with what is on the disk.
    known = null;
    const both = {
      ...(held.head !== null && { 'held.checkpoint': held.head.text }),
      ...(next.head !== null && { 'shown.checkpoint': next.head.text }),
    };
    // What entries mean is told, and evidence kept, before they count as seen: after a crash it is told again.
    for (const leaf of state.entries(held.tree.size, next.tree.size)) {
      const about = slugOf(leaf);
      for (const news of rules.add(leaf)) {
        if ('reason' in news) {
          const entry = { [`entry-${news.number}`]: leaf, ...earlierOf(news.earlier) };
          const text = `entry ${news.number}: ${news.reason}`;
          await raise(alarm(news.news, text, { ...both, ...entry }, about));
        } else if (concerns(about)) options.tell(news);
      }
    }
    const { head, tree } = next;
    // Of entries whose evidence is missing, the next round tells again.
    if (head !== null && head.text !== held.head?.text && unkept.length === 0)
      isKept(() => state.keepHead(head.text, tree.size));
    known = { held: next, rules };
    return true;
  }

  /** The entry that another one contradicts, for the evidence. */
  function earlierOf(number: number | null): Readonly<Record<string, Uint8Array>> {
    const [leaf] = number === null ? [] : state.entries(number, number + 1);
    return leaf === undefined ? {} : { [`entry-${number}`]: leaf };
  }

  async function compare(checkTime: () => void): Promise<void> {
    const looksUntil = options.now() + CACHED_MS;
    for (let look = 1; ; look++) {
      const { held, rules } = known!;
      const { alarms: found, faults } = await compareServed(
        rules.sum,
        sources,
        slug,
        held.head!.text,
        checkTime,
      );
      const inDns = (await sources.txt?.('log').catch(faultInto(faults))) ?? [];
      for (const one of inDns) {
        const other = await compareDnsHead(held, one, checkTime);
        if (other !== null) found.push(other);
      }
      const isLast = look >= LOOKS && !(sources.isCached?.() === true && options.now() < looksUntil);
      if (found.length === 0 || isLast) {
        await judge(held, found);
        const [fault] = faults;
        if (fault !== undefined) throw fault;
        return;
      }
      await options.pause(LOOK_AGAIN_MS);
      if (!(await grow(checkTime))) return;
    }
  }

  /**
   * Raises what was found. While witnesses are away versions are served and retired all the same, and their entries wait: that is no alarm, until the
   * log has been cosigned since, or for a day.
   */
  async function judge(held: HeldHead, found: readonly Alarm[]): Promise<void> {
    const isWaiting = found.some(({ code }) => WAITING.has(code)) && (await mayWait(held));
    if (!found.some(({ code }) => WAITING.has(code))) isKept(() => state.keepWait(null));
    if (isWaiting) options.remark('what is served differs from the log, which waits for its witnesses');
    for (const one of found) if (!isWaiting || !WAITING.has(one.code)) await raise(one);
  }

  async function mayWait(held: HeldHead): Promise<boolean> {
    const now = options.now();
    const before = state.wait();
    const isAway = !(await options.areWitnessesThere());
    if (!isAway && before === null) return false;
    const wait = { since: before?.since ?? now, away: isAway ? now : before!.away };
    // A wait that is not kept would begin again in each round, and have no end.
    if ((wait.since !== before?.since || wait.away !== before.away) && !isKept(() => state.keepWait(wait)))
      return false;
    const cosigned = cosignedAt(options, held);
    return (
      now - wait.away < SETTLE_MS && now - wait.since < DAY_MS && cosigned * 1000 < wait.since + SETTLE_MS
    );
  }

  async function compareDnsHead(
    held: HeldHead,
    txt: Uint8Array,
    checkTime: () => void,
  ): Promise<Alarm | null> {
    const value = Buffer.from(txt).toString('latin1');
    const octets = value.startsWith(HEAD_TXT) ? decodeBase64(value.slice(HEAD_TXT.length)) : null;
    const text = Buffer.from(octets ?? []).toString();
    if (signedHead(text, options.log) !== null) return await compareNote(options, held, text, checkTime);
    const evidence = { 'held.checkpoint': held.head!.text, served: txt };
    return alarm('checkpoint_untrusted', 'DNS serves a checkpoint that the log has not signed', evidence);
  }

  return {
    async round() {
      raised = 0;
      counts.clear();
      unkept = [];
      const from = options.now();
      const checkTime = (): void => {
        if (options.now() - from > LIMITS.monitorRoundMs)
          throw new InputError('the log and what is served were not read within an hour');
      };
      try {
        await look(checkTime);
        const [fault] = unkept;
        if (fault !== undefined) throw fault;
        failedSince = null;
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        failedSince ??= from;
        if (options.now() - failedSince >= UNCHECKED_MS) {
          const evidence = known?.held.head == null ? {} : { 'held.checkpoint': known.held.head.text };
          await raise(alarm('unchecked', `for an hour no round was whole: ${error.message}`, evidence));
        }
        throw error;
      } finally {
        // The next round begins with what is on the disk.
        if (unkept.length > 0) known = null;
      }
      return raised;
    },
  };

  async function look(checkTime: () => void): Promise<void> {
    let continues = false;
    try {
      continues = await grow(checkTime);
    } finally {
      // Also while the log does not answer.
      const stale = known === null ? null : staleness(options, known.held);
      if (stale !== null) await raise(stale);
    }
    if (options.note !== null) {
      const other = await compareNote(options, known!.held, options.note, checkTime);
      if (other !== null) await raise(other);
    }
    if (continues) await compare(checkTime);
  }
}

function faultInto(faults: InputError[]): (error: unknown) => null {
  return (error) => {
    if (!(error instanceof InputError)) throw error;
    faults.push(error);
    return null;
  };
}

/** The dataset that an entry is about; null for keys, and for what is not readable. */
function slugOf(leaf: Uint8Array): string | null {
  const entry = readTransparencyEntry(leaf);
  if (entry?.kind === 'manifest') return entry.manifest.slug;
  return entry?.kind === 'retirement' ? entry.retirement.slug : null;
}
