import type { PlantedText } from '../../scripts/plant.ts';

export interface PlantedFault extends PlantedText {
  /** What the world says when it finds it. */
  readonly finds: RegExp;
  /** What a customer or operator would have seen. */
  readonly why: string;
}

/** Within so many seeds, from 1 on, each is found. */
export const PLANTED_SEEDS = 200;

/** Faults that are put into the code one at a time, to see that the world finds them. */
export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  'sleep-through-wake-ups': {
    why: 'a backoff of up to ten seconds that no wake-up ends',
    file: 'src/base/lifecycle/loop.ts',
    from: 'await waker.wait(backoffMs(failures, backoff) - backoff.firstMs);',
    to: 'await waker.sleep(backoffMs(failures));',
    finds: /^not at rest/,
  },
  'clear-while-serving': {
    why: 'a rebuild empties the view that serves',
    file: 'test/support/view/memory-view.ts',
    from: '      const staged = emptyState();',
    to: '      const staged = emptyState(); replaceAll(state, { ...staged, maxTtls: state.maxTtls });',
    finds: /refuses an existing name/,
  },
  'same-epoch-after-restore': {
    why: 'a restored backup is the same log to everybody',
    file: 'test/simulation/database.ts',
    from: 'epoch = nextEpoch(epoch, scheduler.now());',
    to: '',
    finds: /^not at rest|serves what was erased/,
  },
  'usage-added-twice': {
    why: 'a batch of usage that comes again is added again',
    file: 'test/simulation/database.ts',
    from: 'repeats++;\n      return;',
    to: 'repeats++;',
    finds: /^usage: \d+ answers were counted of/,
  },
  'append-without-sequence': {
    why: 'two publishers append at the same place of the stream',
    file: 'test/support/feed/bus/memory-bus.ts',
    from: '!isLost && expectedLast !== lastSeq',
    to: '!isLost && expectedLast < 0',
    finds: /^stream: /,
  },
};
