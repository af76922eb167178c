import {
  label,
  labels,
  literalAddress,
  mailAddress,
  nameServers,
  oneOf,
  onOff,
  type Parser,
  port,
  postgresUrl,
  rate,
  resolvers,
  schedule,
  secretText,
  smtpUrl,
  text,
  workers,
} from './parsers.ts';
import { PROVIDERS } from './provider-env.ts';
import { variable } from './variable.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PORT = 'a port, 0 to 65535';
const SWITCH = 'on or off';

/** Parts of the service that one process runs. */
export const ROLES = ['all', 'control', 'edge'] as const;
export type Role = (typeof ROLES)[number];

/** Whether and how answers are signed (decisions, section 5). */
export const SIGNING = ['full', 'split', 'off'] as const;
export type Signing = (typeof SIGNING)[number];

/** How packets over UDP are received and sent (docs/adr/0001-native-udp.md). */
export const UDP_PATHS = ['auto', 'node'] as const;
export type UdpChoice = (typeof UDP_PATHS)[number];

/** Every variable that does something. docs/OPERATIONS.md prints this table. */
export const ENVIRONMENT = {
  UQRP_DATA_DIR: variable({
    parse: text,
    fallback: './data',
    meaning:
      'Directory of everything the server keeps: SQLite file, edge view, secret, self-signed certificate',
    expects: 'a path',
  }),
  UQRP_HOST: variable({
    parse: literalAddress,
    fallback: '127.0.0.1',
    meaning: 'Address that all listeners bind: IPv4 or IPv6, `0.0.0.0` or `::` for every one',
    expects: 'a literal IPv4 or IPv6 address',
  }),
  UQRP_HTTP_PORT: variable({
    parse: port,
    fallback: '8080',
    meaning: 'REST under `/api/v1`, health and metrics; 0 takes a free port',
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
  UQRP_TLS_CERT: variable({
    parse: text,
    fallback: null,
    shown: 'self-signed, made once as `tls/cert.pem`',
    meaning: 'PEM file with the certificate and its chain; read again on SIGHUP',
    expects: 'a path',
  }),
  UQRP_TLS_KEY: variable({
    parse: text,
    fallback: null,
    shown: 'made once as `tls/key.pem`',
    meaning: 'PEM file with the private key of that certificate; read again on SIGHUP',
    expects: 'a path',
  }),
  UQRP_MARKER: variable({
    parse: label,
    fallback: 'uqrp',
    meaning: 'Label before the top-level label of every query name',
    expects: 'one label: 1 to 63 letters, digits and inner hyphens',
  }),
  UQRP_TLDS: variable({
    parse: labels,
    fallback: 'net',
    meaning: 'Top-level labels, separated by commas; each makes a zone `MARKER.TLD` of its own',
    expects: 'one or more different labels separated by commas',
  }),
  UQRP_ROLE: variable({
    parse: oneOf(ROLES),
    fallback: 'all',
    meaning: '`control` serves REST, `edge` serves DNS, `all` both',
    expects: 'all, control or edge',
  }),
  UQRP_DATABASE_URL: variable({
    parse: postgresUrl,
    fallback: null,
    shown: 'SQLite in the data directory',
    meaning: '`postgres://user:password@host:port/database`',
    expects: 'a postgres:// URL',
  }),
  UQRP_SECRET: variable({
    parse: secretText,
    fallback: null,
    shown: 'made once as `secret` in the data directory',
    meaning: 'What keys are derived from, at least 32 characters; the same for all processes of one service',
    expects: 'at least 32 characters',
  }),
  UQRP_REST_RATE: variable({
    parse: onOff,
    fallback: 'on',
    meaning: 'REST rate limits; `off` for load tests',
    expects: SWITCH,
  }),
  UQRP_DNS_RATE: variable({
    parse: rate,
    fallback: '200',
    meaning:
      'UDP replies a second of one class to one source network; 0 switches off every DNS limit by address, for load tests',
    expects: 'a number from 0 to 1000000',
  }),
  UQRP_DEMO: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether the demo namespaces `playground`, `playground-staging`, `playground-dev` answer',
    expects: SWITCH,
  }),
  UQRP_SYNC: variable({
    parse: onOff,
    fallback: 'on',
    meaning: '`off`: the edge view stays empty, and `public_read` is never honoured',
    expects: SWITCH,
  }),
  UQRP_BTC: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether `get.btc.public.v1` answers, with mock data; off it answers E013',
    expects: SWITCH,
  }),
  UQRP_GEOIP_DB: variable({
    parse: text,
    fallback: null,
    shown: '`geoip.mmdb` in the data directory, else the file in the box',
    meaning: 'MaxMind DB file that `geoip` answers from; replaced while the server runs, it is read anew',
    expects: 'a path',
  }),
  UQRP_NS: variable({
    parse: nameServers,
    fallback: 'ns1=192.0.2.1,ns2=192.0.2.2',
    meaning:
      'In-zone name servers as `label=address`, separated by commas; at least two names, several addresses each',
    expects: 'at least two name servers as label=address, separated by commas, each address once',
  }),
  UQRP_DNSSEC: variable({
    parse: oneOf(SIGNING),
    fallback: 'full',
    meaning: '`full`: every key signs every answer; `split`: the KSK signs the keys alone; `off`: unsigned',
    expects: 'full, split or off',
  }),
  UQRP_NODE: variable({
    parse: label,
    fallback: 'uqrp',
    meaning: 'What this node calls itself in `id.server` and NSID',
    expects: 'one label: 1 to 63 letters, digits and inner hyphens',
  }),
  ...PROVIDERS,
  UQRP_RESOLVERS: variable({
    parse: resolvers,
    fallback: null,
    shown: 'those of /etc/resolv.conf',
    meaning: 'Name servers that the outbound door asks, separated by commas; `:port`, IPv6 then in brackets',
    expects: 'addresses of name servers separated by commas',
  }),
  UQRP_WEBHOOK_SCHEDULE: variable({
    parse: schedule,
    fallback: '0,5,300,1800,7200',
    meaning:
      'Seconds before each attempt of a webhook delivery, separated by commas; as many attempts as numbers',
    expects: '1 to 10 numbers of seconds, 0 to 86400, separated by commas',
  }),
  UQRP_SMTP_URL: variable({
    parse: smtpUrl,
    fallback: null,
    shown: 'no mail is sent',
    meaning:
      'Mail server, `smtp://user:password@host:port` or `smtps://...`, for notices to owners of webhooks',
    expects: 'an smtp or smtps URL',
  }),
  UQRP_MAIL_FROM: variable({
    parse: mailAddress,
    fallback: 'uqrp@localhost',
    meaning: 'Sender of that mail',
    expects: 'a mail address',
  }),
  UQRP_UDP: variable({
    parse: oneOf(UDP_PATHS),
    fallback: 'auto',
    meaning:
      "`auto`: many packets a system call, through the native code that comes along, where that loads; `node`: Node's own sockets",
    expects: 'auto or node',
  }),
  UQRP_WORKERS: variable({
    parse: workers,
    fallback: null,
    shown: 'number of cores',
    meaning: 'DNS worker threads, 1 to 256',
    expects: 'a number from 1 to 256',
  }),
} as const;

export type VariableName = keyof typeof ENVIRONMENT;

/** What a variable holds once parsed; null only where it has no default text. */
export type ValueOf<N extends VariableName> = (typeof ENVIRONMENT)[N] extends {
  readonly parse: Parser<infer T>;
  readonly fallback: infer F;
}
  ? T | (F extends null ? null : never)
  : never;

/** Names with a meaning in a richer build: one set of variables may serve several versions, so they pass in silence. */
const RESERVED =
  'UQRP_DATASETS UQRP_DATASETS_ASOF ' +
  'UQRP_OPENMETEO_KEY UQRP_METNO_KEY UQRP_FRANKFURTER_KEY UQRP_ECB_KEY UQRP_COINBASE_KEY UQRP_KRAKEN_KEY';

const known: ReadonlySet<string> = new Set([...Object.keys(ENVIRONMENT), ...RESERVED.split(' ')]);

/** Names that look like ours and mean nothing, sorted: most often a slip of the pen. */
export function unknownVariables(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('UQRP_') && !known.has(name))
    .sort();
}

/** The process's environment. The one place that reads it. */
export function readEnvironment(): Record<string, string | undefined> {
  return { ...process.env };
}
