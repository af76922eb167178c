import { once } from 'node:events';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { KeySetData } from '../dnssec/keys.ts';
import type { UdpPath } from '../transport/udp-either.ts';
import type { EdgePorts, EdgeTransport, FromWorker, TlsPair, ToWorker, WorkerSettings } from './settings.ts';

export interface PoolEvents {
  /** A worker died and another takes its place. */
  died(worker: number): void;
  fault(worker: number, transport: EdgeTransport): void;
}

export interface PoolOptions {
  /** Module of the worker thread. */
  readonly entry: URL;
  /** Everything but what differs from worker to worker. */
  readonly settings: Omit<WorkerSettings, 'worker' | 'providers'>;
  /** A line of its own for each thread to the hub of data providers. */
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
  reloadTls(tls: TlsPair): void;
  reloadKeys(keys: readonly KeySetData[]): void;
  /** Stops accepting, answers what is in flight, ends the threads. */
  stop(): Promise<void>;
}

/**
 * Megabytes for young objects. What a query leaves behind is dead by the time its reply is gone, so a small nursery is emptied as
 * cheaply as a large one, and a worker under mixed load takes half the memory.
 */
const NURSERY_MB = 16;
/** Between the death of a worker and the start of the next: one that dies at once must not spin. */
const RESTART_DELAY_MS = 250;

/** A listener that could not be opened at start. */
export class ListenError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`a DNS listener could not be opened: ${code}`);
    this.name = 'ListenError';
    this.code = code;
  }
}

/**
 * Starts the workers. Resolves once all of them listen; rejects with `ListenError` when the first start fails. Later a dead
 * worker is replaced: the others keep the port meanwhile.
 */
export async function startPool(options: PoolOptions): Promise<WorkerPool> {
  const { entry, events, workers } = options;
  const live = new Map<number, Worker>();
  let settings = options.settings;
  let udp: UdpPath = 'node';
  let stopping = false;
  const timers = new Set<NodeJS.Timeout>();

  async function start(index: number): Promise<void> {
    const providers = options.connect();
    const workerData: WorkerSettings = { ...settings, worker: index, providers };
    const resourceLimits = { maxYoungGenerationSizeMb: NURSERY_MB };
    const worker = new Worker(entry, { workerData, resourceLimits, transferList: [providers] });
    const first = await firstMessage(worker);
    if (first.type !== 'listening') {
      await worker.terminate();
      throw new ListenError(first.type === 'failed' ? first.code : 'EXIT');
    }
    settings = { ...settings, ports: first.ports };
    udp = first.udp;
    live.set(index, worker);
    worker.on('message', (message: FromWorker) => {
      if (message.type === 'fault') events.fault(index, message.transport);
    });
    // What the thread died of is told by its exit; an error event without a listener would end the process.
    worker.on('error', () => {});
    worker.once('exit', () => {
      live.delete(index);
      if (!stopping) {
        events.died(index);
        restart(index);
      }
    });
  }

  function restart(index: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!stopping) start(index).catch(() => restart(index));
    }, RESTART_DELAY_MS);
    timers.add(timer);
  }

  function tell(message: ToWorker): void {
    for (const worker of live.values()) worker.postMessage(message);
  }

  async function stop(): Promise<void> {
    stopping = true;
    for (const timer of timers) clearTimeout(timer);
    const exits = [...live.values()].map((worker) => once(worker, 'exit'));
    tell({ type: 'stop' });
    await Promise.all(exits);
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
    alive: () => live.size,
    reloadTls(tls) {
      settings = { ...settings, tls };
      tell({ type: 'tls', tls });
    },
    reloadKeys(keys) {
      settings = { ...settings, keys };
      tell({ type: 'keys', keys });
    },
    stop,
  };
}

async function firstMessage(worker: Worker): Promise<FromWorker> {
  return await new Promise((resolve) => {
    const gone = (): void => resolve({ type: 'stopped' });
    worker.once('message', (message: FromWorker) => {
      worker.off('exit', gone);
      worker.off('error', gone);
      resolve(message);
    });
    worker.once('exit', gone);
    worker.once('error', gone);
  });
}
