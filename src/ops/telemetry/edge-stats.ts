import {
  CONNECTION_EVENTS,
  type ConnectionEvent,
  LIMITED_EVENTS,
  type LimitedEvent,
  TRANSPORTS,
  type Transport,
} from '../../base/network/transport.ts';
import { QUERY_STATUSES } from '../../protocol/query/outcome.ts';
import { SIGNING_EVENTS, type SigningEvent } from './vocabulary.ts';

/**
 * Counters of the DNS workers, in memory that the main thread shares. Each worker has a row of its own and is the only one to write it, so
 * a count is a plain increment; rows begin at a cache line, so that workers do not slow each other. The main thread reads while they write:
 * a 64-bit number is read whole on the machines that Node runs on, and a scrape may be a few replies behind.
 */

/** Rcodes that are counted by name (IANA DNS RCODEs); all others share the last place. */
export const RCODE_LABELS = [
  'noerror',
  'formerr',
  'servfail',
  'nxdomain',
  'notimp',
  'refused',
  'notauth',
  'badvers',
  'badcookie',
  'other',
] as const;

const OTHER = RCODE_LABELS.length - 1;
/** Place of each rcode, 0 to 23. */
const RCODE_SLOT = Uint8Array.from([0, 1, 2, 3, 4, 5, 9, 9, 9, 6, 9, 9, 9, 9, 9, 9, 7, 9, 9, 9, 9, 9, 9, 8]);

/** Upper bounds of the latency buckets, seconds: a cached reply takes microseconds, a provider up to a second and a half. */
export const LATENCY_BOUNDS = [
  0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05,
  0.25, 1, 2.5,
] as const;

const BOUNDS = Float64Array.from(LATENCY_BOUNDS);
const TRANSPORT_INDEX: Readonly<Record<Transport, number>> = { udp: 0, tcp: 1, dot: 2, doh: 3 };
const CONNECTION_INDEX: Readonly<Record<ConnectionEvent, number>> = {
  opened: 0,
  closed: 1,
  refused: 2,
  evicted: 3,
};
const SIGNING_INDEX: Readonly<Record<SigningEvent, number>> = { truncated: 0, waited: 1, refused: 2 };
const LIMITED_INDEX: Readonly<Record<LimitedEvent, number>> = { dropped: 0, slipped: 1 };

/** Places of one transport's block: replies by rcode, latency buckets (one more, without bound), and single counters. */
const LATENCY = RCODE_LABELS.length;
const SECONDS = LATENCY + LATENCY_BOUNDS.length + 1;
const BYTES = SECONDS + 1;
const MALFORMED = BYTES + 1;
const CONNECTIONS = MALFORMED + 1;
const BLOCK = CONNECTIONS + CONNECTION_EVENTS.length;
/** After the transports' blocks: packet cache, rate limit, misses for which there was no room, budget of signatures, statuses. */
const HITS = BLOCK * TRANSPORTS.length;
const MISSES = HITS + 1;
const LIMITED = MISSES + 1;
const MISSES_DROPPED = LIMITED + LIMITED_EVENTS.length;
const SIGNING = MISSES_DROPPED + 1;
const QUERIES = SIGNING + SIGNING_EVENTS.length;
/** Requests that came below the sockets, and queues attached now. */
const BELOW = QUERIES + QUERY_STATUSES.length;
const BELOW_QUEUES = BELOW + 1;
const COUNTERS = BELOW_QUEUES + 1;
const CACHE_LINE_NUMBERS = 8;
const ROW = Math.ceil(COUNTERS / CACHE_LINE_NUMBERS) * CACHE_LINE_NUMBERS;

/** What a worker reports. No name, no address; each call is a few increments and allocates nothing. */
export interface EdgeStats {
  /** @param rcode all twelve bits @param seconds from the arrival of the query to its reply */
  reply(transport: Transport, bytes: number, rcode: number, seconds: number): void;
  connection(transport: Transport, event: ConnectionEvent): void;
  /** A message that is no query, or a connection that broke the framing: nothing was answered. */
  malformed(transport: Transport): void;
  /** What the rate limit did to one reply over UDP. */
  limited(event: LimitedEvent): void;
  /** A query over UDP was dropped because too many waited that the packet cache does not answer. */
  missDropped(): void;
  cacheHit(): void;
  cacheMiss(): void;
  /** What the budget of signatures did to one question. */
  signing(event: SigningEvent): void;
  /** A batch of requests came below the sockets. */
  below(requests: number): void;
  /** @param change 1: a queue was attached; -1: detached */
  belowQueues(change: 1 | -1): void;
  /** A query of the product was answered. @param status position in QUERY_STATUSES */
  readonly query: (status: number) => void;
}

/** Shared memory for the given number of workers, all zero. */
export function createEdgeStats(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * ROW * Float64Array.BYTES_PER_ELEMENT);
}

/** The writer of one worker's row, 0 to workers - 1. A worker that is started again goes on where it ended. */
export function edgeStatsWriter(memory: SharedArrayBuffer, worker: number): EdgeStats {
  const row = new Float64Array(memory, worker * ROW * Float64Array.BYTES_PER_ELEMENT, ROW);
  // What the thread before had attached ended with it.
  row[BELOW_QUEUES] = 0;
  return {
    reply(transport, bytes, rcode, seconds) {
      const block = TRANSPORT_INDEX[transport] * BLOCK;
      let bucket = 0;
      while (bucket < BOUNDS.length && seconds > BOUNDS[bucket]!) bucket++;
      row[block + (RCODE_SLOT[rcode] ?? OTHER)]!++;
      row[block + LATENCY + bucket]!++;
      row[block + SECONDS]! += seconds;
      row[block + BYTES]! += bytes;
    },
    connection(transport, event) {
      row[TRANSPORT_INDEX[transport] * BLOCK + CONNECTIONS + CONNECTION_INDEX[event]]!++;
    },
    malformed(transport) {
      row[TRANSPORT_INDEX[transport] * BLOCK + MALFORMED]!++;
    },
    limited(event) {
      row[LIMITED + LIMITED_INDEX[event]]!++;
    },
    missDropped() {
      row[MISSES_DROPPED]!++;
    },
    cacheHit() {
      row[HITS]!++;
    },
    cacheMiss() {
      row[MISSES]!++;
    },
    signing(event) {
      row[SIGNING + SIGNING_INDEX[event]]!++;
    },
    below(requests) {
      row[BELOW]! += requests;
    },
    belowQueues(change) {
      row[BELOW_QUEUES]! += change;
    },
    query(status) {
      row[QUERIES + status]!++;
    },
  };
}

/** The sums over all workers. */
export interface EdgeTotals {
  readonly transports: Readonly<Record<Transport, TransportTotals>>;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  /** Replies over UDP that the rate limit kept back or cut down. */
  readonly limited: Readonly<Record<LimitedEvent, number>>;
  readonly missesDropped: number;
  readonly signing: Readonly<Record<SigningEvent, number>>;
  readonly below: { readonly requests: number; readonly queues: number };
  /** In the order of QUERY_STATUSES. */
  readonly queries: readonly number[];
}

export interface TransportTotals {
  /** In the order of RCODE_LABELS. */
  readonly replies: readonly number[];
  /** Replies a bucket, in the order of LATENCY_BOUNDS, then those above all bounds. Not cumulated. */
  readonly latency: readonly number[];
  readonly seconds: number;
  readonly bytes: number;
  readonly malformed: number;
  readonly connections: Readonly<Record<ConnectionEvent, number>>;
}

export function edgeTotals(memory: SharedArrayBuffer): EdgeTotals {
  const all = new Float64Array(memory);
  const sum = new Float64Array(ROW);
  for (let at = 0; at < all.length; at++) sum[at % ROW]! += all[at]!;
  return {
    transports: {
      udp: transportTotals(sum, 'udp'),
      tcp: transportTotals(sum, 'tcp'),
      dot: transportTotals(sum, 'dot'),
      doh: transportTotals(sum, 'doh'),
    },
    cacheHits: sum[HITS]!,
    cacheMisses: sum[MISSES]!,
    limited: { dropped: sum[LIMITED]!, slipped: sum[LIMITED + 1]! },
    missesDropped: sum[MISSES_DROPPED]!,
    signing: { truncated: sum[SIGNING]!, waited: sum[SIGNING + 1]!, refused: sum[SIGNING + 2]! },
    below: { requests: sum[BELOW]!, queues: sum[BELOW_QUEUES]! },
    queries: Array.from(sum.subarray(QUERIES, QUERIES + QUERY_STATUSES.length)),
  };
}

function transportTotals(sum: Float64Array, transport: Transport): TransportTotals {
  const at = TRANSPORT_INDEX[transport] * BLOCK;
  const [opened, closed, refused, evicted] = sum.subarray(at + CONNECTIONS, at + BLOCK);
  return {
    replies: Array.from(sum.subarray(at, at + LATENCY)),
    latency: Array.from(sum.subarray(at + LATENCY, at + SECONDS)),
    seconds: sum[at + SECONDS]!,
    bytes: sum[at + BYTES]!,
    malformed: sum[at + MALFORMED]!,
    connections: { opened: opened!, closed: closed!, refused: refused!, evicted: evicted! },
  };
}
