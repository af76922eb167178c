/** Removes views that no process follows: what is deleted does not reach them. */
import { join } from 'node:path';
import { systemFiles } from '../base/files.ts';
import type { Config } from '../ops/config/config.ts';
import { removeView } from '../view/lmdb/view-directory.ts';
import { takeServerLock } from './start-checks.ts';

/** The directory of the process that makes snapshots. */
export const snapshotsIn = (dataDir: string): string => join(dataDir, 'snapshots');

/** What that process keeps in its directory: its view, the copy of it that is sent, and a snapshot that is downloaded. */
export function snapshotPaths(directory: string) {
  const [view, copy, incoming] = ['view', 'copy', 'incoming'].map((name) => join(directory, name));
  return { view: view!, copy: copy!, incoming: incoming! };
}

/**
 * Removes all of it.
 * @throws StartError while such a process has the directory: that of a server that was killed ends within seconds
 */
export function removeSnapshotFiles(directory: string): void {
  const paths = Object.values(snapshotPaths(directory)).filter((path) => systemFiles.facts(path) !== null);
  if (paths.length === 0) return;
  const lock = takeServerLock(directory);
  try {
    for (const path of paths) systemFiles.remove(path);
  } finally {
    lock.release();
  }
}

/**
 * Removes what a process of another role has left, and a snapshot that was not downloaded to its end. The caller has the lock of the data directory.
 * @throws StartError as `removeSnapshotFiles`
 */
export function removeUnusedViews({ dataDir, role, feed }: Pick<Config, 'dataDir' | 'role' | 'feed'>): void {
  systemFiles.remove(join(dataDir, 'incoming', 'view'));
  if (role === 'control') removeView(join(dataDir, 'view'));
  if (feed?.end !== 'control') removeSnapshotFiles(snapshotsIn(dataDir));
}
