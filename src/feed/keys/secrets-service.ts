/** Delivers the secrets of nodes: when they change, once a minute, and to a node that asks. Every control process does so. */
import type { Clock } from '../../base/clock.ts';
import { loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { type Bus, SUBJECTS } from '../bus/bus.ts';
import type { FeedSigner } from '../message/message.ts';
import type { NodeList } from '../nodes/nodes.ts';
import { type NodeKeys, type NodeSecrets, secretsMark } from '../ports/node-keys.ts';
import { createDeliveries } from './deliveries.ts';
import { writeSecrets } from './secrets.ts';

interface SecretsServiceOptions {
  /** What the control side made. */
  readonly source: NodeKeys;
  /** The one that they are of. */
  readonly database: string;
  /** Not closed by the service. */
  readonly bus: Bus;
  readonly nodes: NodeList;
  readonly signer: FeedSigner;
  readonly clock: Clock;
  readonly timers?: Timers;
  /** The secrets cannot be read; called for each failed attempt, with how many in a row. Nodes keep those that they have. */
  readonly onError?: (error: unknown, failures: number) => void;
}

const POLL_MS = 1_000;
/** Every node gets its secrets again in so many polls, because the bus may lose messages. */
const REPEAT_POLLS = 60;

/** @returns ends it */
export function startSecretsService(options: SecretsServiceOptions): () => Promise<void> {
  const { source, database, bus, nodes, signer, clock, timers = realTimers, onError } = options;
  const ending = new AbortController();
  let held: NodeSecrets | null = null;
  let refreshing: Promise<void> | null = null;
  let passes = 0;

  /** Calls under way are shared: many nodes may ask at once. */
  function refresh(): Promise<void> {
    refreshing ??= readSource().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  async function readSource(): Promise<void> {
    const found = await source.read();
    const isNews = held === null || secretsMark(held) !== secretsMark(found);
    held = found;
    if (isNews && !ending.signal.aborted) await deliveries.all();
  }

  const deliveries = createDeliveries({
    bus,
    nodes,
    clock,
    timers,
    ask: 'secrets',
    subject: SUBJECTS.askSecrets,
    refresh,
    write({ name }, publicKey, at, question) {
      if (held === null) return null;
      return writeSecrets({ node: name, at, database, secrets: held }, publicKey, signer, question);
    },
  });
  const ended = loop({
    signal: ending.signal,
    waker: createWaker(ending.signal, timers),
    async pass() {
      await refresh();
      deliveries.part(passes++ % REPEAT_POLLS, REPEAT_POLLS);
      return POLL_MS;
    },
    backoff: { firstMs: 100, capMs: 2_000 },
    onError: (error, failures) => onError?.(error, failures),
  });
  const unlisten = nodes.onChange(() => void deliveries.all());

  return async () => {
    ending.abort();
    unlisten();
    deliveries.stop();
    await ended;
    await refreshing?.catch(() => {});
  };
}
