import { realTimers, type Timers } from '../../lifecycle/timers.ts';
import { DecryptError } from '../dnssec/keys/key-encryption.ts';
import type { KeySetData } from '../dnssec/keys/key-set.ts';
import { type KeyReading, LOOK_MS, type ReadKeys } from './keys.ts';
import type { KeyCopy } from './shared-keys.ts';

export interface FirstKeysOptions {
  readonly read: ReadKeys;
  /** Null: no copy is kept. */
  readonly copy: KeyCopy | null;
  /** Called once, when neither the source nor the copy has keys: nothing can be served yet. */
  readonly onWaiting: (error: unknown) => void;
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
 * Milliseconds that the source may take before the copy is used. The source is asked first: signatures by keys that
 * left the zone meanwhile are bogus.
 */
const PATIENCE_MS = 3000;

/**
 * The keys that a node starts with: from the source, else from its copy, else it retries every second without a limit.
 * @throws DecryptError for keys encrypted under another UQRP_SECRET; the signal's reason when cancelled
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
      if (error instanceof DecryptError) throw error;
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

/** Does not throw: a node serves keys in use that are not on disk. */
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
