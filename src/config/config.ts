import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { NameServer } from '../core/name-server.ts';
import type { Http2Choice, UdpChoice } from '../core/transport.ts';
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
import { type HostPort, PROVIDER_OFF } from './parsers.ts';

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** What the operator decided, frozen all the way down. Paths are absolute, labels in lower case. */
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
  /** A listener of their own for health and metrics; null: they are on the REST port, metrics for this host only. */
  readonly metrics: HostPort | null;
  /** Origin under which clients reach REST; null: `http://localhost` with the port that REST has bound. */
  readonly publicUrl: string | null;
  /** Addresses and networks in CIDR form whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** The operator's certificate, or null: a self-signed one. */
  readonly tls: TlsFiles | null;
  /** Full names without a trailing dot, in the operator's order. None lies below another. */
  readonly zones: readonly string[];
  readonly role: Role;
  /** Null: SQLite in the data directory. Holds a password. */
  readonly databaseUrl: string | null;
  /** Null: made once in the data directory. */
  readonly secret: string | null;
  readonly restRate: boolean;
  /** UDP replies a second of one class to one network; 0 switches off every DNS limit by address. */
  readonly dnsRate: number;
  readonly demo: boolean;
  readonly sync: boolean;
  readonly btc: boolean;
  /** The operator's own database of addresses, or null. */
  readonly geoipDb: string | null;
  readonly nameServers: readonly NameServer[];
  readonly dnssec: Signing;
  /** What the node calls itself. */
  readonly nodeName: string;
  /** Whether packets over UDP may come by batches, through native code. */
  readonly udp: UdpChoice;
  /** The implementation of HTTP/2 for DNS over HTTPS. */
  readonly http2: Http2Choice;
  /** Null: `pretty` where the log goes to a terminal, else `json`. */
  readonly logFormat: LogFormat | null;
  readonly workers: number;
  readonly providers: ProviderSettings;
  /** Name servers of the outbound clients; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Seconds before each attempt of a webhook delivery. */
  readonly webhookSchedule: readonly number[];
  /** The operator's mail server, or null: no mail is sent. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** Names of variables that begin with `UQRP_` and mean nothing. */
  readonly unknown: readonly string[];
  /** Whether the start goes on where the store is another than the one that the view was made from. */
  readonly acceptNewStore: boolean;
}

/** What the command line decides. */
export interface CommandLine {
  readonly acceptNewStore?: boolean;
}

interface KeyedProvider {
  readonly base: string;
  readonly key: string;
}

/** Bases of the data providers; null: not asked. */
export interface ProviderSettings {
  readonly openmeteo: string | null;
  readonly metno: string | null;
  readonly frankfurter: string | null;
  readonly ecb: string | null;
  readonly coinbase: string | null;
  readonly kraken: string | null;
  readonly twelvedata: KeyedProvider | null;
  readonly finnhub: KeyedProvider | null;
  /** Those that the operator chose: servers of his own, perhaps, at private addresses. */
  readonly own: readonly string[];
}

/** The server cannot start as it was told to. `faults` says all that is wrong and holds no value. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

type Values = { readonly [N in VariableName]: ValueOf<N> };

/**
 * Reads the configuration.
 *
 * @throws ConfigError with every fault of every variable and of their combination
 */
export function loadConfig(env: Environment, line: CommandLine = {}): Config {
  const { values, faults } = parseAll(env);
  // Combinations are checked over the values that parsed, so that one start shows every fault.
  faults.push(...combinationFaults(values));
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
    tls:
      v.UQRP_TLS_CERT === null || v.UQRP_TLS_KEY === null
        ? null
        : { cert: resolve(v.UQRP_TLS_CERT), key: resolve(v.UQRP_TLS_KEY) },
    zones: v.UQRP_ZONES ?? v.UQRP_TLDS.map((tld) => `${v.UQRP_MARKER}.${tld}`),
    role: v.UQRP_ROLE,
    databaseUrl: v.UQRP_DATABASE_URL,
    secret: v.UQRP_SECRET,
    restRate: v.UQRP_REST_RATE,
    dnsRate: v.UQRP_DNS_RATE,
    demo: v.UQRP_DEMO,
    sync: v.UQRP_SYNC,
    btc: v.UQRP_BTC,
    geoipDb: v.UQRP_GEOIP_DB === null ? null : resolve(v.UQRP_GEOIP_DB),
    nameServers: v.UQRP_NS,
    dnssec: v.UQRP_DNSSEC,
    nodeName: v.UQRP_NODE,
    udp: v.UQRP_UDP,
    http2: v.UQRP_HTTP2,
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

/** Every variable parsed; those with a fault are missing from `values`. An empty value counts as unset. */
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
  if (values.UQRP_ROLE === 'edge' && values.UQRP_SYNC === true && values.UQRP_DATABASE_URL === null) {
    faults.push('UQRP_ROLE edge needs UQRP_DATABASE_URL, the database that it follows, or UQRP_SYNC off');
  }
  PORTS.forEach((name, index) => {
    const same = PORTS.slice(0, index).find(
      (other) => values[other] === values[name] && (other !== 'UQRP_HTTP_PORT' || httpSharesHost(values)),
    );
    if (same !== undefined && values[name]) faults.push(`${name} must differ from ${same}`);
  });
  return faults;
}

/** Whether REST binds an address that the other listeners bind as well. */
function httpSharesHost({ UQRP_HOST: host, UQRP_HTTP_HOST: httpHost }: Partial<Values>): boolean {
  const everyAddress = ['0.0.0.0', '::'];
  return (
    httpHost === undefined ||
    httpHost === null ||
    host === undefined ||
    httpHost === host ||
    everyAddress.includes(host) ||
    everyAddress.includes(httpHost)
  );
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
