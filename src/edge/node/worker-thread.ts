import { type MessagePort, Worker } from 'node:worker_threads';
import type { Transport } from '../../core/transport.ts';
import type {
  Answer,
  FromWorker,
  Listening,
  LiveSettings,
  StartFailure,
  ToWorker,
  WorkerSettings,
} from './settings.ts';

/** What came of a start. `exited`: the thread ended before it said anything. */
export type StartResult = Listening | StartFailure | { readonly type: 'exited' };

/** What came of a change of settings. `silent`: no answer in time. */
export type ChangeResult = Answer['type'] | 'exited' | 'silent';

/** One worker thread, watched from the moment of its creation. */
export interface WorkerThread {
  readonly started: Promise<StartResult>;
  readonly exited: Promise<void>;
  /** Asks the worker to take over settings. Never rejects. */
  change(settings: Partial<LiveSettings>): Promise<ChangeResult>;
  /** Asks the worker to stop, and ends the thread when it has not ended after `limitMs`. */
  stop(limitMs: number): Promise<void>;
  /** Ends the thread at once. */
  terminate(): Promise<void>;
}

export interface WorkerThreadOptions {
  readonly entry: URL;
  readonly settings: Omit<WorkerSettings, 'providers'>;
  readonly providers: MessagePort;
  /** Milliseconds that a worker has to answer a change. */
  readonly answerMs: number;
  readonly onFault: (transport: Transport) => void;
}

/**
 * Megabytes for young objects. What a query leaves behind is garbage once its reply is sent, so a small nursery is collected as
 * cheaply as a large one, and a worker under mixed load takes half the memory.
 */
const NURSERY_MB = 16;

/**
 * Greatest size of old objects, megabytes: several times what full caches and 4,096 connections take. V8 lets them grow between
 * two full collections by a factor that depends on it: at the usual 4 GB fourfold, here by less than half.
 */
const OLD_MB = 768;

/** Starts a thread. @throws when the system gives no thread */
export function startThread(options: WorkerThreadOptions): WorkerThread {
  const { entry, providers, answerMs, onFault } = options;
  const worker = new Worker(entry, {
    workerData: { ...options.settings, providers } satisfies WorkerSettings,
    resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MB, maxOldGenerationSizeMb: OLD_MB },
    transferList: [providers],
  });
  const started = Promise.withResolvers<StartResult>();
  const exited = Promise.withResolvers<void>();
  const waiting = new Map<number, (result: ChangeResult) => void>();
  let lastId = 0;

  worker.on('message', (message: FromWorker) => {
    switch (message.type) {
      case 'listening':
      case 'failed':
        started.resolve(message);
        break;
      case 'fault':
        onFault(message.transport);
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
  });
  const post = (message: ToWorker): void => worker.postMessage(message);

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
