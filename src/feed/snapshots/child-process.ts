/** Keeps the process that makes snapshots running while this control process leads: never two at once, and none without a parent. */
import { type ChildProcess, fork } from 'node:child_process';
import { loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { LIMITS } from '../../base/limits.ts';
import type { HourlyKey } from '../batch/key-message.ts';
import {
  type ChildMessage,
  type MadeSnapshot,
  type ParentMessage,
  type StartMessage,
  sentKeys,
} from './process-messages.ts';

export interface SnapshotChildOptions {
  /** Module of the child. */
  readonly entry: URL;
  /** The program that runs it, instead of the one that runs this process. */
  readonly program?: string;
  readonly start: Omit<StartMessage, 'type'>;
  /** Those that are readable now. */
  readonly keys: () => readonly HourlyKey[];
  readonly isLeading: () => boolean;
  readonly onMade: (snapshot: MadeSnapshot, seconds: number) => void;
  /** A snapshot could not be made, or the process ended. */
  readonly onFailing: (error: Error) => void;
  readonly timers?: Timers;
}

export interface SnapshotChild {
  /** Asks for a snapshot that begins after this call. Rejects when this process does not lead, or it cannot be made. */
  make(): Promise<MadeSnapshot>;
  /** The last one of this child's life. */
  last(): MadeSnapshot | null;
  stop(): Promise<void>;
}

/** How often leadership and keys are compared. */
const LOOK_MS = 1_000;
const BACKOFF = { firstMs: 1_000, capMs: 60_000 } as const;
/** It tells of each attempt, makes one every `feedSnapshotMinutes`, and tells while it builds a view: a child that says nothing for longer hangs. */
const SILENT_MS = LIMITS.feedSnapshotSilentMinutes * 60_000;
/** For a child that ends in order. */
const GRACE_MS = 5_000;

export function startSnapshotChild(options: SnapshotChildOptions): SnapshotChild {
  const { entry, program, start, keys, isLeading, onMade, onFailing, timers = realTimers } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, timers);
  let child: ChildProcess | null = null;
  let last: MadeSnapshot | null = null;
  let asked: PromiseWithResolvers<MadeSnapshot>[] = [];

  function settle(how: (each: PromiseWithResolvers<MadeSnapshot>) => void): void {
    const waiting = asked;
    asked = [];
    for (const each of waiting) how(each);
  }

  function heard(message: ChildMessage): void {
    if (message.type === 'made') {
      last = message.snapshot;
      onMade(message.snapshot, message.seconds);
      settle(({ resolve }) => resolve(message.snapshot));
    } else if (message.type === 'failed') {
      const error = new Error(message.message);
      onFailing(error);
      settle(({ reject }) => reject(error));
    }
  }

  /** Resolves when this process leads no more, rejects when the child ends by itself or hangs. */
  async function run(running: ChildProcess): Promise<void> {
    const send = (message: ParentMessage): void => {
      if (running.connected) running.send(message, () => {});
    };
    let sent = '';
    const sendKeys = (): void => {
      const now = sentKeys(keys());
      if (JSON.stringify(now) === sent) return;
      sent = JSON.stringify(now);
      send({ type: 'keys', keys: now });
    };
    send({ type: 'start', ...start });
    sendKeys();
    let isGone = false;
    const gone = new Promise<void>((resolve) => {
      const end = (): void => {
        isGone = true;
        waker.wake();
        resolve();
      };
      running.once('exit', end);
      // A process that could not be started has no exit.
      running.on('error', () => {
        if (running.pid === undefined) end();
      });
    });
    let silentMs = 0;
    running.on('message', () => {
      silentMs = 0;
    });
    while (isLeading() && !signal.aborted && !isGone && silentMs < SILENT_MS) {
      waker.reset();
      if (!(await waker.wait(LOOK_MS))) silentMs += LOOK_MS;
      sendKeys();
    }
    if (silentMs >= SILENT_MS && !isGone) {
      running.kill('SIGKILL');
      await gone;
      throw new Error(
        `the process that makes snapshots said nothing for ${LIMITS.feedSnapshotSilentMinutes} minutes and was killed`,
      );
    }
    if (isGone) throw new Error('the process that makes snapshots ended');
    if (running.connected) running.disconnect();
    const cancel = timers.after(GRACE_MS, () => running.kill('SIGKILL'));
    await gone;
    cancel();
  }

  const ended = loop({
    signal,
    waker,
    backoff: BACKOFF,
    onError: (error) => onFailing(error as Error),
    async pass() {
      if (!isLeading()) return LOOK_MS;
      // It gets neither the database nor the secret: everything it needs is in the first message.
      child = fork(entry, {
        env: {},
        // Node 22, and 24 before 24.15, call node:sqlite experimental at every start.
        execArgv: ['--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        ...(program === undefined ? {} : { execPath: program }),
      });
      child.on('message', (message) => heard(message as ChildMessage));
      try {
        await run(child);
      } finally {
        child = null;
        settle(({ reject }) => reject(new Error('the process that makes snapshots ended')));
      }
      return LOOK_MS;
    },
  });

  return {
    make() {
      const running = child;
      if (running === null || !running.connected) {
        return Promise.reject(new Error('this control process does not make snapshots now'));
      }
      const answer = Promise.withResolvers<MadeSnapshot>();
      asked.push(answer);
      running.send({ type: 'make' } satisfies ParentMessage, () => {});
      return answer.promise;
    },
    last: () => (isLeading() ? last : null),
    async stop() {
      ending.abort();
      await ended;
    },
  };
}
