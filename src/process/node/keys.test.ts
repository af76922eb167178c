import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { keyFile, loadKeys, updateKeys } from '../../dns/dnssec/key-files.ts';
import { generateKey, type KeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { DNSKEY_TTL } from '../../dns/dnssec/signer.ts';
import { COOKIE_PERIOD_MS, TICKET_PERIOD_MS } from '../../feed/ports/node-keys.ts';
import { controlSecrets, fileZoneKeys } from '../zone-keys/control-secrets.ts';
import { LOOK_MS, readSecrets, watchAnsweredKeys, watchSecrets } from './keys.ts';

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
    const world = {
      now: NOW,
      accepts: true,
      /** How many keys. */
      offered: [] as number[],
      used: 0,
      /** Of which day and half day. */
      periods: [] as (readonly [number, number])[],
      errors: 0,
    };
    const source = controlSecrets({
      keys: fileZoneKeys(dataDir, () => NOW),
      zones: [ZONE],
      mode: 'full',
      cookieKey: Buffer.alloc(32),
      ticketKey: Buffer.alloc(32),
      clock: () => world.now,
    });
    const read = readSecrets(source, [ZONE]);
    const timers = createManualTimers();
    const watching = watchSecrets({
      read,
      inUse: (await read()).marks,
      async onKeys(keys) {
        world.offered.push(keys[0]!.keys.length);
        if (!world.accepts) throw new Error('refused');
        world.used++;
      },
      async onPeriods({ cookies, tickets }) {
        world.periods.push([cookies[1]!.period, tickets[1]!.period]);
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
    assert.equal(world.used, 1);
    assert.deepEqual(world.periods, []);
    await stop();
  });

  it('passes other secrets of cookies and tickets on once, without keys that stay, and beside keys that are refused', async () => {
    const { world, look, stop } = await watch();
    const day = NOW / COOKIE_PERIOD_MS;
    for (const now of [NOW + TICKET_PERIOD_MS, NOW + COOKIE_PERIOD_MS]) {
      world.now = now;
      for (let i = 0; i < 3; i++) await look();
    }
    assert.deepEqual(world.periods, [
      [day, 2 * day + 1],
      [day + 1, 2 * day + 2],
    ]);
    assert.deepEqual(world.offered, []);
    addKey();
    world.accepts = false;
    world.now = NOW + 2 * COOKIE_PERIOD_MS;
    for (let i = 0; i < 3; i++) await look();
    assert.deepEqual(world.periods.slice(2), [[day + 2, 2 * day + 4]]);
    assert.deepEqual(world.offered, [3, 3, 3]);
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
    assert.equal(world.used, 1);
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
