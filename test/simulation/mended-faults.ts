/** Faults that this project had and mended, put back to see that the simulation finds them. */
import type { ViewSource } from '../../src/feed/ports/change-source.ts';
import type { ViewWriter } from '../../src/feed/ports/view-writer.ts';
import type { MemoryView } from '../support/view/memory-view.ts';

/** From which seed on and within how many the simulation finds each, and by what. */
export const MENDED_FAULTS = {
  /** Backoff of up to ten seconds that no wake-up ended. */
  'sleep-through-wake-ups': { first: 101, seeds: 100, finds: /^not at rest/ },
  /** A rebuild emptied the view that served. */
  'clear-while-serving': { first: 71, seeds: 50, finds: /refuses an existing name/ },
  /** A restored backup was the same log to everybody. */
  'same-epoch-after-restore': { first: 101, seeds: 50, finds: /^not at rest/ },
  /** A batch of usage that came again was added again. */
  'usage-added-twice': { first: 41, seeds: 20, finds: /^usage: \d+ answers were counted of/ },
  /** The publisher appended without naming the last message that it expects. */
  'append-without-sequence': { first: 1, seeds: 20, finds: /^stream: / },
} as const;

export type MendedFault = keyof typeof MENDED_FAULTS;

const FIRST_MS = 100;
const LONGEST_MS = 10_000;

export function sleepySource(source: ViewSource, now: () => number): ViewSource {
  let failures = 0;
  let until = 0;
  const awake = async <T>(call: () => Promise<T>): Promise<T> => {
    if (now() < until) throw new Error('asleep');
    try {
      const result = await call();
      failures = 0;
      return result;
    } catch (error) {
      until = now() + Math.min(LONGEST_MS, FIRST_MS * 2 ** failures++);
      throw error;
    }
  };
  return {
    bounds: () => awake(() => source.bounds()),
    since: (seq, limit) => awake(() => source.since(seq, limit)),
    openSnapshot: () => awake(() => source.openSnapshot()),
    onChange: (listener) =>
      source.onChange((seq) => {
        if (now() >= until) listener(seq);
      }),
    heardAt: () => source.heardAt(),
  };
}

export function clearingView(view: MemoryView): ViewWriter {
  return {
    ...view,
    async rebuild() {
      view.state.records.clear();
      view.state.tokens.clear();
      return view.rebuild();
    },
  };
}
