/** An address as it stands in a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** An address that a client on this machine can use: the loopback address in place of a wildcard. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
