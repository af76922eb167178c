/** An edge without a feed (UQRP_SYNC=off): an empty view, and keys of its own. */

import type { Clock } from '../../base/time.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, loadSecret } from '../../ops/config/data-dir.ts';
import type { EdgeUpstream } from '../edge-upstream.ts';
import { COOKIE_KEY, controlSecrets, fileZoneKeys } from '../zone-keys/control-secrets.ts';

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
