import { createHistogram } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpObservation } from '../../base/lifecycle/http.ts';
import { every, type Repeating } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import { type KeysNow, registerEdgeMetrics, registerKeyMetrics } from './edge-metrics.ts';
import { type FeedMetrics, type FeedSources, registerFeedMetrics } from './feed-metrics.ts';
import { registerTransparencyMetrics, type TransparencyNow } from './transparency-metrics.ts';
import {
  METHODS,
  PROVIDER_NAMES,
  PROVIDER_OUTCOMES,
  type ProviderName,
  type ProviderOutcome,
} from './vocabulary.ts';
import { registerWebhookMetrics, type WebhookMetrics } from './webhook-metrics.ts';

const PREFIX = 'uqrp_';
const LAG = `${PREFIX}nodejs_eventloop_lag_`;
/** Milliseconds between two samples of the event loop's lag. */
const SAMPLE_MS = 1000;
/** The sampler of prom-client fires 100 times a second by default: more than half of what an idle process did. */
const NEVER_MS = 2 ** 30;
const NANOS = 1e9;
/** Of the figures of the lag. */
const LAST = 'p99';

/** Node's own metrics: memory, event loop, garbage collection, under the names that prom-client gives them. */
export function registerNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX, eventLoopMonitoringPrecision: NEVER_MS });
  registerLag(registry);
}

/** Measures by how much a timer of a second is late: prom-client's lag includes the length of the timer. */
export function sampleLag(
  record: (seconds: number) => void,
  timers: Timers = wholeSecondTimers,
  now: () => number = realTimers.elapsed,
): Repeating {
  let due = now() + SAMPLE_MS;
  return every({
    ms: SAMPLE_MS,
    task() {
      record(Math.max(0, now() - due) / 1000);
      due = now() + SAMPLE_MS;
    },
    onError() {},
    timers,
  });
}

/** Replaces the figures that come from prom-client's sampler. Each scrape begins a new histogram. */
function registerLag(registry: Registry): void {
  const histogram = createHistogram();
  // A histogram of Node counts from 1.
  sampleLag((seconds) => histogram.record(Math.max(1, Math.round(seconds * NANOS))));
  const figures: Readonly<Record<string, [help: string, () => number]>> = {
    min: ['The least lag of the event loop', () => histogram.min],
    max: ['The greatest lag of the event loop', () => histogram.max],
    mean: ['The mean lag of the event loop', () => histogram.mean],
    stddev: ['The standard deviation of the lag of the event loop', () => histogram.stddev],
    p50: ['The 50th percentile of the lag of the event loop', () => histogram.percentile(50)],
    p90: ['The 90th percentile of the lag of the event loop', () => histogram.percentile(90)],
    p99: ['The 99th percentile of the lag of the event loop', () => histogram.percentile(99)],
  };
  for (const [name, [help, figure]] of Object.entries(figures)) {
    registry.removeSingleMetric(`${LAG}${name}_seconds`);
    new Gauge({
      registers: [registry],
      name: `${LAG}${name}_seconds`,
      help: `${help}, of a sample a second since the last scrape`,
      collect() {
        this.set(histogram.count === 0 ? 0 : figure() / NANOS);
        // The registry collects in the order of registration.
        if (name === LAST) histogram.reset();
      },
    });
  }
}

type ProviderCalled = (provider: ProviderName, outcome: ProviderOutcome) => void;

/** Counts calls to data providers. Every series begins at 0, so that the first failure is an increase that `rate` sees. */
function registerProviderMetrics(registry: Registry): ProviderCalled {
  const calls = new Counter({
    registers: [registry],
    name: 'uqrp_provider_calls_total',
    help: 'Calls to data providers by provider and outcome',
    labelNames: ['provider', 'outcome'],
  });
  for (const provider of PROVIDER_NAMES) {
    for (const outcome of PROVIDER_OUTCOMES) calls.inc({ provider, outcome }, 0);
  }
  return (provider, outcome) => calls.inc({ provider, outcome });
}

interface ProcessSources {
  /** Version of this program; null: not exported. */
  readonly version: string | null;
  /** When the certificate in use ends, milliseconds since the epoch; null in a process without one. */
  readonly certificateEnd: () => number | null;
  /** Null in a process that does not ask the database. */
  readonly databaseUp: () => boolean | null;
  /** When the present epoch of the log began, milliseconds since 1970-01-01 UTC; 0: with the database. Null as `databaseUp`. */
  readonly logEpochAt: () => number | null;
  /** Octets that may still be written below the data directory; NaN while that is not known. */
  readonly dataDirFree: () => number;
}

/** Version, end of the certificate, state of the database, and room on the disk. */
function registerProcessMetrics(
  registry: Registry,
  { version, certificateEnd, databaseUp, logEpochAt, dataDirFree }: ProcessSources,
): void {
  const registers = [registry];
  if (version !== null) {
    const build = new Gauge({
      registers,
      name: 'uqrp_build_info',
      help: 'Always 1; the labels tell the version of uqrp and of Node',
      labelNames: ['version', 'node'],
    });
    build.set({ version, node: process.versions.node }, 1);
  }
  const seconds = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000));
  gauge(
    registry,
    'uqrp_tls_certificate_expiry_timestamp_seconds',
    'End of the certificate that DoT and DoH present, Unix time',
    () => seconds(certificateEnd()),
  );
  gauge(
    registry,
    'uqrp_data_dir_free_bytes',
    'Room on the disk of UQRP_DATA_DIR for this process, octets',
    () => {
      const free = dataDirFree();
      return Number.isNaN(free) ? null : free;
    },
  );
  gauge(registry, 'uqrp_database_up', 'Whether the database answers: 1 or 0', () => {
    const isUp = databaseUp();
    return isUp === null ? null : Number(isUp);
  });
  gauge(
    registry,
    'uqrp_log_epoch_timestamp_seconds',
    'When the present epoch of the change log began, after a restore or a failover, Unix time; 0: with the database',
    () => seconds(logEpochAt()),
  );
}

/** Sources of values that are not counted here. */
export interface MetricSources {
  /** Shared counters of the DNS workers (`createEdgeStats`); null in a process without them. */
  readonly edgeStats: SharedArrayBuffer | null;
  readonly feedLag: FeedSources['lag'];
  readonly feed?: FeedSources['feed'];
  /** Seconds that the longest waiting webhook has been due; null in a process that sends none. */
  readonly webhookOldestDue?: () => Promise<number> | null;
  /** Version of this program; not exported when absent. */
  readonly version?: string;
  /** When the certificate in use ends, milliseconds since the epoch; null in a process without one. */
  readonly certificateEnd?: () => number | null;
  /** Null in a process without DNS, or one that counts nothing. */
  readonly unsentUsage?: () => UnsentUsage | null;
  /** Whether the database answers; null in a process that does not ask it. */
  readonly databaseUp?: () => boolean | null;
  /** When the present epoch of the log began, milliseconds since 1970-01-01 UTC; 0: with the database. Null as `databaseUp`. */
  readonly logEpochAt?: () => number | null;
  /** Octets that may still be written below the data directory; NaN while that is not known. */
  readonly dataDirFree?: () => number;
  /** The signing keys; empty in a process that does not hold them. */
  readonly keys?: () => readonly KeysNow[];
  /** `now` is null in a process that signs no transparency log; `clock` in milliseconds since the epoch. */
  readonly transparency?: { readonly now: () => TransparencyNow | null; readonly clock: () => number };
  /** Node's own metrics: memory, event loop, garbage collection. */
  readonly process: boolean;
}

/** Private answers that were counted and that the control side does not have yet. */
export interface UnsentUsage {
  readonly answers: number;
  /** Of the file in which they are kept. */
  readonly spoolOctets: number;
}

export interface Metrics {
  readonly contentType: string;
  /** Prometheus text of everything. */
  text(): Promise<string>;
  http(observation: HttpObservation): void;
  readonly feed: FeedMetrics;
  /** A step of a key rollover was taken. */
  readonly keyRolled: ReturnType<typeof registerKeyMetrics>;
  /** Expired records that the sweeper deleted. */
  swept(records: number): void;
  /** For how long another process has kept deleted data in the files of the database; 0: none does. */
  unerased(seconds: number): void;
  /** Rows of the query log that this node dropped. */
  queryLogDropped(rows: number): void;
  /** Private answers in a batch that the control side will never take. */
  usageRefused(answers: number): void;
  /** Private answers that this node counted and no longer tries to send. */
  usageLost(answers: number): void;
  workerRestarted(): void;
  /** A call to a data provider has ended. */
  readonly providerCalled: ProviderCalled;
  readonly webhooks: WebhookMetrics;
}

interface HttpSeries {
  readonly requests: Counter.Internal;
  readonly seconds: Histogram.Internal<string>;
}

const HTTP_BOUNDS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Uses a separate registry, because tests make several in one process. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (sources.process) registerNodeMetrics(registry);
  if (sources.edgeStats !== null) registerEdgeMetrics(registry, sources.edgeStats);
  const feed = registerFeedMetrics(registry, {
    lag: sources.feedLag,
    feed: sources.feed ?? (() => null),
  });
  registerProcessMetrics(registry, {
    version: sources.version ?? null,
    certificateEnd: sources.certificateEnd ?? (() => null),
    databaseUp: sources.databaseUp ?? (() => null),
    logEpochAt: sources.logEpochAt ?? (() => null),
    dataDirFree: sources.dataDirFree ?? (() => Number.NaN),
  });

  const requests = new Counter({
    registers,
    name: 'uqrp_http_requests_total',
    help: 'REST requests by route template, method and status',
    labelNames: ['route', 'method', 'status'],
  });
  const requestSeconds = new Histogram({
    registers,
    name: 'uqrp_http_request_seconds',
    help: 'Time from request to response by route template and method',
    labelNames: ['route', 'method'],
    buckets: HTTP_BOUNDS,
  });
  // A series with status 500 begins at its first count, and rate() sees no increase there: this one begins at 0.
  const serverErrors = counter(
    registry,
    'uqrp_http_server_errors_total',
    'REST requests that were answered with status 500',
  );
  // To find a series by its labels takes the registry longer than to count. As many as the registry has.
  const httpSeries = new Map<string, HttpSeries>();
  const swept = counter(registry, 'uqrp_records_expired_total', 'Expired records that the sweeper deleted');
  let unerased: number | null = null;
  gauge(
    registry,
    'uqrp_database_unerased_seconds',
    'How long another process has kept deleted data in the files of SQLite; 0: none does',
    () => unerased,
  );
  const logDropped = counter(
    registry,
    'uqrp_query_log_dropped_total',
    'Rows of the query log that this node dropped because there were too many',
  );
  const usageRefused = counter(
    registry,
    'uqrp_usage_refused_answers_total',
    'Private answers in batches that the control side refused and that are not sent again',
  );
  const usageLost = counter(
    registry,
    'uqrp_usage_lost_answers_total',
    'Private answers that this node counted and no longer tries to send',
  );
  registerUnsentUsage(registry, sources.unsentUsage ?? (() => null));
  const restarts = counter(
    registry,
    'uqrp_worker_restarts_total',
    'DNS workers that ended and were started again',
  );
  const webhooks = registerWebhookMetrics(registry, sources.webhookOldestDue ?? (() => null));
  const { now, clock } = sources.transparency ?? { now: () => null, clock: () => 0 };
  registerTransparencyMetrics(registry, now, clock);
  const providerCalled = registerProviderMetrics(registry);
  const keyRolled = registerKeyMetrics(registry, sources.keys ?? (() => []));
  const routeLabel = createRouteLabel();

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    http({ route, method, status, seconds }) {
      const labels = { route: routeLabel(route), method: methodLabel(method) };
      const name = `${labels.method} ${status} ${labels.route}`;
      let series = httpSeries.get(name);
      if (series === undefined) {
        series = {
          requests: requests.labels({ ...labels, status }),
          seconds: requestSeconds.labels(labels),
        };
        httpSeries.set(name, series);
      }
      series.requests.inc();
      if (status === 500) serverErrors.inc();
      series.seconds.observe(seconds);
    },
    feed,
    keyRolled,
    swept: (records) => swept.inc(records),
    unerased: (seconds) => {
      unerased = seconds;
    },
    queryLogDropped: (rows) => logDropped.inc(rows),
    usageRefused: (answers) => usageRefused.inc(answers),
    usageLost: (answers) => usageLost.inc(answers),
    workerRestarted: () => restarts.inc(),
    providerCalled,
    webhooks,
  };
}

function counter(registry: Registry, name: string, help: string): Counter {
  return new Counter({ registers: [registry], name, help });
}

/** @param read at each scrape; null: there is no value now */
function gauge(registry: Registry, name: string, help: string, read: () => number | null): void {
  new Gauge({
    registers: [registry],
    name,
    help,
    collect() {
      const value = read();
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

function registerUnsentUsage(registry: Registry, unsent: () => UnsentUsage | null): void {
  gauge(
    registry,
    'uqrp_usage_waiting_answers',
    'Private answers that this node counted and the control side does not have yet',
    () => unsent()?.answers ?? null,
  );
  gauge(
    registry,
    'uqrp_usage_spool_bytes',
    'Octets of the file in which this node keeps such counts; 0 without one',
    () => unsent()?.spoolOctets ?? null,
  );
}

/** Words and `:parameters`: an identifier, an address or a token does not look so. */
const TEMPLATE = /^(?:\/(?:v[0-9]|:?[a-z_-]{1,30}|\*))+$/;
/** More than all routes. Above it a caller passes URLs by mistake, and memory must stay bounded. */
const TEMPLATES_MAX = 128;

/** Keeps the label a closed set, even when a caller passes a URL. */
function createRouteLabel(): (route: string | undefined) => string {
  const seen = new Set<string>();
  return (route) => {
    if (route === undefined) return 'none';
    if (seen.has(route)) return route;
    if (seen.size === TEMPLATES_MAX || !TEMPLATE.test(route)) return 'other';
    seen.add(route);
    return route;
  };
}

const methods: ReadonlySet<string> = new Set(METHODS);

function methodLabel(method: string): string {
  return methods.has(method) ? method : 'other';
}
