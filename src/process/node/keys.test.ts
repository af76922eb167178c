import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { keyFile, loadKeys, updateKeys } from '../../dns/dnssec/key-files.ts';
import { generateKey } from '../../dns/dnssec/key-set.ts';
import { controlSecrets, fileZoneKeys } from '../zone-keys/control-secrets.ts';
import { type LiveSecrets, LOOK_MS, readSecrets, reportedTags, watchSecrets } from './keys.ts';

const ZONE = 'uqrp.net';
const NOW = Date.UTC(2026, 0, 1);

describe('the watch of the key files', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'uqrp-watch-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  /** A watch of one zone with timers that the test advances. `accepts` says whether workers accept the keys. */
  async function watch() {
    loadKeys(dataDir, ZONE, () => NOW);
    const source = controlSecrets({
      keys: fileZoneKeys(dataDir, () => NOW),
      zones: [ZONE],
      mode: 'full',
      cookieKey: Buffer.alloc(32),
      ticketKey: null,
      clock: () => NOW,
    });
    const read = readSecrets(source, [ZONE]);
    const timers = createManualTimers();
    const world = {
      accepts: true,
      offered: [] as number[],
      used: [] as LiveSecrets[],
      errors: 0,
    };
    const watching = watchSecrets({
      read,
      inUse: (await read()).mark,
      async onChanged(secrets) {
        world.offered.push(secrets.keys[0]!.keys.length);
        if (!world.accepts) throw new Error('refused');
        world.used.push(secrets);
      },
      onError: () => world.errors++,
      timers,
    });
    return { stop: () => watching.stop(), world, look: () => timers.advance(LOOK_MS) };
  }

  function addKey(): void {
    const added = generateKey('zsk', 'published', NOW, new Set());
    updateKeys(dataDir, ZONE, Date.now, (keys) => ({ keys: { ...keys, keys: [...keys.keys, added] } }));
  }

  it('passes changed keys on once, and unchanged keys never', async () => {
    const { world, look, stop } = await watch();
    await look();
    assert.deepEqual(world.offered, []);
    addKey();
    for (let i = 0; i < 3; i++) await look();
    assert.deepEqual(world.offered, [3]);
    assert.equal(world.used.length, 1);
    await stop();
  });

  it('offers a refused change again, until it is in use (finding R8)', async () => {
    const { world, look, stop } = await watch();
    addKey();
    world.accepts = false;
    for (let i = 0; i < 3; i++) await look();
    assert.deepEqual(world.offered, [3, 3, 3]);
    assert.equal(world.errors, 1, 'one report for a fault that lasts');
    world.accepts = true;
    for (let i = 0; i < 3; i++) await look();
    assert.deepEqual(world.offered, [3, 3, 3, 3]);
    assert.equal(world.used.length, 1);
    await stop();
  });

  it('keeps the keys in use while a file is damaged or gone, makes no new ones, and uses the next good file', async () => {
    const { world, look, stop } = await watch();
    const path = keyFile(dataDir, ZONE);
    writeFileSync(path, '{');
    await look();
    rmSync(path);
    await look();
    assert.deepEqual([world.offered, world.errors], [[], 1]);
    loadKeys(dataDir, ZONE, () => NOW);
    await look();
    assert.deepEqual([world.offered, world.errors], [[2], 1]);
    writeFileSync(path, '{');
    await look();
    assert.equal(world.errors, 2, 'another fault after a success is reported');
    await stop();
  });

  it('reads nothing after it is stopped', async () => {
    const { world, look, stop } = await watch();
    addKey();
    await stop();
    await look();
    assert.deepEqual(world.offered, []);
  });
});

it('key tags are reported while a start without control would have the keys, in both modes', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-tags-'));
  const { keys: all } = loadKeys(dataDir, ZONE, () => NOW);
  const ordered = (tags: readonly number[] = []): number[] => tags.toSorted((a, b) => a - b);
  const tags = ordered(all.map(({ keyTag }) => keyTag));
  for (const mode of ['full', 'split'] as const) {
    const source = controlSecrets({
      keys: fileZoneKeys(dataDir, () => NOW),
      zones: [ZONE],
      mode,
      cookieKey: Buffer.alloc(32),
      ticketKey: null,
      clock: () => NOW,
    });
    const { keys } = (await readSecrets(source, [ZONE])()).secrets;
    for (const from of [{}, { isKept: () => true }]) {
      assert.deepEqual(ordered(reportedTags(from, keys)[ZONE]), tags);
    }
    assert.deepEqual(reportedTags({ isKept: () => false }, keys), {});
  }
  rmSync(dataDir, { recursive: true });
});
