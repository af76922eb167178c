import { TINDEX_VERSION } from '../../../base/brand.ts';
import { LIMITS } from '../../../base/limits.ts';
import { decodeBase64 } from '../../../protocol/encodings.ts';
import {
  type LogNews,
  type LogRules,
  readTransparencyEntry,
  transparencyRules,
} from '../../../protocol/transparency/entries.ts';
import { type Alarm, alarm } from './alarms.ts';
import {
  compareNote,
  type Held,
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
  /** Keeps the evidence and tells of it. */
  readonly raise: (alarm: Alarm) => Promise<void>;
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

const HEAD_TXT = `v=${TINDEX_VERSION};e=b64;d=`;

/** What the folder holds, and the sum of its entries. */
interface Known {
  readonly held: Held;
  readonly rules: LogRules;
}

/** One at a time. What it knows is read from the folder at the first round, and after a failure. */
export function createMonitor(options: MonitorOptions): Monitor {
  const { sources, slug, state } = options;
  let known: Known | null = null;
  let raised = 0;

  const concerns = (of: string | null): boolean => slug === null || of === null || of === slug;

  async function raise(one: Alarm): Promise<void> {
    if (!concerns(one.slug)) return;
    raised += 1;
    if (raised <= LIMITS.monitorAlarms) await options.raise(one);
  }

  function load(): Known {
    const rules = transparencyRules();
    return { held: readHeld(options, (leaf) => void rules.add(leaf)), rules };
  }

  /** Takes over what is new. @returns whether the log continues what is held, with a quorum */
  async function grow(): Promise<boolean> {
    known ??= load();
    const { held, rules } = known;
    const { alarms, next } = await readGrowth(options, held);
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
    if (next.head !== null && next.head.text !== held.head?.text)
      state.keepHead(next.head.text, next.tree.size);
    known = { held: next, rules };
    return true;
  }

  /** The entry that another one contradicts, for the evidence. */
  function earlierOf(number: number | null): Readonly<Record<string, Uint8Array>> {
    const [leaf] = number === null ? [] : state.entries(number, number + 1);
    return leaf === undefined ? {} : { [`entry-${number}`]: leaf };
  }

  async function compare(): Promise<void> {
    for (let look = 1; ; look++) {
      const { held, rules } = known!;
      const found = await compareServed(rules.sum, sources, slug, held.head!.text);
      const [inDns] = (await sources.txt?.('log')) ?? [];
      const other = inDns === undefined ? null : await compareDnsHead(held, inDns);
      if (other !== null) found.push(other);
      if (found.length === 0 || look === LOOKS) {
        for (const one of found) await raise(one);
        return;
      }
      await options.pause(LOOK_AGAIN_MS);
      if (!(await grow())) return;
    }
  }

  async function compareDnsHead(held: Held, txt: Uint8Array): Promise<Alarm | null> {
    const value = Buffer.from(txt).toString('latin1');
    const octets = value.startsWith(HEAD_TXT) ? decodeBase64(value.slice(HEAD_TXT.length)) : null;
    const text = Buffer.from(octets ?? []).toString();
    if (signedHead(text, options.log) !== null) return await compareNote(options, held, text);
    const evidence = { 'held.checkpoint': held.head!.text, served: txt };
    return alarm('checkpoint_untrusted', 'DNS serves a checkpoint that the log has not signed', evidence);
  }

  return {
    async round() {
      raised = 0;
      let continues = false;
      try {
        continues = await grow();
      } finally {
        // Also while the log does not answer.
        const stale = known === null ? null : staleness(options, known.held);
        if (stale !== null) await raise(stale);
      }
      if (options.note !== null) {
        const other = await compareNote(options, known!.held, options.note);
        if (other !== null) await raise(other);
      }
      if (continues) await compare();
      return raised;
    },
  };
}

/** The dataset that an entry is about; null for keys, and for what is not readable. */
function slugOf(leaf: Uint8Array): string | null {
  const entry = readTransparencyEntry(leaf);
  if (entry?.kind === 'manifest') return entry.manifest.slug;
  return entry?.kind === 'retirement' ? entry.retirement.slug : null;
}
