/** An address for a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The loopback address in place of a wildcard, for clients on this machine. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** `localhost` in place of its addresses: browsers refuse passkeys at an address. */
export function forBrowsers(host: string): string {
  const address = reachable(host);
  return address === '127.0.0.1' || address === '::1' ? 'localhost' : address;
}
