import { type MessagePort, Worker } from 'node:worker_threads';
import type { Transport } from '../../base/network/transport.ts';
import { type Ask, type AskResult, createWaitingAsks } from './asks.ts';
import type {
  Answer,
  FromWorker,
  Listening,
  LiveSettings,
  StartFailure,
  ToWorker,
  WorkerSettings,
} from './settings.ts';

/** `exited`: the thread ended before it sent a message. */
export type StartResult = Listening | StartFailure | { readonly type: 'exited' };

/** `silent`: no answer within `answerMs`. */
export type ChangeResult = Answer['type'] | 'exited' | 'silent';

export interface WorkerThread {
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

export interface WorkerThreadOptions {
  readonly entry: URL;
  readonly settings: Omit<WorkerSettings, 'providers'>;
  readonly providers: MessagePort;
  /** Milliseconds that a worker has to answer a change. */
  readonly answerMs: number;
  /** Milliseconds that it has to answer a question. */
  readonly askMs: number;
  readonly onFault: (transport: Transport) => void;
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
  const { entry, providers, answerMs, askMs, onFault, onCounted } = options;
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
