import type { Clock } from '../../core/clock.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Query } from '../../core/query.ts';
import type { PacketHandler, TransportName } from '../transport/handler.ts';
import { type DnsRequest, decodeRequest, isRequestFault } from '../wire/request.ts';
import { PacketCache, type PacketCacheSettings, type Validity } from './packet-cache.ts';
import {
  outcomeBody,
  type ReplyBody,
  routeBody,
  truncated,
  udpLimit,
  writeFault,
  writeReply,
} from './reply.ts';
import { type ResolveContext, resolve } from './resolve.ts';
import { type Route, route } from './route.ts';
import type { Zone } from './zones.ts';

/** The counters that a Change moves (see edge/hosted/stamps.ts). */
export interface StampReader {
  read(index: number): number;
  stampOfKey(key: string): number;
  stampOfNamespace(name: string): number;
}

export interface PacketContext extends ResolveContext {
  readonly zones: readonly Zone[];
  readonly stamps: StampReader;
  readonly clock: Clock;
  readonly cache?: PacketCacheSettings;
  readonly observe?: CacheObserver;
}

/** Counts what the packet cache does; must neither throw nor wait. */
export interface CacheObserver {
  cacheHit(): void;
  cacheMiss(): void;
}

const UNOBSERVED: CacheObserver = { cacheHit() {}, cacheMiss() {} };

type QueryRoute = Extract<Route, { kind: 'query' }>;

/** The stripe of a reply that depends on nothing stored: it never moves. */
const NO_STRIPE = -1;
const UNSTAMPED = {
  namespaceStripe: NO_STRIPE,
  namespaceStamp: 0,
  keyStripe: NO_STRIPE,
  keyStamp: 0,
} as const;

/** Bytes to bytes: the one door between transports and everything that answers. Never throws, never rejects. */
export function makePacketHandler(context: PacketContext): PacketHandler {
  const { clock, stamps, view, zones, observe = UNOBSERVED } = context;
  const cache = new PacketCache((index) => (index === NO_STRIPE ? 0 : stamps.read(index)), context.cache);

  /** Reads the stamps before the view, so that a change in between makes the reply void. */
  function stampsOf(query: Query): Omit<Validity, 'until'> {
    const namespaceStripe = stamps.stampOfNamespace(query.namespace);
    const keyStripe = stamps.stampOfKey(query.key);
    return {
      namespaceStripe,
      namespaceStamp: stamps.read(namespaceStripe),
      keyStripe,
      keyStamp: stamps.read(keyStripe),
    };
  }

  function send(
    packet: Uint8Array,
    request: DnsRequest,
    body: ReplyBody,
    stamped: Omit<Validity, 'until'>,
    transport: TransportName,
  ): Uint8Array {
    const reply = writeReply(request, body);
    cache.store(packet, packet.length, reply, { until: body.until, ...stamped });
    const fits = transport !== 'udp' || reply.bytes.length <= udpLimit(request.edns?.payload ?? null);
    return fits ? reply.bytes : truncated(reply, request.questionEnd);
  }

  function answer(
    packet: Uint8Array,
    request: DnsRequest,
    to: QueryRoute,
    transport: TransportName,
  ): Uint8Array | Promise<Uint8Array> {
    const stamped = stampsOf(to.query);
    view.refresh();
    const finish = (outcome: Outcome): Uint8Array =>
      send(packet, request, outcomeBody(outcome, request, to.zone), stamped, transport);
    const outcome = resolve(to.query, context, clock());
    return outcome instanceof Promise ? outcome.then(finish) : finish(outcome);
  }

  return {
    hot(request, length, transport, out) {
      const octets = cache.lookup(request, length, transport === 'udp', out, clock());
      if (octets === 0) observe.cacheMiss();
      else observe.cacheHit();
      return octets;
    },
    slow(packet, transport) {
      const request = decodeRequest(packet, packet.length);
      if (request === null) return null;
      if (isRequestFault(request)) return writeFault(request);
      const to = route(request, zones);
      if (to.kind === 'query') return answer(packet, request, to, transport);
      return send(packet, request, routeBody(to), UNSTAMPED, transport);
    },
  };
}
