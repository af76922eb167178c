import { statSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import { keyFile, loadKeys } from '../dnssec/key-store.ts';
import { type KeySetData, keySetData } from '../dnssec/keys.ts';

/** How often the key files are looked at: a rollover step reaches every thread within this time. */
const LOOK_MS = 1000;

export interface NodeKeysOptions {
  readonly dataDir: string;
  readonly zones: readonly string[];
  readonly clock: Clock;
  /** The files were changed, by the operator's command or by hand. */
  readonly onChanged: (keys: readonly KeySetData[]) => void;
  /** A changed file could not be read; the keys in use stay. */
  readonly onError: (error: unknown) => void;
}

export interface NodeKeys {
  /** As plain data, for the threads. */
  readonly keys: readonly KeySetData[];
  stop(): void;
}

/** The keys of a node's zones, made on first start, and watched from then on. @throws KeyError when a file is of no use */
export function openNodeKeys({ dataDir, zones, clock, onChanged, onError }: NodeKeysOptions): NodeKeys {
  const load = (): readonly KeySetData[] => zones.map((zone) => keySetData(loadKeys(dataDir, zone, clock)));
  const stamp = (): string => zones.map((zone) => modified(keyFile(dataDir, zone))).join();
  const keys = load();
  let seen = stamp();
  const timer = setInterval(() => {
    try {
      const now = stamp();
      if (now === seen) return;
      seen = now;
      onChanged(load());
    } catch (error) {
      onError(error);
    }
  }, LOOK_MS);
  return { keys, stop: () => clearInterval(timer) };
}

/** A file that is replaced whole is another file, even within one tick of its clock. */
function modified(path: string): string {
  const { ino, mtimeNs } = statSync(path, { bigint: true });
  return `${ino}:${mtimeNs}`;
}
