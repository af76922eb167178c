import { LIMITS } from '../../base/limits.ts';
import { UDP_CHOICES, XDP_MODES } from '../../base/network/transport.ts';
import {
  anyText,
  auditDays,
  dnsLabel,
  interfaces,
  keyDays,
  labels,
  mailAddress,
  nameServers,
  oneOf,
  onOff,
  type Parser,
  postgresUrl,
  rate,
  resolvers,
  schedule,
  secretText,
  smtpUrl,
  workers,
  zoneNames,
} from './parsers.ts';
import { COMMANDS, FEED, LISTENERS, PROVIDERS, variable } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const SWITCH = 'on or off';

export const ROLES = ['all', 'control', 'edge'] as const;
export type Role = (typeof ROLES)[number];

/** `split`: the KSK signs only the keys. */
export const SIGNING = ['full', 'split', 'off'] as const;
export type Signing = (typeof SIGNING)[number];

export const ROLLOVER = ['off', 'auto'] as const;

export const LOG_FORMATS = ['json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Every variable with a meaning. docs/operations/settings.md prints this table. */
export const ENVIRONMENT = {
  UQRP_DATA_DIR: variable({
    parse: anyText,
    fallback: './data',
    meaning:
      'Directory of everything the server keeps: SQLite file, edge view, secret, self-signed certificate',
    expects: 'a path',
  }),
  ...LISTENERS,
  UQRP_MARKER: variable({
    parse: dnsLabel,
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
  UQRP_ZONES: variable({
    parse: zoneNames,
    fallback: null,
    shown: '`MARKER.TLD` of each TLD',
    meaning:
      'Full names of the zones, separated by commas, such as `dns.example.com,example.co.uk`; the two variables above then mean nothing',
    expects: 'one or more different domain names separated by commas, none below another',
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
    meaning: '`postgres://user:password@host:port/database`. An edge refuses it',
    expects: 'a postgres:// URL',
  }),
  UQRP_SECRET: variable({
    parse: secretText,
    fallback: null,
    shown: 'made once as `secret` in the data directory',
    meaning:
      'What keys are derived from, at least 32 characters; the same for all control processes of one service. An edge refuses it',
    expects: 'at least 32 characters',
  }),
  ...FEED,
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
      'UDP replies a second of one class to one source network; 0: no limit, nor those of the next three variables unless they are set',
    expects: 'a number from 0 to 1000000',
  }),
  UQRP_DNS_STREAM_RATE: variable({
    parse: rate,
    fallback: null,
    shown: `${LIMITS.streamQueriesPerSecond}`,
    meaning: 'Queries a second of one IPv4 address or IPv6 /64 over TCP and DoT; 0: no limit',
    expects: 'a number from 0 to 1000000',
  }),
  UQRP_DNS_CONNECTIONS: variable({
    parse: rate,
    fallback: null,
    shown: `${LIMITS.tcpConnectionsPerAddress}`,
    meaning:
      'Open connections of one IPv4 address or IPv6 /64, over TCP and DoT together and over DoH; an IPv6 /56 may have twice as many, a /48 four times; 0: no limit',
    expects: 'a number from 0 to 1000000',
  }),
  UQRP_DOH_RATE: variable({
    parse: rate,
    fallback: null,
    shown: `${LIMITS.dohRequestsPerMinute}`,
    meaning:
      'DNS over HTTPS requests a minute of one IPv4 address or IPv6 /64, on the REST port too; 0: no limit',
    expects: 'a number from 0 to 1000000',
  }),
  UQRP_DEMO: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether the demo namespaces `playground`, `playground-staging`, `playground-dev` answer',
    expects: SWITCH,
  }),
  UQRP_ORGANIZATIONS: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether users can share what belongs to an organization',
    expects: SWITCH,
  }),
  UQRP_AUDIT_DAYS: variable({
    parse: auditDays,
    fallback: '90',
    meaning: `Days that rows of the audit log are kept, 1 to ${LIMITS.auditDays}`,
    expects: `a number from 1 to ${LIMITS.auditDays}`,
  }),
  UQRP_SYNC: variable({
    parse: onOff,
    fallback: 'on',
    meaning: '`off`: the edge view stays empty, and `public_read` is never honoured',
    expects: SWITCH,
  }),
  UQRP_BILLING: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether `GET /usage` shows `soft_cap_state`: how much of the allowance is used',
    expects: SWITCH,
  }),
  UQRP_FRONT: variable({
    parse: onOff,
    fallback: 'on',
    meaning:
      'Whether `/` shows a page about the server to people who are not signed in, for search engines too; `off`: it leads to the sign-in',
    expects: SWITCH,
  }),
  UQRP_DATASETS: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether the dataset registry answers: `manifest` and `identity` queries, and `GET /datasets`',
    expects: SWITCH,
  }),
  UQRP_DATASETS_ASOF: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether `identity` queries may name an instant (`-t-`); needs UQRP_DATASETS `on`',
    expects: SWITCH,
  }),
  UQRP_DATASETS_LOG: variable({
    parse: onOff,
    fallback: 'off',
    meaning:
      'Whether what the dataset registry publishes goes into a transparency log, for good; needs UQRP_DATASETS_LOG_POLICY, and `uqrp log init` once. An edge learns it from control',
    expects: SWITCH,
  }),
  UQRP_DATASETS_LOG_POLICY: variable({
    parse: anyText,
    fallback: null,
    shown: 'none',
    meaning:
      'File with the witnesses of the transparency log, their URLs, and how many must cosign (tlog-policy); needed with UQRP_DATASETS_LOG `on`',
    expects: 'a path',
  }),
  UQRP_BTC: variable({
    parse: onOff,
    fallback: 'off',
    meaning: 'Whether `get.btc.public.v1` answers, with mock data; off it answers E013',
    expects: SWITCH,
  }),
  UQRP_GEOIP_DB: variable({
    parse: anyText,
    fallback: null,
    shown: '`geoip.mmdb` in the data directory, else the database that comes with the package',
    meaning:
      'MaxMind DB file that `geoip` answers from; when the file is replaced, the running server reads it again',
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
  UQRP_DNSSEC_ROLLOVER: variable({
    parse: oneOf(ROLLOVER),
    fallback: 'off',
    meaning:
      '`auto`: signing keys are replaced when they are old enough, one step at a time; a KSK waits until UQRP_RESOLVERS show the DS records at the parent',
    expects: 'off or auto',
  }),
  UQRP_DNSSEC_ZSK_DAYS: variable({
    parse: keyDays,
    fallback: '90',
    meaning: 'Days that a ZSK signs before UQRP_DNSSEC_ROLLOVER `auto` replaces it',
    expects: 'a number from 15 to 3650',
  }),
  UQRP_DNSSEC_KSK_DAYS: variable({
    parse: keyDays,
    fallback: '365',
    meaning: 'Days that a KSK signs before UQRP_DNSSEC_ROLLOVER `auto` replaces it',
    expects: 'a number from 15 to 3650',
  }),
  UQRP_NODE: variable({
    parse: dnsLabel,
    fallback: null,
    shown: 'the name in UQRP_FEED_CREDENTIALS of an edge, else `uqrp`',
    meaning: 'What this node calls itself in `id.server` and NSID; with a feed, the name in the credentials',
    expects: 'one label: 1 to 63 letters, digits and inner hyphens',
  }),
  ...PROVIDERS,
  UQRP_RESOLVERS: variable({
    parse: resolvers,
    fallback: null,
    shown: 'those of /etc/resolv.conf',
    meaning: 'Name servers that outgoing requests use, separated by commas; `:port`, IPv6 then in brackets',
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
    shown: 'sign-in codes go to stdout',
    meaning:
      'Mail server, `smtp://user:password@host:port` or `smtps://...`, for sign-in codes and notices to owners of webhooks',
    expects: 'an smtp or smtps URL',
  }),
  UQRP_MAIL_FROM: variable({
    parse: mailAddress,
    fallback: 'uqrp@localhost',
    meaning: 'Sender of that mail',
    expects: 'a mail address',
  }),
  UQRP_UDP: variable({
    parse: oneOf(UDP_CHOICES),
    fallback: 'auto',
    meaning:
      "`auto`: many packets a system call, through the native code that comes along, where that loads; `node`: Node's own sockets. With a UQRP_HOST of every address they have one socket for each address of the host, and look for new ones every ten seconds",
    expects: 'auto or node',
  }),
  UQRP_XDP: variable({
    parse: interfaces,
    fallback: 'off',
    meaning:
      'Network interfaces whose packets over UDP are received below the sockets, **past the firewall of this host**, separated by commas; needs `uqrp-xdp` (docs/operations/below-the-sockets.md)',
    expects: 'off, or 1 to 8 names of interfaces separated by commas',
  }),
  UQRP_XDP_MODE: variable({
    parse: oneOf(XDP_MODES),
    fallback: 'auto',
    meaning:
      '`native`: in the driver; `generic`: before the network stack; `auto`: native where the driver can, generic on virtual pairs (veth) and elsewhere',
    expects: 'auto, native or generic',
  }),
  UQRP_XDP_LOADER: variable({
    parse: anyText,
    fallback: '/run/uqrp-xdp/socket',
    meaning: 'Socket of `uqrp-xdp`',
    expects: 'a path',
  }),
  UQRP_LOG_FORMAT: variable({
    parse: oneOf(LOG_FORMATS),
    fallback: null,
    shown: '`pretty` on a terminal, else `json`',
    meaning: '`json`: one object a line; `pretty`: one line a person can read',
    expects: 'json or pretty',
  }),
  UQRP_WORKERS: variable({
    parse: workers,
    fallback: null,
    shown: 'number of cores',
    meaning: 'DNS worker threads, 1 to 256',
    expects: 'a number from 1 to 256',
  }),
  ...COMMANDS,
} as const;

export type VariableName = keyof typeof ENVIRONMENT;

/** The parsed value; null only for a variable without a default text. */
export type ValueOf<N extends VariableName> = (typeof ENVIRONMENT)[N] extends {
  readonly parse: Parser<infer T>;
  readonly fallback: infer F;
}
  ? T | (F extends null ? null : never)
  : never;

/** Variables of other versions: a start accepts them without a warning. */
const RESERVED =
  'UQRP_OPENMETEO_KEY UQRP_METNO_KEY UQRP_FRANKFURTER_KEY UQRP_ECB_KEY UQRP_COINBASE_KEY UQRP_KRAKEN_KEY';

const known: ReadonlySet<string> = new Set([...Object.keys(ENVIRONMENT), ...RESERVED.split(' ')]);

/** Unknown names that begin with `UQRP_`, sorted. They are usually spelling mistakes. */
export function unknownVariables(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('UQRP_') && !known.has(name))
    .sort();
}

/** A copy of the process's environment. No other code reads `process.env`. */
export function readEnvironment(): Record<string, string | undefined> {
  return { ...process.env };
}
