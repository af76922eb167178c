/** Commands that read a record over DNS. Names consist of letters, digits, dots and hyphens, so nothing needs quoting. */
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';

/** The whole name that asks for a record. @param token null: none is needed */
export function queryName(key: string, token: string | null, zone: string): string {
  return `get.${token === null ? '' : `auth-${token}.`}${key}.${zone}`;
}

/** Over HTTPS by POST, where nobody on the way sees the name. Null: this server answers no DNS over HTTPS. */
export function digOverHttps(name: string, { endpoints }: Meta): string | null {
  if (endpoints.doh === null) return null;
  const { hostname, port, pathname } = new URL(endpoints.doh);
  const at = port === '' ? '' : ` -p ${port}`;
  return `dig @${hostname}${at} +https${pathname === '/dns-query' ? '' : `=${pathname}`} TXT ${name} +short`;
}

/** Plain DNS: everyone on the way sees the name, and the token in it. Null: this server answers no DNS. */
export function plainDig(name: string, { endpoints }: Meta): string | null {
  if (endpoints.dns === null) return null;
  const { host, port } = endpoints.dns;
  return `dig @${host}${port === 53 ? '' : ` -p ${port}`} TXT ${name} +short`;
}
