import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { namespaceUpserted, upserted } from '../../test/support/view/view-changes.ts';
import { LIMITS } from '../base/limits.ts';
import { startSnapshotChild } from '../feed/snapshots/child-process.ts';
import type { Config } from '../ops/config/config.ts';
import { lockDataDir } from '../store/sqlite/server-lock.ts';
import { openLmdbWriter } from '../view/writer.ts';
import { removeSnapshotFiles, removeUnusedViews, snapshotsIn } from './unused-views.ts';

const CANARY = 'canary-payload-of-a-deleted-record';
const ALL = [
  'incoming/view',
  'snapshots/copy/1.mdb',
  'snapshots/incoming/view',
  'snapshots/view/1.mdb',
  'view/1.mdb',
];

describe('views that no process follows', () => {
  let origin: string;
  before(async () => {
    origin = mkdtempSync(join(tmpdir(), 'uqrp-canary-'));
    const view = openLmdbWriter({ path: join(origin, 'view') });
    await view.apply([namespaceUpserted('ns'), upserted('a.ns.v1', CANARY)], 1);
    await view.close();
  });
  after(() => rmSync(origin, { recursive: true, force: true }));

  /** A data directory with a payload in every view, and in a file that is none. */
  function dataDir(t: { after(run: () => void): void }): string {
    const directory = mkdtempSync(join(tmpdir(), 'uqrp-unused-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    for (const name of ['view', 'snapshots/view', 'snapshots/copy'])
      cpSync(join(origin, 'view'), join(directory, name), { recursive: true });
    for (const name of ['incoming', 'snapshots/incoming']) {
      mkdirSync(join(directory, name));
      cpSync(join(origin, 'view', '1.mdb'), join(directory, name, 'view'));
    }
    writeFileSync(join(directory, 'uqrp.sqlite'), CANARY);
    assert.deepEqual(holding(directory), [...ALL, 'uqrp.sqlite'].toSorted());
    return directory;
  }

  const holding = (directory: string): string[] =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(CANARY))
      .map((path) => relative(directory, path))
      .toSorted();

  const snapshots = ALL.filter((path) => path.startsWith('snapshots/'));
  const rows: readonly [
    string,
    Pick<Config, 'role'> & { end: 'control' | 'node' | null },
    readonly string[],
  ][] = [
    ['control', { role: 'control', end: null }, []],
    ['control with a feed', { role: 'control', end: 'control' }, snapshots],
    ['all', { role: 'all', end: null }, ['view/1.mdb']],
    ['all with a feed', { role: 'all', end: 'control' }, [...snapshots, 'view/1.mdb']],
    ['edge', { role: 'edge', end: null }, ['view/1.mdb']],
    ['edge with a feed', { role: 'edge', end: 'node' }, ['view/1.mdb']],
  ];
  for (const [title, { role, end }, left] of rows) {
    it(`are removed at a start in the role ${title}, and those that it has stay`, (t) => {
      const directory = dataDir(t);
      const feed = end === null ? null : ({ end } as Config['feed']);
      removeUnusedViews({ dataDir: directory, role, feed });
      assert.deepEqual(holding(directory), [...left, 'uqrp.sqlite'].toSorted());
    });
  }

  it('stay while a process of a server that was killed still has them', (t) => {
    const directory = dataDir(t);
    const lock = lockDataDir(snapshotsIn(directory));
    assert.ok('release' in lock);
    const start = (): void => removeUnusedViews({ dataDir: directory, role: 'control', feed: null });
    assert.throws(start, /snapshots is in use by process [0-9]+/);
    assert.deepEqual(holding(directory), [...snapshots, 'uqrp.sqlite'].toSorted());
    lock.release();
    start();
    assert.deepEqual(holding(directory), ['uqrp.sqlite']);
  });

  it('and that of snapshots goes in a control process that waits while another one leads', async (t) => {
    const directory = dataDir(t);
    const timers = createManualTimers();
    const child = startSnapshotChild({
      entry: new URL('./snapshot-process.ts', import.meta.url),
      start: { credentials: '', servers: [], directory: snapshotsIn(directory), geoip: '', stockMap: '' },
      keys: () => [],
      isLeading: () => false,
      removeFiles: () => removeSnapshotFiles(snapshotsIn(directory)),
      onMade() {},
      onFailing: (error) => assert.fail(error),
      timers,
    });
    const limit = LIMITS.feedSnapshotBehindSeconds * 1_000;
    await timers.advance(limit - 1_000);
    assert.deepEqual(holding(directory), [...ALL, 'uqrp.sqlite'].toSorted());
    await timers.advance(1_000);
    assert.deepEqual(holding(directory), ['incoming/view', 'uqrp.sqlite', 'view/1.mdb']);
    await child.stop();
  });
});
