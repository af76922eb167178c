import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpObservation } from '../core/network/http-observation.ts';
import { registerEdgeMetrics } from './edge-metrics.ts';
import { type FeedMetrics, type FeedSources, registerFeedMetrics } from './feed-metrics.ts';
import { type KeysNow, registerKeyMetrics } from './key-metrics.ts';
import { registerNodeMetrics } from './node-metrics.ts';
import { registerProcessMetrics } from './process-metrics.ts';
import { type ProviderCalled, registerProviderMetrics } from './provider-metrics.ts';
import { METHODS } from './vocabulary.ts';
import { registerWebhookMetrics, type WebhookMetrics } from './webhook-metrics.ts';

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
  /** Octets that may still be written below the data directory; NaN while that is not known. */
  readonly dataDirFree?: () => number;
  /** The signing keys; empty in a process that does not hold them. */
  readonly keys?: () => readonly KeysNow[];
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
  const swept = counter(registry, 'uqrp_records_expired_total', 'Expired records that the sweeper deleted');
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
  const providerCalled = registerProviderMetrics(registry);
  const keyRolled = registerKeyMetrics(registry, sources.keys ?? (() => []));
  const routeLabel = createRouteLabel();

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    http({ route, method, status, seconds }) {
      const labels = { route: routeLabel(route), method: methodLabel(method) };
      requests.inc({ ...labels, status });
      requestSeconds.observe(labels, seconds);
    },
    feed,
    keyRolled,
    swept: (records) => swept.inc(records),
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

function registerUnsentUsage(registry: Registry, unsent: () => UnsentUsage | null): void {
  const gauge = (name: string, help: string, of: (unsent: UnsentUsage) => number): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      collect() {
        const now = unsent();
        if (now === null) this.remove();
        else this.set(of(now));
      },
    });
  };
  gauge(
    'uqrp_usage_waiting_answers',
    'Private answers that this node counted and the control side does not have yet',
    ({ answers }) => answers,
  );
  gauge(
    'uqrp_usage_spool_bytes',
    'Octets of the file in which this node keeps such counts; 0 without one',
    ({ spoolOctets }) => spoolOctets,
  );
}

/** Words and `:parameters`: an identifier, an address or a token does not look so. */
const TEMPLATE = /^(?:\/(?:v[0-9]|:?[a-z_-]{1,30}|\*))+$/;
/** More than all routes. Above it a caller passes URLs by mistake, and memory must stay bounded. */
const TEMPLATES_MAX = 64;

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
