import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { upserted } from '../../test/support/view/view-changes.ts';
import { DiskFullError } from '../base/files.ts';
import { openLmdbReader } from './reader.ts';
import { type LmdbViewWriter, openLmdbWriter } from './writer.ts';

/** A disk that a test fills: the port through which the view asks for room. */
const disk = { free: 2 ** 30 };
const free = (): number => disk.free;
const PAGE = 8192;

describe('a view on a full disk', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'uqrp-full-'));
    disk.free = 2 ** 30;
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const path = (): string => join(directory, 'view');
  const open = () =>
    openLmdbWriter({ path: path(), free, wipeAfterMs: 0, onDiscarded: (reason) => assert.fail(reason) });
  const stateText = (): string => readFileSync(join(path(), 'state'), 'latin1');

  const isFull = (error: unknown): boolean => error instanceof DiskFullError && error.code === 'ENOSPC';

  it('serves what it has, refuses changes with the path, and goes on once there is room (operator finding 6)', async () => {
    const writer = open();
    await writer.apply([upserted('a.res.ns.v1')], 1);
    disk.free = 0;
    await assert.rejects(writer.apply([upserted('b.res.ns.v1')], 2), (error) => {
      assert.ok(isFull(error));
      assert.match((error as Error).message, /view\/1\.mdb/);
      return true;
    });
    assert.equal(writer.cursor(), 1);
    disk.free = 2 ** 30;
    await writer.apply([upserted('b.res.ns.v1')], 2);
    assert.equal(writer.cursor(), 2);
    await writer.close();
  });

  it('opens with the view that was there, and writes nothing before there is room (operator finding 4)', async () => {
    const first = open();
    await first.apply([upserted('a.res.ns.v1')], 1);
    await first.close();
    assert.equal(stateText(), '1 clean');
    const before = statSync(join(path(), 'state')).mtimeMs;
    disk.free = 0;
    const writer = open();
    assert.equal(writer.cursor(), 1);
    const reader = openLmdbReader({ path: path() });
    assert.ok(reader.record('a.res.ns.v1') !== null);
    await reader.close();
    assert.equal(statSync(join(path(), 'state')).mtimeMs, before);
    await assert.rejects(writer.apply([upserted('b.res.ns.v1')], 2), isFull);
    await writer.close();
    disk.free = 2 ** 30;
    const again = open();
    await again.apply([upserted('b.res.ns.v1')], 2);
    assert.match(stateText(), /^1 open /);
    await again.close();
    assert.equal(stateText(), '1 clean');
  });

  it('ends the start with the path where there is no view yet', () => {
    disk.free = 0;
    assert.throws(open, isFull);
  });

  it('never writes more than the room that it asked for', async () => {
    const random = seeded(22);
    const writer: LmdbViewWriter = open();
    const file = join(path(), '1.mdb');
    let refused = 0;
    for (let round = 1, cursor = 0; round <= 300; round++) {
      const count = 1 + Math.floor(random() ** 4 * 300);
      const changes = Array.from({ length: count }, () =>
        upserted(`k${Math.floor(random() * 2000)}.res.ns.v1`),
      );
      const before = statSync(file).size;
      disk.free = Math.floor(random() * 60) * PAGE;
      try {
        await writer.apply(changes, ++cursor);
      } catch (error) {
        assert.ok(isFull(error));
        refused++;
      }
      const grown = statSync(file).size - before;
      assert.ok(grown <= disk.free, `round ${round}: ${grown} octets written, ${disk.free} were free`);
    }
    assert.ok(refused > 0 && refused < 300, `${refused} refused`);
    disk.free = 2 ** 30;
    await writer.close();
  });
});

/** Numbers from 0 to 1, the same at every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}
