import { realTimers, type Timers } from '../../lifecycle/timers.ts';
import { SealError } from '../dnssec/keys/key-encryption.ts';
import type { KeySetData } from '../dnssec/keys/key-set.ts';
import { type KeyReading, LOOK_MS, type ReadKeys } from './keys.ts';
import type { KeyCopy } from './shared-keys.ts';

export interface FirstKeysOptions {
  readonly read: ReadKeys;
  /** Null: none is kept. */
  readonly copy: KeyCopy | null;
  /** There are no keys, neither at the source nor as a copy: nothing can be served yet. Called once. */
  readonly onWaiting: (error: unknown) => void;
  /** The keys in use could not be copied to disk. */
  readonly onCopyFailed: (error: unknown) => void;
  /** Ends the wait, within seconds. */
  readonly cancel: AbortSignal;
  readonly timers?: Timers;
}

export interface FirstKeys {
  readonly reading: KeyReading;
  readonly keys: readonly KeySetData[];
}

/**
 * How long the source may take before the copy is used, milliseconds. The source comes first: signatures by keys that left
 * the zone while the node was away would be bogus.
 */
const PATIENCE_MS = 3000;

/**
 * The keys that a node starts with: from the source, else from its copy, else it tries every second without an end.
 *
 * @throws SealError when the source's keys were sealed under another UQRP_SECRET; the signal's reason when cancelled
 */
export async function firstKeys(options: FirstKeysOptions): Promise<FirstKeys> {
  const { read, copy, onWaiting, onCopyFailed, cancel, timers = realTimers } = options;
  for (let attempt = 1; ; attempt++) {
    cancel.throwIfAborted();
    try {
      const first = opened(await within(PATIENCE_MS, read(), timers));
      saveCopy(copy, first.reading, onCopyFailed);
      return first;
    } catch (error) {
      if (error instanceof SealError) throw error;
      const kept =
        (await copy
          ?.read()
          .then(opened)
          .catch(() => null)) ?? null;
      if (kept !== null) return kept;
      if (attempt === 1) onWaiting(error);
    }
    await new Promise<void>((resolve) => timers.after(LOOK_MS, resolve));
  }
}

/** Keys that are in use but not on disk are no reason to stop. */
export function saveCopy(
  copy: KeyCopy | null,
  reading: KeyReading,
  onFailed: (error: unknown) => void,
): void {
  try {
    copy?.write(reading);
  } catch (error) {
    onFailed(error);
  }
}

function opened(reading: KeyReading): FirstKeys {
  return { reading, keys: reading.open() };
}

async function within<T>(ms: number, work: Promise<T>, timers: Timers): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = timers.after(ms, () =>
    late.reject(new Error('the source of the signing keys does not answer')),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
    work.catch(() => {});
  }
}
