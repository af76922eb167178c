import type { Clock } from '../../base/clock.ts';
import { keyText, loadKeys, parseKeys, updateKeys } from '../../dns/dnssec/keys/key-files.ts';
import type { KeySet } from '../../dns/dnssec/keys/key-set.ts';
import type { ZoneKeys } from './port.ts';

/** Keys in `keys/` of the data directory: for a single process with SQLite. */
export function fileZoneKeys(dataDir: string, clock: Clock): ZoneKeys {
  const found = new Map<string, { readonly text: string; readonly keys: KeySet }>();
  return {
    async find(zone) {
      const text = keyText(dataDir, zone);
      if (text === null) {
        found.delete(zone);
        return null;
      }
      const last = found.get(zone);
      if (last?.text === text) return last.keys;
      const keys = parseKeys(text, zone);
      found.set(zone, { text, keys });
      return keys;
    },
    load: async (zone) => loadKeys(dataDir, zone, clock),
    update: async (zone, change) => updateKeys(dataDir, zone, clock, change),
  };
}
