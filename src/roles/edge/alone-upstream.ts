/** An edge without a feed (UQRP_SYNC=off): an empty view, and keys of its own. */
import type { Config } from '../../config/config.ts';
import { deriveKey, loadSecret } from '../../config/secrets.ts';
import type { Clock } from '../../core/clock.ts';
import { COOKIE_KEY, controlSecrets } from '../../zone-keys/control-secrets.ts';
import { fileZoneKeys } from '../../zone-keys/file-keys.ts';
import type { EdgeUpstream } from '../edge-upstream.ts';

export function aloneUpstream({ dataDir, zones, dnssec }: Config, clock: Clock): EdgeUpstream {
  const nodeKeys = controlSecrets({
    keys: fileZoneKeys(dataDir, clock),
    zones: dnssec === 'off' ? [] : zones,
    mode: 'full',
    cookieKey: deriveKey(loadSecret(dataDir, null), COOKIE_KEY.label, COOKIE_KEY.octets),
    ticketKey: null,
    clock,
  });
  return { source: null, nodeKeys, providers: null, accounting: null };
}
