import { createSecureContext } from 'node:tls';
import { KeyError } from '../dnssec/keys/key-set.ts';
import { servedZones } from './served-zones.ts';
import type { LiveSettings, WorkerSettings } from './settings.ts';

/**
 * Checks new settings in the main thread before any worker gets them.
 * @throws KeyError, or the error of OpenSSL about the certificate
 */
export function checkSettings(
  inUse: Omit<WorkerSettings, 'worker' | 'providers'>,
  { tls, keys }: Partial<LiveSettings>,
): void {
  if (tls !== undefined) createSecureContext(tls);
  if (keys === undefined) return;
  const lost = inUse.keys.find(({ zone }) => !keys.some((set) => set.zone === zone));
  // A zone without keys would be served unsigned.
  if (lost !== undefined) throw new KeyError(`the keys of ${lost.zone} are missing`);
  const { zones, nameServers, signing: mode } = inUse;
  servedZones({ zones, nameServers, mode, keys, clock: () => 0 });
}
