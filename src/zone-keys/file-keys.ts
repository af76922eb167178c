import type { Clock } from '../core/clock.ts';
import { loadKeys, updateKeys } from '../edge/dnssec/keys/key-files.ts';
import type { ZoneKeys } from './port.ts';

/** Keys in `keys/` of the data directory: for a single process with SQLite. */
export function fileZoneKeys(dataDir: string, clock: Clock): ZoneKeys {
  return {
    load: async (zone) => loadKeys(dataDir, zone, clock),
    update: async (zone, change) => updateKeys(dataDir, zone, clock, change),
  };
}
