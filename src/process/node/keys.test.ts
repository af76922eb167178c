import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { keyFile, loadKeys, updateKeys } from '../../dns/dnssec/key-files.ts';
import { generateKey, type KeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { DNSKEY_TTL } from '../../dns/dnssec/signer.ts';
import { controlSecrets, fileZoneKeys } from '../zone-keys/control-secrets.ts';
import { type LiveSecrets, LOOK_MS, readSecrets, watchAnsweredKeys, watchSecrets } from './keys.ts';

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

describe('keys that a node tells control of', () => {
  const HOUR_MS = DNSKEY_TTL * 1000;
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'uqrp-tags-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  const ordered = (tags: readonly number[] = []): number[] => tags.toSorted((a, b) => a - b);
  const added = (keys: KeySet): KeySet => ({
    ...keys,
    keys: [
      ...keys.keys,
      generateKey('zsk', 'published', NOW, new Set(keys.keys.map(({ keyTag }) => keyTag))),
    ],
  });
  const tagsOf = ({ keys }: KeySet): number[] => ordered(keys.map(({ keyTag }) => keyTag));

  for (const mode of ['full', 'split'] as const) {
    it(`are ready once this start has answered them for the TTL of DNSKEY, each from its own time on (${mode})`, async () => {
      const first = loadKeys(dataDir, ZONE, () => NOW);
      const source = controlSecrets({
        keys: fileZoneKeys(dataDir, () => NOW),
        zones: [ZONE],
        mode,
        cookieKey: Buffer.alloc(32),
        ticketKey: null,
        clock: () => NOW,
      });
      const read = readSecrets(source, [ZONE]);
      let now = 5;
      const answered = watchAnsweredKeys({}, () => now);
      const told = (): number[][] => {
        const { keyTags, readyTags } = answered.report();
        return [ordered(keyTags[ZONE]), ordered(readyTags[ZONE])];
      };
      assert.deepEqual(told(), [[], []]);
      answered.used((await read()).secrets.keys);
      assert.deepEqual(told(), [tagsOf(first), []]);
      now += HOUR_MS - 1;
      assert.deepEqual(told(), [tagsOf(first), []]);
      const second = updateKeys(dataDir, ZONE, Date.now, (keys) => ({ keys: added(keys) })).keys;
      answered.used((await read()).secrets.keys);
      assert.equal(second.keys.length, first.keys.length + 1);
      now += 1;
      assert.deepEqual(told(), [tagsOf(second), tagsOf(first)]);
      now += HOUR_MS - 2;
      assert.deepEqual(told(), [tagsOf(second), tagsOf(first)]);
      now += 1;
      assert.deepEqual(told(), [tagsOf(second), tagsOf(second)]);
    });
  }

  it('are none while a start without control would answer others', () => {
    let isKept = true;
    const answered = watchAnsweredKeys({ isKept: () => isKept }, () => 0);
    answered.used([keySetData(loadKeys(dataDir, ZONE, () => NOW))]);
    assert.equal(answered.report().keyTags[ZONE]!.length, 2);
    isKept = false;
    assert.deepEqual(answered.report(), { keyTags: {}, readyTags: {} });
  });
});
