import { epochTime } from '../base/ids.ts';
import { every } from '../base/lifecycle/loop.ts';
import { type Timers, wholeSecondTimers } from '../base/lifecycle/timers.ts';
import { readFact } from './service-facts.ts';
import type { Store } from './store.ts';

const LOOK_MS = 1_000;

/** The log has another epoch: its database was restored, or went on at a server that may lack the last commits. */
export interface NewEpoch {
  /** The last change from before it. */
  readonly seq: number;
  /** Changes that this process knew of and that the log does not have, at least. */
  readonly lost: number;
}

export interface EpochWatch {
  /** When the present epoch began, milliseconds since 1970-01-01 UTC; 0: with the database. Null: not known yet. */
  beganAt(): number | null;
  stop(): Promise<void>;
}

/**
 * Tells of each new epoch that the log gets while this process runs, whoever gave it.
 * @param startedAt before the store was opened, milliseconds since 1970-01-01 UTC: its first connection may have given the epoch
 */
export function startEpochWatch(
  { read, changes }: Pick<Store, 'read' | 'changes'>,
  onNewEpoch: (found: NewEpoch) => void,
  startedAt: number,
  timers: Timers = wholeSecondTimers,
): EpochWatch {
  let known: string | null = null;
  /** The end of the log, at the last look and as heard since. */
  let last = 0;
  let heard = 0;
  let isAway = false;
  /** What had been heard when the look began. */
  let asked = 0;
  const unlisten = changes.onChange((seq) => {
    // What is heard after an outage may be of the new epoch.
    if (!isAway) heard = Math.max(heard, seq);
  });
  const looking = every({
    ms: LOOK_MS,
    timers,
    async task() {
      asked = heard;
      const { epoch, head } = await changes.bounds();
      const isNew = known === null ? epochTime(epoch) >= startedAt : epoch !== known;
      if (isNew) {
        const seq = Number((await readFact(read, 'epoch_seq')) ?? head);
        // Without an outage nobody knows of which epoch the changes are that were heard since the last look.
        onNewEpoch({ seq, lost: Math.max(0, (isAway ? heard : last) - seq) });
      }
      known = epoch;
      last = head;
      heard = head;
      isAway = false;
    },
    // `startStoreProbe` tells of a database that does not answer.
    onError() {
      // It may have waited for a dead connection for long, while others already heard of the new epoch.
      if (!isAway) heard = asked;
      isAway = true;
    },
  });
  return {
    beganAt: () => (known === null ? null : epochTime(known)),
    async stop() {
      unlisten();
      await looking.stop();
    },
  };
}
