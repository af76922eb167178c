import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { startSnapshotChild } from './child-process.ts';

const HANGING = new URL('../../../test/support/feed/snapshots/hanging-child.ts', import.meta.url);
const SILENT_MS = LIMITS.feedSnapshotSilentMinutes * 60_000;

it('a process that cannot be started is reported and tried again, and ends nothing else', async () => {
  const twice = Promise.withResolvers<void>();
  const errors: Error[] = [];
  const child = startSnapshotChild({
    entry: new URL('./child-process.ts', import.meta.url),
    program: '/does/not/exist',
    start: { credentials: '', servers: [], directory: '', geoip: '', stockMap: '' },
    keys: () => [],
    isLeading: () => true,
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
    start: { credentials: '', servers: [], directory, geoip: '', stockMap: '' },
    keys: () => [],
    isLeading: () => true,
    onMade() {},
    onFailing: ({ message }) => errors.push(message),
    timers,
  });
  const pids = (): number[] => readdirSync(directory).map(Number);
  /** Lets processes start and end. */
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  try {
    await until(() => pids().length === 1);
    const [first] = pids();
    await timers.advance(SILENT_MS - 1_000);
    // What it says begins the time again.
    await assert.rejects(child.make(), /not now/);
    await timers.advance(SILENT_MS - 1_000);
    assert.deepEqual(errors, ['not now'], 'just below the limit it goes on');
    assert.ok(isRunning(first!));
    await timers.advance(1_000);
    await until(() => errors.length === 2);
    assert.match(errors[1]!, /said nothing for 90 minutes and was killed/);
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

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
