/** Hourly keys at a node: those that control delivered last, in memory alone. */

import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { type Bus, keysSubject } from '../bus/bus.ts';
import { type FeedKey, type FeedKeyRing, type FeedVerifier, feedKeyRing } from '../message/keys.ts';
import { isOfKind, openFresh, type Recipient, type SignedMessage, unsealed } from '../message/message.ts';
import type { Rpc } from '../message/rpc.ts';
import { type NodeKeys, type NodeSecrets, secretsMark, type ZoneSecret } from '../ports/node-keys.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import { endOf, type HourlyKey, parseHourlyKeys } from './hourly-keys.ts';
import { parseSecrets, type SecretsContent, type SecretsCopy } from './secrets.ts';

export interface NodeKeyring {
  /** Resolves with the first delivery. */
  readonly ready: Promise<void>;
  /** A key that it does not find is asked for. */
  ring(): FeedKeyRing;
  /** The key that control writes with now, or null before the first delivery. */
  present(): FeedKey | null;
  /** Called after each delivery. @returns ends it */
  onKeys(listener: () => void): () => void;
  stop(): Promise<void>;
}

/** Takes what control sends; asks at each connect, and when a key is unknown, until control answers. */
export function openNodeKeyring(options: NodeEndOptions): NodeKeyring {
  const { timers = backgroundTimers } = options;
  const { elapsed } = timers;
  const ready = Promise.withResolvers<void>();
  const listeners = new Set<() => void>();
  let keys: readonly HourlyKey[] = [];
  /** Of control's clock, and when it came: together they tell control's time. */
  let last = { at: 0, elapsed: 0 };
  let isEnded = false;
  let cancelEnd = (): void => {};

  const controlTime = (): number => last.at + elapsed() - last.elapsed;
  const held = (): readonly HourlyKey[] => keys.filter((key) => controlTime() < endOf(key));

  /** Forgets keys at their end, also when nobody looks. */
  function dropEnded(): void {
    cancelEnd();
    keys = held();
    if (keys.length === 0 || isEnded) return;
    const next = Math.min(...keys.map(endOf)) - controlTime();
    cancelEnd = timers.after(Math.max(1, Math.ceil(next)), dropEnded);
  }

  function use(delivered: readonly HourlyKey[], at: number): void {
    last = { at, elapsed: elapsed() };
    keys = delivered;
    dropEnded();
    ready.resolve();
    for (const listener of listeners) listener();
  }

  const deliveries = receiveDeliveries({
    ...options,
    kind: 'keys',
    timers,
    read: parseHourlyKeys,
    lastAt: () => last.at,
    use,
  });

  return {
    ready: ready.promise,
    ring() {
      const found = feedKeyRing(held().map(({ key }) => key));
      return {
        find(id) {
          const key = found.find(id);
          if (key === null) deliveries.need();
          return key;
        },
      };
    },
    present() {
      const now = controlTime();
      return held().findLast(({ from }) => from <= now)?.key ?? null;
    },
    onKeys(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      isEnded = true;
      cancelEnd();
      await deliveries.stop();
      keys = [];
    },
  };
}

/** The secrets of a node, at the node: those that control delivered last, else the copy on its disk. */

interface NodeSecretsOptions extends NodeEndOptions {
  readonly copy: SecretsCopy;
  /** The first delivery may be of another database than the copy. */
  readonly acceptNewStore?: boolean;
  /** The copy is torn or another node's, or could not be written. Without one the node waits for control at its next start. */
  readonly onCopyFailed?: (error: unknown) => void;
}

interface BusNodeKeys extends Required<NodeKeys> {
  stop(): Promise<void>;
}

/** How long the copy waits for control after the start: signatures by keys that left the zone meanwhile are bogus. */
const PATIENCE_MS = 1_500;

export class NoSecretsError extends Error {
  override readonly name = 'NoSecretsError';

  constructor() {
    super('control has not delivered the keys of this node yet, and there is no copy of earlier ones');
  }
}

export function openNodeSecrets(options: NodeSecretsOptions): BusNodeKeys {
  const { copy, timers = backgroundTimers, onCopyFailed } = options;
  const { elapsed } = timers;
  const startedAt = elapsed();
  const delivered = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  let isDelivered = false;
  /** Whether the copy on the disk is that of `held`. */
  let isKept = true;
  let held: NodeSecrets | null = null;
  /** Whose secrets these are; null: of the first that comes. */
  let database: string | null = null;
  /** Zones whose keys are to be used until those of `held` begin. */
  let earlier: readonly ZoneSecret[] = [];
  /** Of control's clock, and when it came: together they tell control's time. */
  let last = { at: 0, elapsed: 0 };
  try {
    const kept = copy.read();
    if (kept !== null) {
      held = kept.secrets;
      if (options.acceptNewStore !== true) database = kept.database;
      last = { at: kept.at, elapsed: startedAt };
    }
  } catch (error) {
    onCopyFailed?.(error);
  }

  function zonesNow(): readonly ZoneSecret[] {
    const now = last.at + elapsed() - last.elapsed;
    return (held?.zones ?? []).map((zone) => {
      const former = zone.from > now ? earlier.find((each) => each.zone === zone.zone) : undefined;
      return former ?? zone;
    });
  }

  /** @throws FeedRefusedError */
  function read(plain: Uint8Array): SecretsContent {
    const content = parseSecrets(Buffer.from(plain).toString('utf8'));
    if (content === null) throw new FeedRefusedError('format');
    if (database !== null && content.database !== database) throw new FeedRefusedError('epoch');
    return content;
  }

  function use({ database: of, secrets }: SecretsContent, at: number): void {
    const inUse = zonesNow();
    // Signatures of another process, made at the same time, are no reason to begin again.
    const zones = secrets.zones.map(
      (zone) => held?.zones.find((old) => old.zone === zone.zone && old.mark === zone.mark) ?? zone,
    );
    const next = { ...secrets, zones };
    const isNews = held === null || secretsMark(held) !== secretsMark(next);
    earlier = inUse;
    held = next;
    database = of;
    last = { at, elapsed: elapsed() };
    isDelivered = true;
    delivered.resolve();
    if (isNews) isKept = false;
    // After a full disk the next delivery tries again.
    if (isKept) return;
    try {
      copy.write({ at, database: of, secrets: next });
      isKept = true;
    } catch (error) {
      if (isNews) onCopyFailed?.(error);
    }
  }

  const deliveries = receiveDeliveries({
    ...options,
    kind: 'secrets',
    timers,
    read,
    lastAt: () => last.at,
    use,
  });

  return {
    async read() {
      const patience = startedAt + PATIENCE_MS - elapsed();
      if (!isDelivered && patience > 0) {
        const late = Promise.withResolvers<void>();
        const cancel = timers.after(patience, () => late.resolve());
        await Promise.race([delivered.promise, late.promise, ending.promise]);
        cancel();
      }
      if (held === null) throw new NoSecretsError();
      return { ...held, zones: zonesNow() };
    },
    isKept: () => isKept,
    async stop() {
      ending.resolve();
      await deliveries.stop();
    },
  };
}

/** What a node does with one kind of delivery: takes what control sends, and asks for it until control answers. */

/** Of a node's end, for keys and secrets alike. */
interface NodeEndOptions {
  /** Not closed here. */
  readonly bus: Bus;
  readonly rpc: Pick<Rpc, 'askPlain'>;
  readonly verifier: FeedVerifier;
  readonly own: Recipient;
  /** Their monotonic time counts: a node whose clock is wrong keeps its keys as long as others do. */
  readonly timers?: Timers | undefined;
  /** A delivery that was not used. */
  readonly onRefused?: ((reason: FeedRefusal) => void) | undefined;
}

interface ReceiveOptions<Content>
  extends Pick<NodeEndOptions, 'bus' | 'rpc' | 'verifier' | 'own' | 'onRefused'> {
  readonly kind: 'keys' | 'secrets';
  readonly timers: Timers;
  /** @throws FeedRefusedError */
  readonly read: (plain: Uint8Array) => Content;
  /** Time of the delivery in use, 0 before the first. */
  readonly lastAt: () => number;
  /** @param at of control's clock, milliseconds since the epoch */
  readonly use: (content: Content, at: number) => void;
}

interface ReceivedDeliveries {
  /** Asks control, soon after the question before. */
  need(): void;
  stop(): Promise<void>;
}

const ANSWER_MS = 2_000;
/** Between two questions: a stranger who repeats old messages makes a node ask no more often. */
const BETWEEN_MS = 1_000;
const IDLE_MS = 3_600_000;

function receiveDeliveries<Content>(options: ReceiveOptions<Content>): ReceivedDeliveries {
  const { bus, rpc, verifier, own, kind, timers, lastAt, use, onRefused } = options;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);
  let isNeeded = true;

  function need(): void {
    isNeeded = true;
    waker.wake();
  }

  /** Null: refused, and counted. */
  function counted<T>(open: () => T): T | null {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof FeedRefusedError)) throw error;
      onRefused?.(error.reason);
      // Perhaps it is a control process whose clock is behind the one before: its answer is believed.
      if (error.reason === 'replayed') need();
      return null;
    }
  }

  const contentOf = (message: SignedMessage): Content => options.read(unsealed(message, own));

  async function ask(): Promise<void> {
    const askedAt = lastAt();
    const found = await rpc.askPlain(kind, ANSWER_MS).catch((error: unknown) =>
      counted(() => {
        throw error;
      }),
    );
    const content = found && counted(() => contentOf(found.answer));
    if (found === null || content === null) throw new Error('the answer was not used');
    const { at } = found.answer;
    // A delivery that overtook the answer is newer.
    if (lastAt() === askedAt || at > lastAt()) use(content, at);
  }

  const ended = loop({
    signal: ending.signal,
    waker,
    backoff: { firstMs: 100, capMs: 2_000 },
    async pass() {
      if (!isNeeded || bus.state() !== 'connected') return IDLE_MS;
      isNeeded = false;
      try {
        await ask();
      } catch (error) {
        isNeeded = true;
        throw error;
      }
      await waker.sleep(BETWEEN_MS);
      return isNeeded ? 0 : IDLE_MS;
    },
    // Without control there is nothing to report here: the feed tells that the node is not current.
    onError: () => {},
  });
  const stops = [
    bus.onState((state) => {
      if (state === 'connected') need();
    }),
    bus.subscribe(keysSubject(own.node), (octets) => {
      // Both kinds come on one subject; keys count what is neither.
      if (isOfKind(kind === 'keys' ? 'secrets' : 'keys', octets)) return;
      if (kind === 'secrets' && !isOfKind(kind, octets)) return;
      const message = counted(() => openFresh(octets, kind, own.node, verifier, { last: lastAt() }));
      const content = message && counted(() => contentOf(message));
      if (message !== null && content !== null) use(content, message.at);
    }),
  ];

  return {
    need,
    async stop() {
      ending.abort();
      for (const stop of stops) stop();
      await ended;
    },
  };
}
