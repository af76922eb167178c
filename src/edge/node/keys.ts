import { every, type Repeating } from '../../lifecycle/every.ts';
import type { Timers } from '../../lifecycle/timers.ts';
import type { KeySetData } from '../dnssec/keys/key-set.ts';

/** One reading of a node's key sets. */
export interface KeyReading {
  /** Differs from the last reading if the key sets may differ. May hold secrets. */
  readonly mark: string;
  /** @throws KeyError when the key sets are unusable */
  open(): readonly KeySetData[];
}

/** Rejects when the source cannot be reached or has no keys. */
export type ReadKeys = () => Promise<KeyReading>;

export interface WatchKeysOptions {
  readonly read: ReadKeys;
  readonly inUse: string;
  /** Uses other key sets. Rejects when they are unusable; the next reading tries again. */
  readonly onChanged: (keys: readonly KeySetData[], reading: KeyReading) => Promise<void>;
  /** Called at the first failed reading after a success. The keys in use stay. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers;
}

/** Milliseconds between two readings: a rollover step reaches every thread within two seconds. */
export const LOOK_MS = 1000;

/** Reads the key sets every second. A change counts as seen only once it is in use. */
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
      // A damaged file stays so for a while: one report, not one a second.
      if (!isFailing) onError(error);
      isFailing = true;
    },
    ...(timers && { timers }),
  });
}
