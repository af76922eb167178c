import { Worker } from 'node:worker_threads';
import { backgroundTimers, pause, realTimers } from '../base/lifecycle/timers.ts';
import type { OutboundClient } from './outbound-client.ts';
import type { OutboundFault, OutboundRequest, OutboundResult } from './request.ts';

export interface ThreadSettings {
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Milliseconds for one request in all. */
  readonly deadlineMs: number;
}

/** The URL is text, because structured clone cannot copy a URL. */
export type ThreadRequest = { readonly id: number; readonly url: string } & Omit<OutboundRequest, 'url'>;

export interface ThreadReply {
  readonly id: number;
  readonly result: OutboundResult;
}

interface OutboundThreadOptions {
  readonly entry: URL;
  readonly settings: ThreadSettings;
  /** The thread ended and open requests were interrupted. The next request starts another thread. */
  readonly onExit?: () => void;
}

export interface OutboundThread {
  readonly client: OutboundClient;
  underWay(): number;
  /** Ends the thread; requests under way are interrupted. */
  stop(): Promise<void>;
}

/** Milliseconds before a thread is started again. Prevents a busy loop when threads end at once. */
const RESTART_MS = 250;
/** Milliseconds after the deadline until a thread that has not answered counts as hung. */
const HUNG_MS = 2000;

/** An outbound client in a worker thread, started on demand. Never rejects: `interrupted` means the thread ended or hung. */
export function startOutboundThread({ entry, settings, onExit }: OutboundThreadOptions): OutboundThread {
  const pending = new Map<number, (result: OutboundResult) => void>();
  let worker: Worker | null = null;
  let mayStart: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  let lastId = 0;

  function settle(id: number, result: OutboundResult): void {
    pending.get(id)?.(result);
  }

  function failAll(fault: OutboundFault): void {
    for (const id of [...pending.keys()]) settle(id, { kind: 'failed', fault });
  }

  function start(): Worker {
    const fresh = new Worker(entry, { workerData: settings });
    fresh.on('message', ({ id, result }: ThreadReply) => settle(id, withBuffer(result)));
    // The exit event follows. Without this listener the error would end the process.
    fresh.on('error', () => {});
    fresh.once('exit', () => {
      worker = null;
      mayStart = pause(backgroundTimers, RESTART_MS);
      failAll('interrupted');
      if (!isStopped) onExit?.();
    });
    return fresh;
  }

  async function client(
    request: Parameters<OutboundClient>[0],
    signal?: AbortSignal,
  ): Promise<OutboundResult> {
    const id = ++lastId;
    const answer = answerTo(id, signal);
    await mayStart;
    // The caller's signal was aborted, or the thread was stopped.
    if (!pending.has(id)) return answer;
    worker ??= start();
    const { url, ...rest } = request;
    const message: ThreadRequest = { ...rest, id, url: url.href };
    worker.postMessage(message);
    return answer;
  }

  function answerTo(id: number, signal: AbortSignal | undefined): Promise<OutboundResult> {
    if (isStopped) return Promise.resolve({ kind: 'failed', fault: 'interrupted' });
    if (signal?.aborted) return Promise.resolve({ kind: 'failed', fault: 'timeout' });
    return new Promise((resolve) => {
      const onAbort = (): void => settle(id, { kind: 'failed', fault: 'timeout' });
      const onHung = (): void => settle(id, { kind: 'failed', fault: 'interrupted' });
      const cancel = realTimers.after(settings.deadlineMs + HUNG_MS, onHung);
      signal?.addEventListener('abort', onAbort, { once: true });
      pending.set(id, (result) => {
        cancel();
        signal?.removeEventListener('abort', onAbort);
        pending.delete(id);
        resolve(result);
      });
    });
  }

  return {
    client,
    underWay: () => pending.size,
    async stop() {
      isStopped = true;
      failAll('interrupted');
      await worker?.terminate();
    },
  };
}

/** A request goes to the thread with the fewest open requests. @param count at least 1 */
export function startOutboundThreads(count: number, options: OutboundThreadOptions): OutboundThread {
  const threads = Array.from({ length: count }, () => startOutboundThread(options));
  return {
    client: (request, signal) => {
      const [first, ...others] = threads as [OutboundThread, ...OutboundThread[]];
      const idlest = others.reduce((least, one) => (one.underWay() < least.underWay() ? one : least), first);
      return idlest.client(request, signal);
    },
    underWay: () => threads.reduce((sum, thread) => sum + thread.underWay(), 0),
    stop: async () => {
      await Promise.all(threads.map((thread) => thread.stop()));
    },
  };
}

/** Structured clone turns a Buffer into a Uint8Array. */
function withBuffer(result: OutboundResult): OutboundResult {
  if (result.kind === 'failed') return result;
  const { buffer, byteOffset, byteLength } = result.body;
  return { ...result, body: Buffer.from(buffer, byteOffset, byteLength) };
}
