import { createSecureContext } from 'node:tls';
import { type MessagePort, Worker } from 'node:worker_threads';
import { type Backoff, backoffMs } from '../../base/lifecycle/loop.ts';
import type { Transport, UdpPath, XdpChange } from '../../base/network/transport.ts';
import { KeyError } from '../../dns/dnssec/key-set.ts';
import type { HttpReply } from '../../dns/doh/request.ts';
import { type Ask, type AskResult, createWaitingAsks } from './asks.ts';
import {
  type EdgePorts,
  type FromWorker,
  ListenError,
  type Listening,
  type LiveSettings,
  type StartFailure,
  servedZones,
  type ToWorker,
  type WorkerAnswer,
  type WorkerSettings,
} from './settings.ts';

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

interface PoolEvents {
  /** A worker ended by itself; the pool starts another. */
  died(worker: number): void;
  /** The replacement could not start; the pool retries. */
  startFailed(worker: number, error: unknown): void;
  fault(worker: number, transport: Transport): void;
  /** Reception below the sockets began, ended or was refused. */
  xdp(worker: number, change: XdpChange): void;
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
      onXdp: (change) => events.xdp(index, change),
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

/** `exited`: the thread ended before it sent a message. */
type StartResult = Listening | StartFailure | { readonly type: 'exited' };

/** `silent`: no answer within `answerMs`. */
type ChangeResult = WorkerAnswer['type'] | 'exited' | 'silent';

interface WorkerThread {
  readonly started: Promise<StartResult>;
  readonly exited: Promise<void>;
  /** Asks the worker to use other settings. Never rejects. */
  change(settings: Partial<LiveSettings>): Promise<ChangeResult>;
  /** Asks the worker for an answer. Never rejects. */
  ask(ask: Ask): Promise<AskResult>;
  /** Questions without a reply. */
  waitingAsks(): number;
  /** Asks the worker to stop, and terminates the thread after `limitMs`. */
  stop(limitMs: number): Promise<void>;
  terminate(): Promise<void>;
}

interface WorkerThreadOptions {
  readonly entry: URL;
  readonly settings: Omit<WorkerSettings, 'providers'>;
  readonly providers: MessagePort;
  /** Milliseconds that a worker has to answer a change. */
  readonly answerMs: number;
  /** Milliseconds that it has to answer a question. */
  readonly askMs: number;
  readonly onFault: (transport: Transport) => void;
  readonly onXdp: (change: XdpChange) => void;
  readonly onCounted: (buffer: ArrayBuffer) => void;
}

/**
 * Megabytes for young objects. A query's objects are garbage once its reply is sent: a small nursery costs no time and
 * halves the memory of a worker under mixed load.
 */
const NURSERY_MB = 16;

/**
 * Greatest size of old objects, megabytes: several times the full caches and 4,096 connections. V8's growth factor
 * between two full collections depends on it: fourfold at the default of 4 GB, here less than half.
 */
const OLD_MB = 768;

/** @throws when the system gives no thread */
export function startThread(options: WorkerThreadOptions): WorkerThread {
  const { entry, providers, answerMs, askMs, onFault, onXdp, onCounted } = options;
  const worker = new Worker(entry, {
    workerData: { ...options.settings, providers } satisfies WorkerSettings,
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MB, maxOldGenerationSizeMb: OLD_MB },
    transferList: [providers],
  });
  const started = Promise.withResolvers<StartResult>();
  const exited = Promise.withResolvers<void>();
  const waiting = new Map<number, (result: ChangeResult) => void>();
  let lastId = 0;
  const post = (message: ToWorker): void => worker.postMessage(message);
  const asks = createWaitingAsks((id, ask) => post({ type: 'ask', id, ask }), askMs);

  worker.on('message', (message: FromWorker) => {
    switch (message.type) {
      case 'listening':
      case 'failed':
        started.resolve(message);
        break;
      case 'fault':
        onFault(message.transport);
        break;
      case 'xdp':
        onXdp(message.change);
        break;
      case 'counted':
        onCounted(message.buffer);
        break;
      case 'reply':
        asks.replied(message.id, message.reply);
        break;
      case 'accepted':
      case 'refused':
        waiting.get(message.id)?.(message.type);
        break;
    }
  });
  // The exit event follows. An error event without a listener would end the process.
  worker.on('error', () => {});
  worker.once('exit', () => {
    started.resolve({ type: 'exited' });
    exited.resolve();
    asks.end();
  });

  return {
    started: started.promise,
    exited: exited.promise,
    change(settings) {
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<ChangeResult>();
      const timer = setTimeout(() => resolve('silent'), answerMs);
      waiting.set(id, resolve);
      // A message to a thread that has ended is lost without an error, and its exit event may be over.
      void exited.promise.then(() => resolve('exited'));
      post({ type: 'change', id, settings });
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(id);
      });
    },
    ask: (ask) => asks.ask(ask),
    waitingAsks: () => asks.count(),
    async stop(limitMs) {
      const timer = setTimeout(() => void worker.terminate(), limitMs);
      post({ type: 'stop' });
      await exited.promise;
      clearTimeout(timer);
    },
    async terminate() {
      await worker.terminate();
      await exited.promise;
    },
  };
}
