import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { Clock } from '../../base/time.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { type EdnsOption, findOption } from '../../protocol/dns/message/edns.ts';
import { type DnsRequest, decodeRequest, isRequestFault } from '../../protocol/dns/message/request.ts';
import { udpLimit } from '../../protocol/dns/skim.ts';
import { DATASETS_RESOURCE } from '../../protocol/names/labels.ts';
import { DATASETS_KEY } from '../../view/freshness.ts';
import type { AskerNow, PacketHandler } from '../shared/handler.ts';
import type { ReadCounter, Validity } from './cache-rows.ts';
import { makeNameShares, NAMELESS, type NameSharesContext } from './name-shares.ts';
import { PacketCache, type PacketCacheSettings } from './packet-cache.ts';
import { blankBody, busyBody, finishZoneless } from './reply.ts';
import {
  type Answer,
  mayNeedSignatures,
  mayNeedWork,
  queryOf,
  type RespondContext,
  respond,
} from './respond.ts';
import { type Route, route } from './route.ts';
import { type QuestionShares, SigningBudget } from './signing-budget.ts';
import { truncated, writeFault, writeReply } from './write-reply.ts';
import type { ServedZone } from './zones.ts';

/** The counters that a Change increments (view/freshness.ts). */
interface FreshnessReader {
  read(index: number): number;
  counterOfKey(key: string): number;
  counterOfNamespace(name: string): number;
  readonly counterOfAccess: number;
}

export interface PacketContext extends RespondContext, NameSharesContext {
  readonly zones: readonly ServedZone[];
  readonly freshness: FreshnessReader;
  readonly clock: Clock;
  readonly cache?: PacketCacheSettings;
  readonly observe?: CacheObserver;
  /** Told who asks before a service is called. It goes past the services: no answer depends on it. */
  readonly asker?: AskerNow;
  /** Timers of the queue of questions that wait for a signature. */
  readonly timers?: Timers | undefined;
}

/** What the signing budget did: reply truncated to TC, question queued, or refused. */
type SigningEvent = 'truncated' | 'waited' | 'refused';

/** Counts events of the handler. Must not throw or block. */
export interface CacheObserver {
  cacheHit(): void;
  cacheMiss(): void;
  signing(event: SigningEvent): void;
}

export interface ReloadableHandler extends PacketHandler {
  /** Starts a new generation with an empty cache. A query that waits for a service ends in its old generation. */
  reload(zones: readonly ServedZone[]): void;
}

const UNOBSERVED: CacheObserver = { cacheHit() {}, cacheMiss() {}, signing() {} };

/** The counter of a reply that depends on nothing stored. */
const NO_STRIPE = -1;
const UNCOUNTED = {
  namespaceStripe: NO_STRIPE,
  namespaceCount: 0,
  keyStripe: NO_STRIPE,
  keyCount: 0,
} as const;

/** What an answer takes of the budget: signatures that computing is worth, and whose it is; null: it needs no signature. */
interface Cost {
  readonly work: number;
  readonly share: number | null;
}

type Counts = Omit<Validity, 'from' | 'until'>;

/** What was read before the view: `names` for a reply that says something of its name, `access` for one that says nothing of it. */
interface Counted {
  readonly from: number;
  readonly names: Counts;
  readonly access: Counts;
}

/** Makes the handler that all transports call. It never throws or rejects. */
export function makePacketHandler(options: PacketContext): ReloadableHandler {
  const { accounting, clock, freshness, view, observe = UNOBSERVED, asker = { share: 0 } } = options;
  const nsid: EdnsOption = { code: EDNS_OPTION.NSID, data: Buffer.from(options.identity) };
  const begin = (zones: readonly ServedZone[]): Generation =>
    newGeneration(zones, (index) => (index === NO_STRIPE ? 0 : freshness.read(index)), options.cache);
  let current = begin(options.zones);
  const budget = new SigningBudget(clock, options.timers ?? realTimers);
  const nameShares = makeNameShares(options);

  /** Called before the view is read, so that a change in between makes the reply void. */
  function countersOf(to: Route): Counts {
    const text = to.kind === 'text' || to.kind === 'other' ? to.text : null;
    if (text?.kind === 'query') {
      const { namespace, resource, key } = text.query;
      return countersBy(namespace, resource === DATASETS_RESOURCE ? DATASETS_KEY : key);
    }
    const unanswered = text === null ? null : queryOf(text);
    // Who is told of it depends on the namespace.
    if (unanswered !== null) return countersBy(unanswered.namespace, null);
    const labels = text?.kind === 'short' ? (text.below?.split('.') ?? []) : [];
    return labels.length < 2 ? UNCOUNTED : countersBy(labels.at(-2)!, null);
  }

  /** Of a refusal. The counters of its name would tell a stranger, by a reply that is no longer cached, when something private is written. */
  function countersOfAccess(): Counts {
    const namespaceStripe = freshness.counterOfAccess;
    return { ...UNCOUNTED, namespaceStripe, namespaceCount: freshness.read(namespaceStripe) };
  }

  function countersBy(namespace: string, key: string | null): Counts {
    const namespaceStripe = freshness.counterOfNamespace(namespace);
    const keyStripe = key === null ? NO_STRIPE : freshness.counterOfKey(key);
    return {
      namespaceStripe,
      namespaceCount: freshness.read(namespaceStripe),
      keyStripe,
      keyCount: keyStripe === NO_STRIPE ? 0 : freshness.read(keyStripe),
    };
  }

  function send(
    packet: Uint8Array,
    request: DnsRequest,
    { body, tag, dependsOn }: Answer,
    { cache }: Generation,
    counted: Counted,
    transport: Transport,
    cost: Cost,
  ): Uint8Array {
    const wantsNsid = request.edns !== null && findOption(request.edns.options, EDNS_OPTION.NSID) !== null;
    const reply = writeReply(request, body, wantsNsid ? nsid : null);
    if (cost.share !== null) budget.spend(body.freshSignatures + cost.work, cost.share);
    const validity = { from: counted.from, until: body.until, ...counted[dependsOn] };
    cache.store(packet, packet.length, reply, validity, tag);
    const fits =
      transport !== 'udp' || reply.bytes.length <= udpLimit(request.edns?.payload ?? null, LIMITS.udpPayload);
    // A reply with TC is not counted: its question is repeated over TCP.
    if (!fits) return truncated(reply, request.questionEnd);
    if (tag !== null) accounting?.record(tag, transport, counted.from, durationSince(counted.from));
    return reply.bytes;
  }

  function answer(
    packet: Uint8Array,
    request: DnsRequest,
    to: Route,
    generation: Generation,
    transport: Transport,
    cost: Cost,
    askerShare: number,
  ): Uint8Array | Promise<Uint8Array> {
    const now = clock();
    asker.share = askerShare;
    const counted = { from: now, names: countersOf(to), access: countersOfAccess() };
    view.refresh();
    const answer = respond(request, to, options, now, transport);
    return answer instanceof Promise
      ? answer.then((late) => send(packet, request, late, generation, counted, transport, cost))
      : send(packet, request, answer, generation, counted, transport, cost);
  }

  function durationSince(from: number): number {
    return Math.min(LIMITS.queryLogDurationMs, Math.max(0, clock() - from));
  }

  /** Without a signature left for signing or computing, UDP gets TC, because its source may be forged. A TCP peer is proven, and waits. */
  function postponed(
    request: DnsRequest,
    answer: () => Uint8Array | Promise<Uint8Array>,
    isForgeable: boolean,
    shares: QuestionShares,
  ): Uint8Array | Promise<Uint8Array> {
    if (isForgeable) {
      observe.signing('truncated');
      return truncated(writeReply(request, finishZoneless(blankBody())), request.questionEnd);
    }
    const refuse = (): Uint8Array => {
      observe.signing('refused');
      return writeReply(request, finishZoneless(busyBody())).bytes;
    };
    const waiting = budget.wait(answer, refuse, shares);
    if (waiting === null) return refuse();
    observe.signing('waited');
    return waiting;
  }

  return {
    reload(zones) {
      current = begin(zones);
    },
    hot(request, length, transport, out) {
      const { cache } = current;
      const now = clock();
      const octets = cache.lookup(request, length, transport === 'udp', out, now);
      if (octets === 0) {
        observe.cacheMiss();
        return 0;
      }
      observe.cacheHit();
      if (cache.tag !== null) accounting?.record(cache.tag, transport, now, 0);
      return octets;
    },
    isSpent(request, length) {
      const { cache, zones } = current;
      if (!cache.wantsSigned(request, length)) return false;
      for (const { apex, signing } of zones) {
        const share = signing.kind === 'unsigned' ? -1 : nameShares.ofOpen(request, length, apex);
        if (share < 0) continue;
        if (budget.isOpen(share)) return false;
        observe.signing('truncated');
        return true;
      }
      return false;
    },
    slow(packet, transport, proven, share = 0) {
      const request = decodeRequest(packet, packet.length);
      if (request === null) return null;
      if (isRequestFault(request)) return writeFault(request);
      const generation = current;
      const to = route(request, generation.zones);
      const work = mayNeedWork(request, to, options);
      const name = work > 0 || mayNeedSignatures(request, to) ? nameShares.of(request, to, clock()) : null;
      const isForgeable = transport === 'udp' && !proven;
      const cost = { work, share: name };
      const now = () =>
        answer(packet, request, to, generation, transport, cost, 2 * share + Number(isForgeable));
      return name === null || budget.isOpen(name)
        ? now()
        : postponed(request, now, isForgeable, { source: share, name });
    },
    nameShare(packet, length) {
      for (const { apex } of current.zones) {
        const share = nameShares.ofOpen(packet, length, apex);
        if (share >= 0) return share;
      }
      const request = decodeRequest(packet, length);
      if (request === null || isRequestFault(request)) return NAMELESS;
      return nameShares.of(request, route(request, current.zones), clock());
    },
  };
}

/** What one reload replaces. A query uses one generation from start to end, for its keys and for its cache. */
interface Generation {
  readonly zones: readonly ServedZone[];
  readonly cache: PacketCache;
}

function newGeneration(
  zones: readonly ServedZone[],
  readCounter: ReadCounter,
  settings?: PacketCacheSettings,
): Generation {
  return { zones, cache: new PacketCache(readCounter, settings) };
}
