import { buildName, partsOfKey } from '../../../../sdk/src/dns.ts';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';

/**
 * A command that asks this server for a record, and so makes a row of the log. It holds no token: the answer may be REFUSED, which is
 * a row too. Null when this server answers no DNS itself.
 */
export function digLine(meta: Pick<Meta, 'zones' | 'endpoints'>, key: string): string | null {
  const { dns } = meta.endpoints;
  const zone = meta.zones[0];
  if (dns === null || zone === undefined) return null;
  return `dig @${dns.host} -p ${dns.port} TXT ${buildName(partsOfKey(key), zone)} +short`;
}
