import { renameSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { keyFile, keyText, parseKeys } from '../../dns/dnssec/keys/key-files.ts';
import type { Store } from '../../store/store.ts';
import { databaseZoneKeys } from './database-keys.ts';
import { fileZoneKeys } from './file-keys.ts';
import type { ZoneKeys } from './port.ts';

export interface ZoneKeysOptions {
  readonly dataDir: string;
  readonly store: Pick<Store, 'engine' | 'read' | 'write'>;
  /** See `ENCRYPTION_KEY`. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** False in a process of the edge role: missing keys are then an error. */
  readonly mayMake: boolean;
  readonly onStored?: (zone: string, origin: 'made' | 'imported') => void;
}

/** Zone keys in the database where processes share one, else in the data directory. */
export function openZoneKeys({ dataDir, onStored, ...options }: ZoneKeysOptions): ZoneKeys {
  if (options.store.engine !== 'postgres') return fileZoneKeys(dataDir, options.clock);
  return databaseZoneKeys({
    ...options,
    // Earlier releases kept the keys in the data directory.
    earlier(zone) {
      const text = keyText(dataDir, zone);
      return text === null ? null : parseKeys(text, zone);
    },
    onStored(zone, origin) {
      const path = keyFile(dataDir, zone);
      if (origin === 'imported') renameSync(path, `${path}.imported`);
      onStored?.(zone, origin);
    },
  });
}
