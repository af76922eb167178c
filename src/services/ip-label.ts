import { parseIpv4, parseIpv6 } from '../base/network/address.ts';

const PREFIX = 'ip-';
const IPV4 = /^(?:[0-9]{1,3}-){3}[0-9]{1,3}$/;
const IPV6 = /^[0-9a-f-]+$/i;

/**
 * Parses `ip-` and an address with hyphens for dots or colons. Returns the address in canonical form, or null. Leading
 * zeros in IPv4 and zones in IPv6 are invalid.
 */
export function parseIpLabel(label: string): string | null {
  if (!label.toLowerCase().startsWith(PREFIX)) return null;
  const body = label.slice(PREFIX.length);
  if (IPV4.test(body)) {
    const address = body.replaceAll('-', '.');
    return parseIpv4(address) === null ? null : address;
  }
  if (!IPV6.test(body)) return null;
  const address = body.replaceAll('-', ':');
  return parseIpv6(address) === null ? null : address;
}
