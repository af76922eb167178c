import { port, text } from './parsers.ts';
import { variable } from './variable.ts';

/** Variables of the feed between control and nodes, a part of `ENVIRONMENT`. */
export const FEED = {
  UQRP_FEED_URL: variable({
    parse: feedServers,
    fallback: null,
    shown: 'the servers in UQRP_FEED_CREDENTIALS',
    meaning:
      'NATS servers that carry changes from control to nodes, `nats://host:port[,host:port]`; needs UQRP_FEED_CREDENTIALS',
    expects: 'nats://host:port[,host:port], IPv6 in brackets, without a user or a path',
  }),
  UQRP_FEED_CREDENTIALS: variable({
    parse: text,
    fallback: null,
    shown: 'none: one process, without a feed',
    meaning:
      'File that `uqrp node add` made for an edge, or `uqrp feed init` for control: servers, identity, keys to verify and decrypt',
    expects: 'a path',
  }),
} as const;

const PREFIX = 'nats://';
/** A name or an IPv4 address, or an IPv6 address in brackets. */
const SERVER = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})$/;

/** `nats://a:4222,b:4222` as `host:port` of each. The scheme may stand before each. */
export function feedServers(value: string): readonly string[] | null {
  if (!value.startsWith(PREFIX)) return null;
  const servers = value.split(',').map((part) => {
    const one = part.trim();
    return one.startsWith(PREFIX) ? one.slice(PREFIX.length) : one;
  });
  const isServer = (server: string): boolean => (port(SERVER.exec(server)?.[1] ?? '') ?? 0) > 0;
  return servers.every(isServer) ? servers : null;
}
