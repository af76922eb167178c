import { parseIpv4, parseIpv6 } from '../../../core/address.ts';

const PREFIX = 'ip-';
const IPV4 = /^(?:[0-9]{1,3}-){3}[0-9]{1,3}$/;
const IPV6 = /^[0-9a-f-]+$/i;

/**
 * The address in a label: `ip-` and hyphens in place of the dots of IPv4 or the colons of IPv6. Neither leading zeros in IPv4 nor zones in IPv6.
 *
 * @returns the address in its usual signs, or null
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
