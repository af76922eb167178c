import { Worker } from 'node:worker_threads';
import { backgroundTimers, realTimers } from '../../base/lifecycle/timers.ts';
import type { FromHealth, HealthSettings, ToHealth } from './health-server.ts';
import { type OpsOptions, readyAnswer } from './ops-routes.ts';

interface HealthThreadOptions extends Pick<OpsOptions, 'readiness' | 'metrics'> {
  readonly entry: URL;
  /** Port 0: any free one. */
  readonly host: string;
  readonly port: number;
}

export interface HealthThread {
  readonly port: number;
  stop(): Promise<void>;
}

/** Megabytes of its heap: it holds the text of the metrics and a few hundred connections. */
const MEMORY = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };
/** Milliseconds until a thread that has ended is started again, and until one that does not stop is ended. */
const RESTART_MS = 1000;
const STOP_MS = 1000;

/** Answers `/livez`, `/readyz` and `/metrics` from a thread that nothing else of the process holds up. Rejects when it cannot listen. */
export async function startHealthThread(options: HealthThreadOptions): Promise<HealthThread> {
  const { entry, host, readiness, metrics } = options;
  let isStopped = false;
  let current: Worker;
  let ended = Promise.resolve();
  let cancelRestart = (): void => {};

  /** Rejects also when the system gives no thread. */
  async function start(port: number): Promise<number> {
    const settings: HealthSettings = { host, port, ready: readyAnswer(readiness()) };
    const worker = new Worker(entry, { workerData: settings, resourceLimits: MEMORY });
    const post = (message: ToHealth): void => worker.postMessage(message);
    const gone = Promise.withResolvers<void>();
    const listening = Promise.withResolvers<number>();
    current = worker;
    ended = gone.promise;
    worker.on('message', (message: FromHealth) => {
      if (message.type === 'listening') listening.resolve(message.port);
      else if (message.type === 'failed') {
        listening.reject(Object.assign(new Error(message.message), { code: message.code }));
      } else if (message.what === 'ready') post({ type: 'ready', ready: readyAnswer(readiness()) });
      else {
        const { contentType } = metrics;
        metrics.text().then(
          (text) => post({ type: 'metrics', metrics: { text, contentType } }),
          () => post({ type: 'metrics', metrics: null }),
        );
      }
    });
    // The exit event follows. An error event without a listener would end the process.
    worker.on('error', () => {});
    worker.once('exit', () => {
      gone.resolve();
      listening.reject(new Error('the thread of UQRP_METRICS has ended'));
    });
    return await listening.promise;
  }

  const port = await start(options.port);

  /** Too many connections may have taken its memory. */
  function watch(): void {
    void ended.then(() => {
      if (isStopped) return;
      cancelRestart = backgroundTimers.after(RESTART_MS, () => {
        // It may fail again: then it ends, too.
        start(port).catch(() => {});
        watch();
      });
    });
  }
  watch();

  return {
    port,
    async stop() {
      isStopped = true;
      cancelRestart();
      const cancel = realTimers.after(STOP_MS, () => void current.terminate());
      current.postMessage({ type: 'stop' } satisfies ToHealth);
      await ended;
      cancel();
    },
  };
}
