import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { LIMITS } from '../../base/limits.ts';
import { isEveryAddress, type NameServer } from '../../base/network/address.ts';
import type { UdpChoice, XdpMode } from '../../base/network/transport.ts';
import {
  ENVIRONMENT,
  type Environment,
  type LogFormat,
  type Role,
  type Signing,
  unknownVariables,
  type ValueOf,
  type VariableName,
} from './env.ts';
import { type FeedSettings, readFeed } from './feed-settings.ts';
import { type LogSettings, readLogSettings } from './log-settings.ts';
import { type HostPort, PROVIDER_OFF } from './parsers.ts';

/** A start or a command failed for a reason outside the program. The message says what, where and what to do. */
export class StartError extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'StartError';
  }
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Limits of DNS by address. Each is off where it is 0. */
export interface DnsLimits {
  /** UDP replies a second of one class to one network. */
  readonly responses: number;
  /** Queries a second over TCP and DoT, of one IPv4 address or IPv6 /64, as below. */
  readonly streamQueries: number;
  /** Open connections, over TCP and DoT together and over DoH. */
  readonly connections: number;
  /** DNS over HTTPS requests a minute. */
  readonly httpsRequests: number;
}

/** The configuration, deeply frozen. Paths are absolute, labels in lower case. */
export interface Config {
  readonly dataDir: string;
  /** A literal address. */
  readonly host: string;
  /** The address that REST binds. */
  readonly httpHost: string;
  /** 0 takes a free port. */
  readonly httpPort: number;
  readonly dnsPort: number;
  readonly dotPort: number;
  readonly dohPort: number;
  /** A listener for health and metrics; null: they are on the REST port, metrics for this host only. */
  readonly metrics: HostPort | null;
  /** Origin under which clients reach REST; null: `http://localhost` with the port that REST has bound. */
  readonly publicUrl: string | null;
  /** Addresses and networks in CIDR form whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** Addresses and networks in CIDR form that must send a PROXY header to the ports of DNS. */
  readonly proxyProtocol: readonly string[];
  /** Null: a self-signed certificate. */
  readonly tls: TlsFiles | null;
  /** Full names without a trailing dot, in the operator's order. None is below another. */
  readonly zones: readonly string[];
  readonly role: Role;
  /** Null: SQLite in the data directory. Holds a password. */
  readonly databaseUrl: string | null;
  /** Null: a file in the data directory, made at the first start. */
  readonly secret: string | null;
  /** Null: no broker. An edge then has an empty view. */
  readonly feed: FeedSettings | null;
  readonly restRate: boolean;
  readonly dnsLimits: DnsLimits;
  readonly demo: boolean;
  readonly organizations: boolean;
  /** Days that rows of the audit log are kept. */
  readonly auditDays: number;
  readonly sync: boolean;
  readonly billing: boolean;
  /** Whether `/` is a page for people who are not signed in. */
  readonly front: boolean;
  readonly btc: boolean;
  readonly datasets: boolean;
  /** Without `datasets` it means nothing. */
  readonly datasetsAsOf: boolean;
  /** Null: what is published goes into no transparency log. */
  readonly datasetsLog: LogSettings | null;
  /** Null: the database that ships with the package. */
  readonly geoipDb: string | null;
  readonly nameServers: readonly NameServer[];
  readonly dnssec: Signing;
  /** Days that a key of each role signs before it is replaced; null: nothing replaces it by itself. */
  readonly keyDays: { readonly zsk: number; readonly ksk: number } | null;
  /** Name in `id.server` and NSID. */
  readonly nodeName: string;
  /** Whether the native code may read UDP packets in batches. */
  readonly udp: UdpChoice;
  /** Where packets are received below the sockets; null: nowhere. */
  readonly xdp: {
    readonly interfaces: readonly string[];
    readonly mode: XdpMode;
    readonly loader: string;
  } | null;
  /** The implementation of HTTP/2 for DNS over HTTPS. */
  /** Null: `pretty` when the log goes to a terminal, else `json`. */
  readonly logFormat: LogFormat | null;
  readonly workers: number;
  readonly providers: ProviderSettings;
  /** Name servers for outgoing requests; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Seconds before each attempt of a webhook delivery. */
  readonly webhookSchedule: readonly number[];
  /** Null: no mail is sent. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** Names of unknown variables that begin with `UQRP_`. */
  readonly unknown: readonly string[];
  /** Whether the start continues when the view was made from another store. */
  readonly acceptNewStore: boolean;
}

export interface CommandLine {
  readonly acceptNewStore?: boolean;
}

interface KeyedProvider {
  readonly base: string;
  readonly key: string;
}

/** Base URLs of the data providers; null: the provider is off. */
interface ProviderSettings {
  readonly openmeteo: string | null;
  readonly metno: string | null;
  readonly frankfurter: string | null;
  readonly ecb: string | null;
  readonly coinbase: string | null;
  readonly kraken: string | null;
  readonly twelvedata: KeyedProvider | null;
  readonly finnhub: KeyedProvider | null;
  /** Origins that the operator chose. They may have private addresses. */
  readonly own: readonly string[];
}

/** The configuration has faults. `faults` names every one and contains no value. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** Of a node that nobody has named. */
const NODE_NAME = 'uqrp';

type Values = { readonly [N in VariableName]: ValueOf<N> };

/** @throws ConfigError with every fault of every variable and of their combination */
export function loadConfig(env: Environment, line: CommandLine = {}): Config {
  const { values, faults } = parseAll(env);
  // Check combinations of the values that parsed, so that one start shows every fault.
  faults.push(...combinationFaults(values));
  const { feed, faults: feedFaults } = readFeed(values, values.UQRP_ROLE === 'edge');
  faults.push(...feedFaults);
  const { datasetsLog, faults: logFaults } = readLogSettings(values);
  faults.push(...logFaults);
  if (faults.length > 0) throw new ConfigError(faults);
  const v = values as Values;
  return deepFreeze({
    dataDir: resolve(v.UQRP_DATA_DIR),
    host: v.UQRP_HOST,
    httpHost: v.UQRP_HTTP_HOST ?? v.UQRP_HOST,
    httpPort: v.UQRP_HTTP_PORT,
    dnsPort: v.UQRP_DNS_PORT,
    dotPort: v.UQRP_DOT_PORT,
    dohPort: v.UQRP_DOH_PORT,
    metrics: v.UQRP_METRICS,
    publicUrl: v.UQRP_PUBLIC_URL,
    trustedProxies: v.UQRP_TRUSTED_PROXIES ?? [],
    proxyProtocol: v.UQRP_PROXY_PROTOCOL ?? [],
    tls:
      v.UQRP_TLS_CERT === null || v.UQRP_TLS_KEY === null
        ? null
        : { cert: resolve(v.UQRP_TLS_CERT), key: resolve(v.UQRP_TLS_KEY) },
    zones: v.UQRP_ZONES ?? v.UQRP_TLDS.map((tld) => `${v.UQRP_MARKER}.${tld}`),
    role: v.UQRP_ROLE,
    databaseUrl: v.UQRP_DATABASE_URL,
    secret: v.UQRP_SECRET,
    feed,
    restRate: v.UQRP_REST_RATE,
    dnsLimits: dnsLimitsOf(v),
    demo: v.UQRP_DEMO,
    organizations: v.UQRP_ORGANIZATIONS,
    auditDays: v.UQRP_AUDIT_DAYS,
    sync: v.UQRP_SYNC,
    billing: v.UQRP_BILLING,
    front: v.UQRP_FRONT,
    btc: v.UQRP_BTC,
    datasets: v.UQRP_DATASETS,
    datasetsAsOf: v.UQRP_DATASETS_ASOF,
    datasetsLog,
    geoipDb: v.UQRP_GEOIP_DB === null ? null : resolve(v.UQRP_GEOIP_DB),
    nameServers: v.UQRP_NS,
    dnssec: v.UQRP_DNSSEC,
    keyDays:
      v.UQRP_DNSSEC_ROLLOVER === 'off' ? null : { zsk: v.UQRP_DNSSEC_ZSK_DAYS, ksk: v.UQRP_DNSSEC_KSK_DAYS },
    nodeName: v.UQRP_NODE ?? (feed?.end === 'node' ? feed.credentials.name : NODE_NAME),
    udp: v.UQRP_UDP,
    xdp:
      v.UQRP_XDP.length === 0
        ? null
        : { interfaces: v.UQRP_XDP, mode: v.UQRP_XDP_MODE, loader: resolve(v.UQRP_XDP_LOADER) },
    logFormat: v.UQRP_LOG_FORMAT,
    workers: v.UQRP_WORKERS ?? availableParallelism(),
    providers: providerSettings(v),
    resolvers: v.UQRP_RESOLVERS ?? [],
    webhookSchedule: v.UQRP_WEBHOOK_SCHEDULE,
    mail: v.UQRP_SMTP_URL === null ? null : { url: v.UQRP_SMTP_URL, from: v.UQRP_MAIL_FROM },
    unknown: unknownVariables(env),
    acceptNewStore: line.acceptNewStore ?? false,
  });
}

const PROVIDER_URLS = [
  'UQRP_OPENMETEO_URL',
  'UQRP_METNO_URL',
  'UQRP_FRANKFURTER_URL',
  'UQRP_ECB_URL',
  'UQRP_COINBASE_URL',
  'UQRP_KRAKEN_URL',
  'UQRP_TWELVEDATA_URL',
  'UQRP_FINNHUB_URL',
] as const;

function providerSettings(v: Values): ProviderSettings {
  const base = (name: (typeof PROVIDER_URLS)[number]): string | null =>
    v[name] === PROVIDER_OFF ? null : v[name];
  const keyed = (url: string | null, key: string | null): KeyedProvider | null =>
    url === null || key === null ? null : { base: url, key };
  return {
    openmeteo: base('UQRP_OPENMETEO_URL'),
    metno: base('UQRP_METNO_URL'),
    frankfurter: base('UQRP_FRANKFURTER_URL'),
    ecb: base('UQRP_ECB_URL'),
    coinbase: base('UQRP_COINBASE_URL'),
    kraken: base('UQRP_KRAKEN_URL'),
    twelvedata: keyed(base('UQRP_TWELVEDATA_URL'), v.UQRP_TWELVEDATA_KEY),
    finnhub: keyed(base('UQRP_FINNHUB_URL'), v.UQRP_FINNHUB_KEY),
    own: PROVIDER_URLS.filter((name) => v[name] !== ENVIRONMENT[name].fallback)
      .map(base)
      .filter((url) => url !== null),
  };
}

/** Variables with a fault are missing from `values`. An empty value counts as unset. */
function parseAll(env: Environment): { values: Partial<Values>; faults: string[] } {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, row] of Object.entries(ENVIRONMENT)) {
    const text = env[name] || row.fallback;
    const value = text === null ? null : row.parse(text);
    if (value === null && text !== null) faults.push(`${name} must be ${row.expects}`);
    else values[name] = value;
  }
  return { values: values as Partial<Values>, faults };
}

const PORTS = ['UQRP_HTTP_PORT', 'UQRP_DNS_PORT', 'UQRP_DOT_PORT', 'UQRP_DOH_PORT'] as const;

function combinationFaults(values: Partial<Values>): string[] {
  const faults: string[] = [];
  const { UQRP_TLS_CERT: cert, UQRP_TLS_KEY: key } = values;
  if (cert !== undefined && key !== undefined && (cert === null) !== (key === null)) {
    faults.push('UQRP_TLS_CERT and UQRP_TLS_KEY must be given together');
  }
  if (values.UQRP_ROLE === 'edge') faults.push(...edgeFaults(values));
  PORTS.forEach((name, index) => {
    const same = PORTS.slice(0, index).find(
      (other) => values[other] === values[name] && (other !== 'UQRP_HTTP_PORT' || httpSharesHost(values)),
    );
    if (same !== undefined && values[name]) faults.push(`${name} must differ from ${same}`);
  });
  return faults;
}

/** A node on the edge of the network is the easiest to steal, so it holds nothing that opens the whole service. */
function edgeFaults(values: Partial<Values>): string[] {
  const faults: string[] = [];
  if (values.UQRP_DATABASE_URL != null) {
    faults.push(
      'UQRP_ROLE edge refuses UQRP_DATABASE_URL: an edge reads the feed, and a stolen one must not open the database. Remove it here',
    );
  }
  if (values.UQRP_SECRET != null) {
    faults.push(
      'UQRP_ROLE edge refuses UQRP_SECRET: it signs sessions, and a stolen edge must not have it. Remove it here',
    );
  }
  if (values.UQRP_SYNC === true && values.UQRP_FEED_CREDENTIALS === null) {
    faults.push(
      'UQRP_ROLE edge needs UQRP_FEED_CREDENTIALS, the file that "uqrp node add" made, or UQRP_SYNC off',
    );
  }
  return faults;
}

/** Whether REST binds an address that the other listeners also bind. */
function httpSharesHost({ UQRP_HOST: host, UQRP_HTTP_HOST: httpHost }: Partial<Values>): boolean {
  return (
    httpHost === undefined ||
    httpHost === null ||
    host === undefined ||
    httpHost === host ||
    isEveryAddress(host) ||
    isEveryAddress(httpHost)
  );
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}

/** UQRP_DNS_RATE=0 is for load tests: it switches off those that are not set. */
function dnsLimitsOf(v: Values): DnsLimits {
  const orDefault = (set: number | null, fallback: number): number =>
    set ?? (v.UQRP_DNS_RATE === 0 ? 0 : fallback);
  return {
    responses: v.UQRP_DNS_RATE,
    streamQueries: orDefault(v.UQRP_DNS_STREAM_RATE, LIMITS.streamQueriesPerSecond),
    connections: orDefault(v.UQRP_DNS_CONNECTIONS, LIMITS.tcpConnectionsPerAddress),
    httpsRequests: orDefault(v.UQRP_DOH_RATE, LIMITS.dohRequestsPerMinute),
  };
}
