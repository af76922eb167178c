import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { FollowerState } from '../follower/follower.ts';
import { type ChildMessage, type SnapshotChild, startSnapshotChild, tellFollowing } from './child-process.ts';

const HANGING = new URL('../../../test/support/feed/snapshots/hanging-child.ts', import.meta.url);
const SILENT_MS = LIMITS.feedSnapshotSilentMinutes * 60_000;
const BEHIND_MS = LIMITS.feedSnapshotBehindSeconds * 1_000;

it('a process that cannot be started is reported and tried again, and ends nothing else', async () => {
  const twice = Promise.withResolvers<void>();
  const errors: Error[] = [];
  const child = startSnapshotChild({
    entry: new URL('./child-process.ts', import.meta.url),
    program: '/does/not/exist',
    start: { credentials: '', servers: [], directory: '', geoip: '', stockMap: '' },
    keys: () => [],
    isLeading: () => true,
    removeFiles() {},
    onMade() {},
    onFailing(error) {
      if (errors.push(error) === 2) twice.resolve();
    },
  });
  await twice.promise;
  await assert.rejects(child.make());
  await child.stop();
});

it('a process that hangs is killed when it said nothing for the limit, and started again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'uqrp-child-'));
  const timers = createManualTimers();
  const errors: string[] = [];
  const child = startSnapshotChild({
    entry: HANGING,
    start: telling(directory, { type: 'follows', isFollowing: true }),
    keys: () => [],
    isLeading: () => true,
    removeFiles: () => assert.fail('its view follows'),
    onMade() {},
    onFailing: ({ message }) => errors.push(message),
    timers,
  });
  const pids = (): number[] => readdirSync(directory).map(Number);
  try {
    await until(() => pids().length === 1);
    const [first] = pids();
    await heard(child);
    await timers.advance(SILENT_MS - 1_000);
    // What it says begins the time again.
    await heard(child);
    await timers.advance(SILENT_MS - 1_000);
    assert.deepEqual(errors, ['not now', 'not now'], 'just below the limit it goes on');
    assert.ok(isRunning(first!));
    await timers.advance(1_000);
    await until(() => errors.length === 3);
    assert.match(errors[2]!, /said nothing for 90 minutes and was killed/);
    assert.ok(!isRunning(first!));
    await timers.advance(1_000);
    await until(() => pids().length === 2);
  } finally {
    const stopping = child.stop();
    // A child that hangs does not end by itself.
    await timers.advance(5_000);
    await stopping;
    rmSync(directory, { recursive: true, force: true });
  }
});

/** Files of a view are removed when it has not followed for the limit: what is deleted does not reach them. */
describe('the files of the process that makes snapshots', () => {
  let directory: string;
  let timers: ManualTimers;
  let removed: number;
  let errors: string[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'uqrp-behind-'));
    timers = createManualTimers();
    removed = 0;
    errors = [];
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function started(isLeading: () => boolean, ...told: readonly ChildMessage[]) {
    return startSnapshotChild({
      entry: HANGING,
      start: telling(directory, ...told),
      keys: () => [],
      isLeading,
      removeFiles() {
        assert.ok(!readdirSync(directory).map(Number).some(isRunning), 'no process has them');
        removed++;
      },
      onMade() {},
      onFailing: ({ message }) => errors.push(message),
      timers,
    });
  }

  async function stopped(child: SnapshotChild): Promise<void> {
    const stopping = child.stop();
    await timers.advance(5_000);
    await stopping;
  }

  it('go at a start that does not lead for the limit, and not before (a standby kept deleted payloads)', async () => {
    const child = started(() => false);
    await timers.advance(BEHIND_MS - 1_000);
    assert.equal(removed, 0, 'a process that starts again and leads needs them');
    await timers.advance(1_000);
    assert.equal(removed, 1);
    await stopped(child);
  });

  it('go when leadership has ended for the limit, and stay where it comes back before', async () => {
    let isLeading = true;
    const child = started(() => isLeading, { type: 'follows', isFollowing: true });
    const pids = (): number[] => readdirSync(directory).map(Number);
    await until(() => pids().length === 1);
    await heard(child);
    const leave = async (): Promise<void> => {
      const last = pids().filter(isRunning);
      isLeading = false;
      await timers.advance(1_000);
      await timers.advance(5_000);
      await until(() => !last.some(isRunning));
    };
    await leave();
    await timers.advance(BEHIND_MS - 7_000);
    isLeading = true;
    await timers.advance(1_000);
    await until(() => pids().length === 2);
    await heard(child);
    assert.equal(removed, 0);
    await leave();
    await timers.advance(BEHIND_MS);
    assert.equal(removed, 1);
    await stopped(child);
  });

  it('go when its view does not follow for the limit, as without the broker; another process begins anew', async () => {
    const child = started(
      () => true,
      { type: 'follows', isFollowing: true },
      { type: 'follows', isFollowing: false },
    );
    const pids = (): number[] => readdirSync(directory).map(Number);
    await until(() => pids().length === 1);
    await heard(child);
    await timers.advance(BEHIND_MS - 1_000);
    assert.equal(removed, 0);
    await timers.advance(1_000);
    // A process that hangs does not end by itself.
    await timers.advance(5_000);
    await until(() => removed === 1);
    await until(() => errors.length === 2);
    assert.match(errors[1]!, /does not follow/);
    await timers.advance(1_000);
    await until(() => pids().length === 2);
    await stopped(child);
  });

  it('go later where they could not be removed at first', async () => {
    const child = startSnapshotChild({
      entry: HANGING,
      start: telling(directory),
      keys: () => [],
      isLeading: () => false,
      removeFiles() {
        if (removed++ === 0) throw new Error('in use');
      },
      onMade() {},
      onFailing: ({ message }) => errors.push(message),
      timers,
    });
    await timers.advance(BEHIND_MS + 1_000);
    assert.deepEqual([removed, errors], [2, ['in use']]);
    await stopped(child);
  });
});

describe('whether deletions reach the view of snapshots', () => {
  const rows: readonly [string, Partial<Seen>, boolean][] = [
    ['it follows', {}, true],
    ['the broker is silent', { isStale: true }, false],
    ['its disk is full', { state: 'failing' }, false],
    ['another one is built beside it', { state: 'rebuilding' }, false],
    ['it takes what was written while it was away', { isStale: true, hasApplied: true }, true],
    ['there is none', { hasView: false, isStale: true, state: 'rebuilding' }, true],
  ];
  for (const [title, seen, expected] of rows) {
    it(`${title}: ${expected ? 'yes' : 'no'}`, async () => {
      const timers = createManualTimers();
      const told: boolean[] = [];
      const now: Seen = { hasView: true, isStale: false, state: 'following', hasApplied: false, ...seen };
      const following = tellFollowing({
        hasView: () => now.hasView,
        follower: { state: () => now.state, isStale: () => now.isStale },
        tell: (isFollowing) => told.push(isFollowing),
        timers,
      });
      if (now.hasApplied) following.applied();
      await timers.advance(1_000);
      assert.deepEqual(told, [expected]);
      // Told when it changes.
      await timers.advance(1_000);
      assert.deepEqual(told, now.hasApplied ? [true, false] : [expected]);
      await following.stop();
    });
  }
});

interface Seen {
  readonly hasView: boolean;
  readonly isStale: boolean;
  readonly state: FollowerState;
  readonly hasApplied: boolean;
}

/** Lets processes start and end. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** All that the child told at its start was heard: it answers in order. */
function heard(child: SnapshotChild): Promise<void> {
  return assert.rejects(child.make(), { message: 'not now', code: 'ENOSPC' });
}

/** What the child of `HANGING` tells when it starts. */
function telling(directory: string, ...told: readonly ChildMessage[]) {
  return { credentials: JSON.stringify(told), servers: [], directory, geoip: '', stockMap: '' };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
