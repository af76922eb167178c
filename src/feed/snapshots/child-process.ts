/**
 * Keeps the process that makes snapshots running while this control process leads: never two at once, and none without a parent. Removes its
 * files when its view has not followed for `feedSnapshotBehindSeconds`, whatever the reason: what is deleted does not reach them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createWaker, every, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import type { Follower } from '../follower/follower.ts';
import type { HourlyKey } from '../keys/hourly-keys.ts';
import { feedKey } from '../message/keys.ts';
import type { ChangeSource } from '../ports/change-source.ts';

interface SnapshotChildOptions {
  /** Module of the child. */
  readonly entry: URL;
  /** The program that runs it, instead of the one that runs this process. */
  readonly program?: string;
  readonly start: Omit<StartMessage, 'type'>;
  /** Those that are readable now. */
  readonly keys: () => readonly HourlyKey[];
  readonly isLeading: () => boolean;
  /** Removes all files of the child. Called while none runs. Throws where that cannot be done now. */
  readonly removeFiles: () => void;
  readonly onMade: (snapshot: MadeSnapshot, seconds: number) => void;
  /** A snapshot could not be made, or the process ended. */
  readonly onFailing: (error: Error) => void;
  readonly timers?: Timers | undefined;
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
/** A broker that starts again is back before, and so is a process that leads, stops and starts again: neither view is built again. */
const BEHIND_MS = LIMITS.feedSnapshotBehindSeconds * 1_000;
/** For a child that ends in order. */
const GRACE_MS = 5_000;

export function startSnapshotChild(options: SnapshotChildOptions): SnapshotChild {
  const { entry, program, start, keys, isLeading, removeFiles, onMade, onFailing } = options;
  const { timers = realTimers } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, timers);
  let child: ChildProcess | null = null;
  let last: MadeSnapshot | null = null;
  let asked: PromiseWithResolvers<MadeSnapshot>[] = [];
  /** Since when the view does not follow, as `timers` count; null: it does. Nobody knows whether that of an earlier process did. */
  let behindSince: number | null = timers.elapsed();

  function follows(isFollowing: boolean): void {
    behindSince = isFollowing ? null : (behindSince ?? timers.elapsed());
  }

  const isBehind = (): boolean => behindSince !== null && timers.elapsed() - behindSince >= BEHIND_MS;

  function removeWhenBehind(): void {
    if (!isBehind()) return;
    removeFiles();
    behindSince = timers.elapsed();
  }

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
    } else if (message.type === 'follows') {
      follows(message.isFollowing);
    } else if (message.type === 'failed') {
      const error = Object.assign(
        new Error(message.message),
        message.code === null ? {} : { code: message.code },
      );
      onFailing(error);
      settle(({ reject }) => reject(error));
    }
  }

  /** Resolves when this process leads no more, rejects when the child ends by itself, hangs or does not follow. */
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
    running.on('message', ({ type }: ChildMessage) => {
      // A view that follows again says nothing of the snapshot that is being sent.
      if (type !== 'follows') silentMs = 0;
    });
    while (isLeading() && !signal.aborted && !isGone && silentMs < SILENT_MS && !isBehind()) {
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
    if (isBehind()) throw new Error('the view that snapshots are made of does not follow and is removed');
  }

  const ended = loop({
    signal,
    waker,
    backoff: BACKOFF,
    onError: (error) => onFailing(error as Error),
    async pass() {
      removeWhenBehind();
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
        follows(false);
        settle(({ reject }) => reject(new Error('the process that makes snapshots ended')));
        removeWhenBehind();
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

/** What a control process and its child that makes snapshots tell each other, as JSON over their channel. */

/** The first message of the parent. */
export interface StartMessage {
  readonly type: 'start';
  /** Text of the credentials file of control. */
  readonly credentials: string;
  readonly servers: readonly string[];
  /** Of the child alone. */
  readonly directory: string;
  /** Files that are put beside the snapshots. */
  readonly geoip: string;
  readonly stockMap: string;
}

interface SentKey {
  /** Base64. */
  readonly secret: string;
  readonly from: number;
  readonly until: number;
}

export type ParentMessage =
  | StartMessage
  | { readonly type: 'keys'; readonly keys: readonly SentKey[] }
  | { readonly type: 'make' };

/** A snapshot that is at the broker. */
export interface MadeSnapshot {
  readonly epoch: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly octets: number;
  readonly partOctets: number;
}

export type ChildMessage =
  | { readonly type: 'made'; readonly snapshot: MadeSnapshot; readonly seconds: number }
  /** A view is being built, as the first one of a large database for hours. */
  | { readonly type: 'building' }
  /** Told when it changes. A child that has told nothing does not follow. */
  | { readonly type: 'follows'; readonly isFollowing: boolean }
  /** @param message of the error: it holds nothing of a record. @param code of the system */
  | { readonly type: 'failed'; readonly message: string; readonly code: string | null };

function sentKeys(keys: readonly HourlyKey[]): SentKey[] {
  return keys.map(({ key, from, until }) => ({
    secret: Buffer.from(key.secret).toString('base64'),
    from,
    until,
  }));
}

export function hourlyKeys(keys: readonly SentKey[]): HourlyKey[] {
  return keys.map(({ secret, from, until }) => ({
    key: feedKey(Uint8Array.from(Buffer.from(secret, 'base64'))),
    from,
    until,
  }));
}

/** Tells whether deletions reach the view. */

interface FollowingOptions {
  /** False: nothing is in it that could be deleted. */
  readonly hasView: () => boolean;
  readonly follower: Pick<Follower, 'state' | 'isStale'>;
  /** Called at the first look, and when it changes. Must not throw. */
  readonly tell: (isFollowing: boolean) => void;
  readonly timers?: Timers | undefined;
}

interface Following {
  /** Changes were applied: a view that was away for long follows, although it lacks further ones. */
  applied(): void;
  stop(): Promise<void>;
}

/** Looks every second. A view that is being built again beside one that serves does not follow. */
export function tellFollowing({ hasView, follower, tell, timers }: FollowingOptions): Following {
  let hasApplied = false;
  let told: boolean | null = null;
  const looking = every({
    ms: LOOK_MS,
    task() {
      const isCurrent = follower.state() === 'following' && !follower.isStale();
      const isFollowing = !hasView() || isCurrent || hasApplied;
      hasApplied = false;
      if (isFollowing !== told) tell(isFollowing);
      told = isFollowing;
    },
    onError() {},
    timers,
  });
  return {
    applied() {
      hasApplied = true;
    },
    stop: () => looking.stop(),
  };
}

/** Tells that a view is being built: where there are many records that takes hours, in which no snapshot is made. */

/** Milliseconds. */
const TELL_MS = 60_000;

/** @param tell is called at most once a minute, while pages of a snapshot come. Must not throw */
export function toldSource(source: ChangeSource, tell: () => void, clock: Clock): ChangeSource {
  let toldAt = Number.NEGATIVE_INFINITY;

  async function* told(pages: AsyncIterable<readonly ChangeBody[]>): AsyncGenerator<readonly ChangeBody[]> {
    for await (const page of pages) {
      // Either way: a clock that was set back.
      if (Math.abs(clock() - toldAt) >= TELL_MS) {
        toldAt = clock();
        tell();
      }
      yield page;
    }
  }

  return {
    ...source,
    async openSnapshot() {
      const snapshot = await source.openSnapshot();
      return { ...snapshot, pages: told(snapshot.pages) };
    },
  };
}
