import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { LIMITED_EVENTS, TRANSPORTS } from '../../base/network/transport.ts';
import { QUERY_STATUSES } from '../../protocol/query/outcome.ts';
import { type EdgeTotals, edgeTotals, LATENCY_BOUNDS, RCODE_LABELS } from './edge-stats.ts';
import { type KEY_ROLES, type ROLLOVER_STEPS, SIGNING_EVENTS } from './vocabulary.ts';

type Registers = { readonly registers: Registry[] };

/** Shows the workers' shared counters. They are summed when Prometheus asks, once for each metric. */
export function registerEdgeMetrics(registry: Registry, memory: SharedArrayBuffer): void {
  const registers = [registry];
  const totals = (): EdgeTotals => edgeTotals(memory);
  transportCounters({ registers }, totals);
  connectionMetrics({ registers }, totals);
  new Counter({
    registers,
    name: 'uqrp_dns_packet_cache_total',
    help: 'Queries looked up in the packet cache',
    labelNames: ['result'],
    collect() {
      const { cacheHits, cacheMisses } = totals();
      this.reset();
      this.inc({ result: 'hit' }, cacheHits);
      this.inc({ result: 'miss' }, cacheMisses);
    },
  });
  new Counter({
    registers,
    name: 'uqrp_queries_total',
    help: 'Queries to public services and hosted namespaces by what became of them',
    labelNames: ['status'],
    collect() {
      const { queries } = totals();
      this.reset();
      for (const [at, status] of QUERY_STATUSES.entries()) this.inc({ status }, queries[at]);
    },
  });
  floodCounters({ registers }, totals);
  belowMetrics({ registers }, totals);
  new SharedHistogram({ registers }, totals);
}

/** What was not answered, or not in full, because there was too much of it. */
function floodCounters({ registers }: Registers, totals: () => EdgeTotals): void {
  new Counter({
    registers,
    name: 'uqrp_dns_rate_limited_total',
    help: 'Replies over UDP that the rate limit dropped or cut down',
    labelNames: ['result'],
    collect() {
      const { limited } = totals();
      this.reset();
      for (const result of LIMITED_EVENTS) this.inc({ result }, limited[result]);
    },
  });
  new Counter({
    registers,
    name: 'uqrp_dns_misses_dropped_total',
    help: 'Queries over UDP dropped because too many waited that the packet cache does not answer',
    collect() {
      this.reset();
      this.inc(totals().missesDropped);
    },
  });
  new Counter({
    registers,
    name: 'uqrp_dns_signing_limited_total',
    help: 'Queries for which the budget of fresh signatures was spent',
    labelNames: ['result'],
    collect() {
      const { signing } = totals();
      this.reset();
      for (const result of SIGNING_EVENTS) this.inc({ result }, signing[result]);
    },
  });
}

/** Reception below the sockets (docs/adr/18-below-the-sockets.md). */
function belowMetrics({ registers }: Registers, totals: () => EdgeTotals): void {
  new Gauge({
    registers,
    name: 'uqrp_udp_xdp_queues',
    help: 'Queues of interfaces from which packets come below the sockets now',
    collect() {
      this.set(totals().below.queues);
    },
  });
  new Counter({
    registers,
    name: 'uqrp_udp_xdp_queries_total',
    help: 'Queries over UDP that came below the sockets',
    collect() {
      this.reset();
      this.inc(totals().below.requests);
    },
  });
}

function transportCounters({ registers }: Registers, totals: () => EdgeTotals): void {
  new Counter({
    registers,
    name: 'uqrp_dns_replies_total',
    help: 'DNS replies by transport and response code',
    labelNames: ['transport', 'rcode'],
    collect() {
      const { transports } = totals();
      this.reset();
      for (const transport of TRANSPORTS) {
        const { replies } = transports[transport];
        for (const [at, rcode] of RCODE_LABELS.entries()) this.inc({ transport, rcode }, replies[at]);
      }
    },
  });
  for (const [field, name, help] of [
    ['bytes', 'uqrp_dns_reply_bytes_total', 'Octets of DNS replies by transport'],
    ['malformed', 'uqrp_dns_malformed_total', 'Messages dropped without a reply by transport'],
  ] as const) {
    new Counter({
      registers,
      name,
      help,
      labelNames: ['transport'],
      collect() {
        const { transports } = totals();
        this.reset();
        for (const transport of TRANSPORTS) this.inc({ transport }, transports[transport][field]);
      },
    });
  }
}

function connectionMetrics({ registers }: Registers, totals: () => EdgeTotals): void {
  new Counter({
    registers,
    name: 'uqrp_dns_connections_total',
    help: 'Connections accepted, refused or evicted by transport',
    labelNames: ['transport', 'result'],
    collect() {
      const { transports } = totals();
      this.reset();
      for (const transport of TRANSPORTS) {
        const { opened, refused, evicted } = transports[transport].connections;
        this.inc({ transport, result: 'opened' }, opened);
        this.inc({ transport, result: 'refused' }, refused);
        this.inc({ transport, result: 'evicted' }, evicted);
      }
    },
  });
  new Gauge({
    registers,
    name: 'uqrp_dns_connections',
    help: 'Connections open now by transport',
    labelNames: ['transport'],
    collect() {
      const { transports } = totals();
      for (const transport of TRANSPORTS) {
        const { opened, closed } = transports[transport].connections;
        this.set({ transport }, Math.max(0, opened - closed));
      }
    },
  });
}

/** What prom-client asks of a metric when it prints it; its types leave this method out. */
interface Printable {
  readonly name: string;
  readonly help: string;
  readonly type: 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly {
    readonly metricName: string;
    readonly labels: Readonly<Record<string, string | number>>;
    readonly sharedLabels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

const LATENCY = {
  name: 'uqrp_dns_reply_seconds',
  help: 'Time from query to reply by transport',
} as const;

/** A histogram whose buckets were counted elsewhere: prom-client's own can only be fed one observation at a time. */
class SharedHistogram extends Histogram<'transport'> {
  readonly #totals: () => EdgeTotals;

  constructor({ registers }: Registers, totals: () => EdgeTotals) {
    super({ ...LATENCY, registers, labelNames: ['transport'], buckets: [...LATENCY_BOUNDS] });
    this.#totals = totals;
  }

  getForPromString(): Promise<Printable> {
    const { transports } = this.#totals();
    const values = TRANSPORTS.flatMap((transport) => {
      const { latency, seconds } = transports[transport];
      let count = 0;
      const buckets = latency.map((replies, at) => {
        count += replies;
        return sample('bucket', { transport, le: LATENCY_BOUNDS[at] ?? '+Inf' }, count);
      });
      return [...buckets, sample('sum', { transport }, seconds), sample('count', { transport }, count)];
    });
    return Promise.resolve({ ...LATENCY, type: 'histogram', aggregator: 'sum', values });
  }
}

function sample(suffix: string, labels: Readonly<Record<string, string | number>>, value: number) {
  return { metricName: `${LATENCY.name}_${suffix}`, labels, sharedLabels: {}, value };
}

type KeyRole = (typeof KEY_ROLES)[number];

/** The keys of one role, over all zones. */
export interface KeysNow {
  readonly role: KeyRole;
  /** When the key that has signed for longest began to sign, milliseconds since the epoch; null: not looked at yet, or nothing is signed. */
  readonly signsSince: number | null;
  /** A step of a rollover is due and waits. */
  readonly waits: boolean;
}

/** @param now empty in a process that does not hold the keys of zones; @returns counts a step of a rollover */
export function registerKeyMetrics(
  registry: Registry,
  now: () => readonly KeysNow[],
): (role: KeyRole, step: (typeof ROLLOVER_STEPS)[number]) => void {
  const registers = [registry];
  const labelNames = ['role'];
  new Gauge({
    registers,
    name: 'uqrp_dnssec_key_signs_since_timestamp_seconds',
    help: 'When the oldest signing key of a role began to sign, Unix time',
    labelNames,
    collect() {
      this.reset();
      for (const { role, signsSince } of now()) {
        if (signsSince !== null) this.set({ role }, Math.floor(signsSince / 1000));
      }
    },
  });
  new Gauge({
    registers,
    name: 'uqrp_dnssec_rollover_waiting',
    help: 'Whether a due step of a key rollover waits for the parent, resolvers or nodes: 1 or 0',
    labelNames,
    collect() {
      this.reset();
      for (const { role, waits } of now()) this.set({ role }, waits ? 1 : 0);
    },
  });
  const steps = new Counter({
    registers,
    name: 'uqrp_dnssec_rollover_steps_total',
    help: 'Steps of key rollovers that this process took',
    labelNames: ['role', 'step'],
  });
  return (role, step) => steps.inc({ role, step });
}
