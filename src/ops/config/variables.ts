import {
  anyText,
  hostPort,
  literalAddress,
  networks,
  origin,
  type Parser,
  port,
  providerBase,
} from './parsers.ts';

interface Variable<T> {
  readonly parse: Parser<T>;
  /** Parsed when the variable is unset or empty. Null: there is no such text, and `shown` describes the default. */
  readonly fallback: string | null;
  /** The default in the documentation, when it is not a text. */
  readonly shown?: string;
  readonly meaning: string;
  /** Ends the sentence "NAME must be". */
  readonly expects: string;
}

/** Keeps the type of each row while the table checks its shape. */
export function variable<T, const F extends string | null>(
  row: Variable<T> & { readonly fallback: F },
): Variable<T> & { readonly fallback: F } {
  return row;
}

/** Printable ASCII without spaces: what a header can hold. A faulty one would stand in the error of the HTTP client. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
/** Together with `auth-` it is one label of a name. */
const QUERY_TOKEN = /^[A-Za-z0-9]{1,58}$/;

/** Variables that only commands read, a part of `ENVIRONMENT`. `Config` does not hold them. */
export const COMMANDS = {
  UQRP_TOKEN: variable({
    parse: (text) => (TOKEN.test(text) ? text : null),
    fallback: null,
    shown: 'none: `uqrp put` writes to the store',
    meaning: 'API key or session token with which `uqrp put` writes over REST; servers ignore it',
    expects: 'a token: printable ASCII characters without spaces',
  }),
  UQRP_QUERY_TOKEN: variable({
    parse: queryTokenText,
    fallback: null,
    shown: 'none',
    meaning: 'Query token with which `uqrp read` asks for private records; servers ignore it',
    expects: 'a query token: 1 to 58 letters and digits',
  }),
} as const;

export function queryTokenText(text: string): string | null {
  return QUERY_TOKEN.test(text) ? text : null;
}

const PORT = 'a port, 0 to 65535';
const ADDRESS = 'a literal IPv4 or IPv6 address';

/** Variables of listeners and public addresses, a part of `ENVIRONMENT`. */
export const LISTENERS = {
  UQRP_HOST: variable({
    parse: literalAddress,
    fallback: '127.0.0.1',
    meaning: 'Address that all listeners bind: IPv4 or IPv6, `0.0.0.0` or `::` for every one',
    expects: ADDRESS,
  }),
  UQRP_HTTP_HOST: variable({
    parse: literalAddress,
    fallback: null,
    shown: 'UQRP_HOST',
    meaning: 'Address that REST and the dashboard alone bind',
    expects: ADDRESS,
  }),
  UQRP_HTTP_PORT: variable({
    parse: port,
    fallback: '8080',
    meaning:
      'REST under `/api/v1`, the dashboard at `/`, DNS over HTTP, health and metrics; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DNS_PORT: variable({
    parse: port,
    fallback: '5300',
    meaning: 'DNS over UDP and TCP; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DOT_PORT: variable({
    parse: port,
    fallback: '8853',
    meaning: 'DNS over TLS; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DOH_PORT: variable({
    parse: port,
    fallback: '8443',
    meaning: 'DNS over HTTPS, h2 and http/1.1: `/dns-query`, `/resolve`; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_METRICS: variable({
    parse: hostPort,
    fallback: null,
    shown: 'on the REST port, for this host only',
    meaning:
      '`HOST:PORT` of a listener of their own for `/metrics`, `/livez` and `/readyz`, open to everyone who can reach it; IPv6 in brackets; port 0 takes a free port',
    expects: 'a literal address and a port as HOST:PORT, IPv6 in brackets',
  }),
  UQRP_PUBLIC_URL: variable({
    parse: origin,
    fallback: null,
    shown: '`http://localhost:UQRP_HTTP_PORT`',
    meaning:
      'Origin under which browsers and clients reach REST and the dashboard, such as `https://api.example.com`; used in links, and a browser can sign in only there',
    expects: 'an http or https origin without a path',
  }),
  UQRP_TRUSTED_PROXIES: variable({
    parse: networks,
    fallback: null,
    shown: 'none',
    meaning:
      'Networks of proxies in front of REST, separated by commas, such as `10.0.0.0/8,2001:db8::1`; their `X-Forwarded-For` counts',
    expects: 'addresses or networks in CIDR form separated by commas',
  }),
  UQRP_PROXY_PROTOCOL: variable({
    parse: networks,
    fallback: null,
    shown: 'none',
    meaning:
      'Networks of proxies in front of DNS, separated by commas. Each of their connections and datagrams to the ports of DNS, DoT and DoH must begin with a PROXY header of version 2; the client that it names then counts for limits and cookies. From others such a header is refused. Over UDP, who can forge such a source address can claim to be any client: the network must drop packets from outside with one',
    expects: 'addresses or networks in CIDR form separated by commas',
  }),
  UQRP_TLS_CERT: variable({
    parse: anyText,
    fallback: null,
    shown: 'self-signed, made once as `tls/cert.pem`',
    meaning: 'PEM file with the certificate and its chain; read again on SIGHUP',
    expects: 'a path',
  }),
  UQRP_TLS_KEY: variable({
    parse: anyText,
    fallback: null,
    shown: 'made once as `tls/key.pem`',
    meaning: 'PEM file with the private key of that certificate; read again on SIGHUP',
    expects: 'a path',
  }),
} as const;

const BASE = 'an http or https URL without credentials and query, or off';

/** Variables of the data providers, a part of `ENVIRONMENT`. */
export const PROVIDERS = {
  UQRP_OPENMETEO_URL: variable({
    parse: providerBase,
    fallback: 'https://api.open-meteo.com',
    meaning:
      'Open-Meteo, first source of `weather` and `forecast`; its free service is for non-commercial use; `off`: not asked',
    expects: BASE,
  }),
  UQRP_METNO_URL: variable({
    parse: providerBase,
    fallback: 'https://api.met.no',
    meaning: 'MET Norway, second source of `weather` and `forecast`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_FRANKFURTER_URL: variable({
    parse: providerBase,
    fallback: 'https://api.frankfurter.dev',
    meaning: 'Frankfurter, first source of `forex`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_ECB_URL: variable({
    parse: providerBase,
    fallback: 'https://www.ecb.europa.eu',
    meaning: 'European Central Bank, second source of `forex`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_COINBASE_URL: variable({
    parse: providerBase,
    fallback: 'https://api.exchange.coinbase.com',
    meaning: 'Coinbase Exchange, first source of `crypto`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_KRAKEN_URL: variable({
    parse: providerBase,
    fallback: 'https://api.kraken.com',
    meaning: 'Kraken, second source of `crypto`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_TWELVEDATA_URL: variable({
    parse: providerBase,
    fallback: 'https://api.twelvedata.com',
    meaning: 'Twelve Data, first source of `stock`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_FINNHUB_URL: variable({
    parse: providerBase,
    fallback: 'https://finnhub.io/api/v1',
    meaning: 'Finnhub, second source of `stock`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_TWELVEDATA_KEY: variable({
    parse: anyText,
    fallback: null,
    shown: 'not asked',
    meaning: 'Key of Twelve Data; without one of the two keys `stock` is off',
    expects: 'a key',
  }),
  UQRP_FINNHUB_KEY: variable({
    parse: anyText,
    fallback: null,
    shown: 'not asked',
    meaning: 'Key of Finnhub; without one of the two keys `stock` is off',
    expects: 'a key',
  }),
} as const;

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
    parse: anyText,
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
