import { createSecureContext } from 'node:tls';
import type { MessagePort } from 'node:worker_threads';
import { type Backoff, backoffMs } from '../../base/lifecycle/backoff.ts';
import type { Transport, UdpPath } from '../../base/network/transport.ts';
import { KeyError } from '../../dns/dnssec/keys/key-set.ts';
import type { HttpReply } from '../../dns/doh/request.ts';
import type { Ask } from './asks.ts';
import { ListenError } from './listen-error.ts';
import { servedZones } from './served-zones.ts';
import type { EdgePorts, LiveSettings, WorkerSettings } from './settings.ts';
import { startThread, type WorkerThread } from './worker-thread.ts';

/**
 * Checks new settings in the main thread before any worker gets them.
 * @throws KeyError, or the error of OpenSSL about the certificate
 */
export function checkSettings(
  inUse: Omit<WorkerSettings, 'worker' | 'providers'>,
  { tls, keys }: Partial<LiveSettings>,
): void {
  if (tls !== undefined) createSecureContext(tls);
  if (keys === undefined) return;
  const lost = inUse.keys.find(({ zone }) => !keys.some((set) => set.zone === zone));
  // A zone without keys would be served unsigned.
  if (lost !== undefined) throw new KeyError(`the keys of ${lost.zone} are missing`);
  const { zones, nameServers, signing: mode } = inUse;
  servedZones({ zones, nameServers, mode, keys, clock: () => 0 });
}

export interface PoolEvents {
  /** A worker ended by itself; the pool starts another. */
  died(worker: number): void;
  /** The replacement could not start; the pool retries. */
  startFailed(worker: number, error: unknown): void;
  fault(worker: number, transport: Transport): void;
  /** What a worker counted. The last one of each worker comes before `stop` resolves. */
  counted(buffer: ArrayBuffer): void;
}

export interface PoolOptions {
  readonly entry: URL;
  /** All settings except those that differ by worker. */
  readonly settings: Omit<WorkerSettings, 'worker' | 'providers'>;
  /** Makes a port to the provider client, one for each thread. */
  readonly connect: () => MessagePort;
  /** At least 1. */
  readonly workers: number;
  readonly events: PoolEvents;
}

export interface WorkerPool {
  readonly ports: EdgePorts;
  /** How workers receive packets: the path of the last one started. */
  readonly udp: UdpPath;
  alive(): number;
  /**
   * Changes the settings of all workers, those that are starting included. Calls run one at a time, in order.
   * @throws RefusedError when a worker refuses, and what `checkSettings` throws; all workers then keep their settings
   */
  change(settings: Partial<LiveSettings>): Promise<void>;
  /**
   * Asks a worker, and once more another one when it ended or is stopping: a question changes nothing.
   * @returns null: no worker answered in time
   */
  ask(ask: Ask): Promise<HttpReply | null>;
  /** Stops accepting, answers what is in flight, ends every thread. */
  stop(): Promise<void>;
}

/** A worker refused new settings. The earlier ones are in use. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A worker that ends at once must not restart in a busy loop. */
const RESTART: Backoff = { firstMs: 250, capMs: 10_000 };
/** A worker that is silent for this long is ended and replaced. */
const ANSWER_MS = 30_000;
/** Longer than any service waits for its data. */
const ASK_MS = 10_000;
/** Workers that are asked the same question. */
const ASK_TRIES = 2;
/** A thread that has not ended after this is terminated; workers give queries in flight 5 s. */
const STOP_MS = 7000;

interface Member {
  readonly index: number;
  readonly thread: WorkerThread;
  /** Number of the settings that it has or was sent. */
  version: number;
  isListening: boolean;
}

/**
 * Starts the workers and resolves once all of them listen. Rejects with `ListenError` when a first start fails. Later a
 * dead worker is replaced while the others keep the port.
 */
export async function startPool(options: PoolOptions): Promise<WorkerPool> {
  const { entry, events, workers } = options;
  /** Every thread from its creation to its end, starting ones too. */
  const members = new Set<Member>();
  const restarts = new Set<NodeJS.Timeout>();
  let settings = options.settings;
  let version = 0;
  let udp: UdpPath = 'node';
  let isStopping = false;
  let lastChange: Promise<void> = Promise.resolve();

  const listening = (): Member[] => [...members].filter(({ isListening }) => isListening);

  async function start(index: number): Promise<void> {
    const thread = startThread({
      entry,
      settings: { ...settings, worker: index },
      providers: options.connect(),
      answerMs: ANSWER_MS,
      askMs: ASK_MS,
      onFault: (transport) => events.fault(index, transport),
      onCounted: (buffer) => events.counted(buffer),
    });
    const member: Member = { index, thread, version, isListening: false };
    members.add(member);
    const result = await thread.started;
    if (result.type !== 'listening') {
      await thread.terminate();
      members.delete(member);
      throw result.type === 'failed'
        ? new ListenError(result.code, result.listener)
        : new ListenError('EXIT', null);
    }
    settings = { ...settings, ports: result.ports };
    udp = result.udp;
    member.isListening = true;
    void thread.exited.then(() => onExit(member));
    // The settings changed while it started.
    if (member.version !== version) void bringUpToDate(member);
  }

  function onExit(member: Member): void {
    members.delete(member);
    if (isStopping) return;
    events.died(member.index);
    restart(member.index, 1);
  }

  function restart(index: number, attempt: number): void {
    if (isStopping) return;
    const timer = setTimeout(
      () => {
        restarts.delete(timer);
        start(index).catch((error: unknown) => {
          if (!isStopping) events.startFailed(index, error);
          restart(index, attempt + 1);
        });
      },
      backoffMs(attempt, RESTART),
    );
    restarts.add(timer);
  }

  /** All other workers have accepted these settings: one that does not is replaced. */
  async function bringUpToDate(member: Member): Promise<void> {
    member.version = version;
    const result = await member.thread.change(liveOf(settings));
    if (result === 'refused' || result === 'silent') await member.thread.terminate();
  }

  async function apply(change: Partial<LiveSettings>): Promise<void> {
    checkSettings(settings, change);
    const asked = listening();
    const results = await Promise.all(asked.map(({ thread }) => thread.change(change)));
    if (results.includes('refused')) {
      const earlier = liveOf(settings);
      const accepted = asked.filter((_, at) => results[at] === 'accepted');
      await Promise.all(accepted.map(({ thread }) => thread.change(earlier)));
      throw new RefusedError('a DNS worker refused new settings; the earlier ones are in use');
    }
    settings = { ...settings, ...change };
    version++;
    for (const [at, member] of asked.entries()) {
      if (results[at] === 'silent') void member.thread.terminate();
      else member.version = version;
    }
    // Workers that began to listen after the settings were sent.
    for (const member of listening()) if (member.version !== version) void bringUpToDate(member);
  }

  async function ask(question: Ask): Promise<HttpReply | null> {
    const tried = new Set<Member>();
    while (tried.size < ASK_TRIES && !isStopping) {
      const free = listening().filter((member) => !tried.has(member));
      const [least] = free.toSorted((one, other) => one.thread.waitingAsks() - other.thread.waitingAsks());
      if (least === undefined) return null;
      tried.add(least);
      const result = await least.thread.ask(question);
      if (result === 'silent') return null;
      if (result !== 'exited' && result !== 'refused') return result;
    }
    return null;
  }

  async function stop(): Promise<void> {
    isStopping = true;
    for (const timer of restarts) clearTimeout(timer);
    const ends = [...members].map(({ isListening, thread }) =>
      isListening ? thread.stop(STOP_MS) : thread.terminate(),
    );
    await Promise.all(ends);
  }

  try {
    // In sequence: the first may have to find free ports, which the rest then share.
    for (let index = 0; index < workers; index++) await start(index);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    get ports() {
      return settings.ports;
    },
    get udp() {
      return udp;
    },
    alive: () => listening().length,
    change(change) {
      const done = lastChange.then(() => (isStopping ? undefined : apply(change)));
      lastChange = done.catch(() => {});
      return done;
    },
    ask,
    stop,
  };
}

function liveOf({ tls, ticketKeys, keys, cookies, geoip }: LiveSettings): LiveSettings {
  return { tls, ticketKeys, keys, cookies, geoip };
}
