import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Door } from './door.ts';
import type { FromKeeper, KeeperSettings, ToKeeper } from './door-messages.ts';
import type { OutboundFault, OutboundResult } from './request.ts';

export interface DoorThreadOptions {
  /** Module of the thread. */
  readonly entry: URL;
  readonly settings: KeeperSettings;
  /** The thread died and another takes its place; what was under way has failed. */
  readonly onExit?: () => void;
}

export interface DoorThread {
  readonly door: Door;
  /** What is under way fails. */
  stop(): Promise<void>;
}

/** Between the death of a thread and the start of the next, milliseconds: one that dies at once must not spin. */
const RESTART_MS = 250;
/** How long past the deadline the thread may keep its answer to itself, milliseconds. */
const PATIENCE_MS = 2000;
/** Megabytes for young objects: what an attempt leaves behind is dead when it is over. */
const NURSERY_MB = 16;

/**
 * A door that is kept by a thread of its own, started when it is first needed and again when it dies. The policy and the
 * deadline are the thread's. Requests never reject.
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
    const fresh = new Worker(entry, {
      workerData: settings,
      resourceLimits: { maxYoungGenerationSizeMb: NURSERY_MB },
    });
    fresh.on('message', ({ id, result }: FromKeeper) => settle(id, received(result)));
    // What the thread died of is told by its exit; an error event without a listener would end the process.
    fresh.on('error', () => {});
    fresh.once('exit', () => {
      worker = null;
      mayStart = sleep(RESTART_MS, undefined, { ref: false });
      failAll('connection_failed');
      if (!isStopped) onExit?.();
    });
    return fresh;
  }

  async function door(request: Parameters<Door>[0], signal?: AbortSignal): Promise<OutboundResult> {
    await mayStart;
    if (isStopped || signal?.aborted) return { kind: 'failed', fault: 'timeout' };
    worker ??= start();
    const id = ++last;
    const { url, ...rest } = request;
    const message: ToKeeper = { ...rest, id, url: url.href };
    const answer = answered(id, signal);
    worker.postMessage(message);
    return answer;
  }

  function answered(id: number, signal: AbortSignal | undefined): Promise<OutboundResult> {
    return new Promise((resolve) => {
      const giveUp = (): void => settle(id, { kind: 'failed', fault: 'timeout' });
      const timer = setTimeout(giveUp, settings.deadlineMs + PATIENCE_MS);
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
    async stop() {
      isStopped = true;
      failAll('timeout');
      await worker?.terminate();
    },
  };
}

/** A buffer comes out of a thread as bare octets. */
function received(result: OutboundResult): OutboundResult {
  if (result.kind === 'failed') return result;
  const { buffer, byteOffset, byteLength } = result.body;
  return { ...result, body: Buffer.from(buffer, byteOffset, byteLength) };
}
