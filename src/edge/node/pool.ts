import type { MessagePort } from 'node:worker_threads';
import type { Transport, UdpPath } from '../../core/transport.ts';
import { type Backoff, backoffMs } from '../../lifecycle/backoff.ts';
import { checkSettings } from './check-settings.ts';
import { ListenError } from './listen-error.ts';
import type { EdgePorts, LiveSettings, WorkerSettings } from './settings.ts';
import { startThread, type WorkerThread } from './worker-thread.ts';

export interface PoolEvents {
  /** A worker ended by itself; another takes its place. */
  died(worker: number): void;
  /** That other one could not start; the pool tries again. */
  startFailed(worker: number, error: unknown): void;
  fault(worker: number, transport: Transport): void;
}

export interface PoolOptions {
  /** Module of the worker thread. */
  readonly entry: URL;
  /** Everything but what differs from worker to worker. */
  readonly settings: Omit<WorkerSettings, 'worker' | 'providers'>;
  /** A port of its own for each thread, to the provider client. */
  readonly connect: () => MessagePort;
  /** Number of workers, at least 1. */
  readonly workers: number;
  readonly events: PoolEvents;
}

export interface WorkerPool {
  readonly ports: EdgePorts;
  /** How the worker that was started last receives packets; all do alike. */
  readonly udp: UdpPath;
  /** Workers that listen at present. */
  alive(): number;
  /**
   * Changes the settings of all workers, also of those that are starting. One change at a time, in the order of the calls.
   *
   * @throws RefusedError when a worker refuses, and what `checkSettings` throws; all workers then keep the settings they had
   */
  change(settings: Partial<LiveSettings>): Promise<void>;
  /** Stops accepting, answers what is in flight, ends every thread. */
  stop(): Promise<void>;
}

/** A worker refused new settings. The earlier ones are in use. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A worker that ends at once must not restart in a busy loop. */
const RESTART: Backoff = { firstMs: 250, capMs: 10_000 };
/** A worker that is silent for this long serves nobody: it is ended and replaced. */
const ANSWER_MS = 30_000;
/** Workers give queries in flight 5 s (`worker.ts`); a thread that has not ended after this is ended. */
const STOP_MS = 7000;

interface Member {
  readonly index: number;
  readonly thread: WorkerThread;
  /** Number of the settings that it has or was sent. */
  version: number;
  isListening: boolean;
}

/**
 * Starts the workers. Resolves once all of them listen; rejects with `ListenError` when a first start fails. Later a dead
 * worker is replaced: the others keep the port meanwhile.
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
      onFault: (transport) => events.fault(index, transport),
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
    // The settings were changed while it started.
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

  /** All other workers have accepted these settings: one that does not is replaced by one that starts with them. */
  async function bringUpToDate(member: Member): Promise<void> {
    member.version = version;
    const { tls, ticketKeys, keys } = settings;
    const result = await member.thread.change({ tls, ticketKeys, keys });
    if (result === 'refused' || result === 'silent') await member.thread.terminate();
  }

  async function apply(change: Partial<LiveSettings>): Promise<void> {
    checkSettings(settings, change);
    const asked = listening();
    const results = await Promise.all(asked.map(({ thread }) => thread.change(change)));
    if (results.includes('refused')) {
      const { tls, ticketKeys, keys } = settings;
      const accepted = asked.filter((_, at) => results[at] === 'accepted');
      await Promise.all(accepted.map(({ thread }) => thread.change({ tls, ticketKeys, keys })));
      throw new RefusedError('a DNS worker refused new settings; the earlier ones are in use');
    }
    settings = { ...settings, ...change };
    version++;
    for (const [at, member] of asked.entries()) {
      if (results[at] === 'silent') void member.thread.terminate();
      else member.version = version;
    }
    // Those that began to listen since the question was asked.
    for (const member of listening()) if (member.version !== version) void bringUpToDate(member);
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
    // One after the other: the first may have to find free ports, which the rest then share.
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
    stop,
  };
}
