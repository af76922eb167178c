import { every, type Repeating } from '../../lifecycle/every.ts';
import type { Timers } from '../../lifecycle/timers.ts';
import type { KeySetData } from '../dnssec/keys/key-set.ts';

/** One look at the place where the key sets of a node are kept. */
export interface KeyReading {
  /** Another text than at the look before, if the key sets may be others. May hold secrets. */
  readonly mark: string;
  /** @throws KeyError when the key sets cannot be used */
  open(): readonly KeySetData[];
}

/** Rejects when the place cannot be reached or has no keys. */
export type ReadKeys = () => Promise<KeyReading>;

export interface WatchKeysOptions {
  readonly read: ReadKeys;
  /** Mark of the key sets in use. */
  readonly inUse: string;
  /** Takes over other key sets; rejects when they cannot be used. The next look then tries again. */
  readonly onChanged: (keys: readonly KeySetData[], reading: KeyReading) => Promise<void>;
  /** A look failed, the first one after one that succeeded; the keys in use stay. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers;
}

/** Milliseconds between two looks: with it a step of a rollover reaches every thread within two seconds. */
export const LOOK_MS = 1000;

/** Looks for other key sets every second. A change counts as seen only once it is in use. */
export function watchKeys({ read, inUse, onChanged, onError, timers }: WatchKeysOptions): Repeating {
  let seen = inUse;
  let isFailing = false;
  return every({
    ms: LOOK_MS,
    async task() {
      const reading = await read();
      if (reading.mark !== seen) {
        await onChanged(reading.open(), reading);
        seen = reading.mark;
      }
      isFailing = false;
    },
    onError(error) {
      // A file that is no use stays so for a while: one report, not one a second.
      if (!isFailing) onError(error);
      isFailing = true;
    },
    ...(timers && { timers }),
  });
}
