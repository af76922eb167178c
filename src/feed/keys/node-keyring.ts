/** Hourly keys at a node: those that control delivered last, in memory alone. */
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { type FeedKey, type FeedKeyRing, feedKeyRing, isKind } from '../message/message.ts';
import { type NodeEndOptions, receiveDeliveries } from './deliveries-in.ts';
import { endOf, type HourlyKey, type KeyDelivery, openKeys } from './hourly-keys.ts';

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
  const { bus, verifier, own, random, elapsed = () => performance.now() } = options;
  const { timers = backgroundTimers, onRefused } = options;
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

  function use(delivery: KeyDelivery): void {
    last = { at: delivery.at, elapsed: elapsed() };
    keys = delivery.keys;
    dropEnded();
    ready.resolve();
    for (const listener of listeners) listener();
  }

  const deliveries = receiveDeliveries({
    bus,
    own,
    random,
    timers,
    subject: subjectOfNode(SUBJECTS.askKeys, own.node),
    question: { ask: 'keys', node: own.node },
    isWanted: (message) => !isKind('UQFP', message),
    open: (message, fresh) => openKeys(message, verifier, own, fresh),
    lastAt: () => last.at,
    use,
    ...(onRefused === undefined ? {} : { onRefused }),
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
