import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Door } from '../outbound-client.ts';
import type { OutboundFault, OutboundResult } from '../request.ts';
import type { FromKeeper, KeeperSettings, ToKeeper } from './messages.ts';

export interface DoorThreadOptions {
  /** Module of the thread. */
  readonly entry: URL;
  readonly settings: KeeperSettings;
  /** The thread died and another takes its place; what was under way was interrupted. */
  readonly onExit?: () => void;
}

export interface DoorThread {
  readonly door: Door;
  /** Requests that are not answered yet. */
  underWay(): number;
  /** What is under way is interrupted. */
  stop(): Promise<void>;
}

/** Between the death of a thread and the start of the next, milliseconds: one that dies at once must not spin. */
const RESTART_MS = 250;
/** How long past the deadline the thread may keep its answer to itself, milliseconds. */
const PATIENCE_MS = 2000;

/**
 * A door that is kept by a thread of its own, started when it is first needed and again when it dies. The policy and the
 * deadline are the thread's. Requests never reject: `interrupted` tells that the thread ended or did not answer in time.
 */
export function openDoorThread({ entry, settings, onExit }: DoorThreadOptions): DoorThread {
  const pending = new Map<number, (result: OutboundResult) => void>();
  let worker: Worker | null = null;
  let mayStart: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  let last = 0;

  function settle(id: number, result: OutboundResult): void {
    pending.get(id)?.(result);
  }

  function failAll(fault: OutboundFault): void {
    for (const id of [...pending.keys()]) settle(id, { kind: 'failed', fault });
  }

  function start(): Worker {
    const fresh = new Worker(entry, { workerData: settings });
    fresh.on('message', ({ id, result }: FromKeeper) => settle(id, received(result)));
    // What the thread died of is told by its exit; an error event without a listener would end the process.
    fresh.on('error', () => {});
    fresh.once('exit', () => {
      worker = null;
      mayStart = sleep(RESTART_MS, undefined, { ref: false });
      failAll('interrupted');
      if (!isStopped) onExit?.();
    });
    return fresh;
  }

  async function door(request: Parameters<Door>[0], signal?: AbortSignal): Promise<OutboundResult> {
    const id = ++last;
    const answer = answered(id, signal);
    await mayStart;
    // Settled meanwhile: its caller gave up, or the thread was stopped.
    if (!pending.has(id)) return answer;
    worker ??= start();
    const { url, ...rest } = request;
    const message: ToKeeper = { ...rest, id, url: url.href };
    worker.postMessage(message);
    return answer;
  }

  function answered(id: number, signal: AbortSignal | undefined): Promise<OutboundResult> {
    if (isStopped) return Promise.resolve({ kind: 'failed', fault: 'interrupted' });
    if (signal?.aborted) return Promise.resolve({ kind: 'failed', fault: 'timeout' });
    return new Promise((resolve) => {
      const giveUp = (): void => settle(id, { kind: 'failed', fault: 'timeout' });
      const hang = (): void => settle(id, { kind: 'failed', fault: 'interrupted' });
      const timer = setTimeout(hang, settings.deadlineMs + PATIENCE_MS);
      signal?.addEventListener('abort', giveUp, { once: true });
      pending.set(id, (result) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        pending.delete(id);
        resolve(result);
      });
    });
  }

  return {
    door,
    underWay: () => pending.size,
    async stop() {
      isStopped = true;
      failAll('interrupted');
      await worker?.terminate();
    },
  };
}

/** Several of them behind one door: a request takes the one with the least to do. @param count at least 1 */
export function openDoorThreads(count: number, options: DoorThreadOptions): DoorThread {
  const threads = Array.from({ length: count }, () => openDoorThread(options));
  return {
    door: (request, signal) => {
      const [first, ...others] = threads as [DoorThread, ...DoorThread[]];
      const idlest = others.reduce((least, one) => (one.underWay() < least.underWay() ? one : least), first);
      return idlest.door(request, signal);
    },
    underWay: () => threads.reduce((sum, thread) => sum + thread.underWay(), 0),
    stop: async () => {
      await Promise.all(threads.map((thread) => thread.stop()));
    },
  };
}

/** A buffer comes out of a thread as bare octets. */
function received(result: OutboundResult): OutboundResult {
  if (result.kind === 'failed') return result;
  const { buffer, byteOffset, byteLength } = result.body;
  return { ...result, body: Buffer.from(buffer, byteOffset, byteLength) };
}
