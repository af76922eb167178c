import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { dsText, type KeySet, keysAtParent } from '../../dns/dnssec/key-set.ts';
import { type AutomaticRollover, type KeyDays, startAutomaticRollover } from './automatic-rollover.ts';
import { fileZoneKeys, type ZoneKeys } from './control-secrets.ts';

const ZONE = 'uqrp.net';
const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAYS: KeyDays = { zsk: 90, ksk: 365 };
/** For tests of the KSK: hours are counted one by one. */
const EARLY_KSK: KeyDays = { zsk: 3650, ksk: 15 };

/** A process with automatic rollover, its clock, and the zone's parent. */
interface World {
  readonly timers: ManualTimers;
  readonly keys: ZoneKeys;
  readonly rollover: AutomaticRollover;
  /** `zsk publish`, `ksk waits for parent`, ... in order. */
  readonly said: string[];
  /** One list of DS for each resolver; null: it does not answer. */
  parent: (() => readonly string[] | null)[];
  behind: number;
  /** The keys of one role: `active published`. */
  readonly states: (role: 'zsk' | 'ksk') => Promise<string>;
  /** All DS that the zone wants, as a parent that follows CDS has them. */
  readonly wanted: () => Promise<readonly string[]>;
}

async function inWorld(
  scenario: (world: World) => Promise<void>,
  { days = DAYS, zones = [ZONE] }: { days?: KeyDays | null; zones?: readonly string[] } = {},
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-rollover-'));
  const timers = createManualTimers();
  const clock = (): number => START + timers.now;
  const keys = fileZoneKeys(dataDir, clock);
  for (const zone of zones) await keys.load(zone);
  const said: string[] = [];
  const world: World = {
    timers,
    keys,
    said,
    parent: [() => null],
    behind: 0,
    rollover: startAutomaticRollover({
      keys,
      zones,
      days,
      parentDs: async () => world.parent.map((ask) => ask()).filter((lines) => lines !== null),
      nodesBehind: () => world.behind,
      clock,
      onStep: (role, step) => said.push(`${role} ${step}`),
      onWaiting: (role, _step, wait) => said.push(`${role} waits for ${wait}`),
      onError: (error) => said.push((error as Error).message),
      timers,
    }),
    async states(role) {
      const { keys: all } = await keys.load(ZONE);
      return all
        .filter((key) => key.role === role)
        .map(({ state }) => state)
        .sort()
        .join(' ');
    },
    wanted: async () => linesOf(await keys.load(ZONE)),
  };
  try {
    await scenario(world);
  } finally {
    await world.rollover.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function linesOf(set: KeySet): readonly string[] {
  return keysAtParent(set).map((key) => dsText(set.zone, key));
}

describe('automatic rollover', () => {
  it('replaces a ZSK after its days, step by step, and begins again after as many', () =>
    inWorld(async ({ timers, said, states }) => {
      await timers.advance(90 * DAY - HOUR);
      assert.deepEqual(said, []);
      await timers.advance(HOUR);
      assert.deepEqual(said.splice(0), ['zsk publish']);
      assert.equal(await states('zsk'), 'active published');
      await timers.advance(3 * HOUR);
      assert.deepEqual(said.splice(0), ['zsk switch']);
      await timers.advance(7 * DAY - HOUR);
      assert.equal(await states('zsk'), 'active retired');
      await timers.advance(HOUR);
      assert.deepEqual(said.splice(0), ['zsk remove']);
      assert.equal(await states('zsk'), 'active');
      await timers.advance(83 * DAY);
      assert.deepEqual(said, ['zsk publish']);
    }));

  it('replaces a KSK once its parent follows CDS, and takes each step only when the resolvers show it', () =>
    inWorld(
      async (world) => {
        const { timers, said, states, wanted } = world;
        let atParent = await wanted();
        const old = atParent;
        world.parent = [() => atParent, () => atParent];
        await timers.advance(15 * DAY);
        const ksk = (): string[] => said.splice(0);
        assert.deepEqual(ksk(), ['ksk publish']);
        await timers.advance(2 * HOUR);
        assert.deepEqual(ksk(), ['ksk waits for parent', 'ksk waits for parent']);
        // One resolver still has the old DS alone.
        const both = await wanted();
        assert.equal(both.length, 2);
        world.parent = [() => both, () => old];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk waits for parent']);
        atParent = both;
        world.parent = [() => both, () => null];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk ds-added']);
        await timers.advance(23 * HOUR);
        assert.deepEqual(ksk(), []);
        // The parent took the new DS back: a switch now would make the zone fail.
        world.parent = [() => old];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk waits for parent']);
        assert.equal(await states('ksk'), 'active published');
        world.parent = [() => both];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk switch']);
        await timers.advance(2 * HOUR);
        assert.deepEqual(ksk(), ['ksk withdraw']);
        await timers.advance(7 * DAY + 2 * HOUR);
        assert.ok(ksk().every((line) => line === 'ksk waits for parent'));
        // An empty answer is no proof that the old DS went and the new one stayed.
        world.parent = [() => []];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk waits for parent']);
        const last = await wanted();
        assert.equal(last.length, 1);
        world.parent = [() => last.map((line) => line.toLowerCase())];
        await timers.advance(HOUR);
        assert.deepEqual(ksk(), ['ksk remove']);
        assert.equal(await states('ksk'), 'active');
        assert.notDeepEqual(last, old);
      },
      { days: EARLY_KSK },
    ));

  it('waits while no resolver answers, and says so in its status', () =>
    inWorld(
      async ({ timers, said, rollover }) => {
        await timers.advance(15 * DAY + HOUR);
        assert.deepEqual(said, ['ksk publish', 'ksk waits for resolvers']);
        const ksk = rollover.status().find(({ role }) => role === 'ksk');
        assert.deepEqual(ksk, { role: 'ksk', signsSince: START, waits: true });
      },
      { days: EARLY_KSK },
    ));

  it('does not let a key sign while a node has not reported it, and looks again after a minute', () =>
    inWorld(async (world) => {
      const { timers, said, states } = world;
      await timers.advance(90 * DAY);
      world.behind = 1;
      await timers.advance(3 * HOUR);
      assert.ok(said.includes('zsk waits for nodes') && !said.includes('zsk switch'));
      world.behind = 0;
      await timers.advance(60_000);
      assert.equal(said.at(-1), 'zsk switch');
      assert.equal(await states('zsk'), 'active retired');
    }));

  it('does what is due at its start', () =>
    inWorld(async ({ timers, keys, rollover, states }) => {
      await timers.advance(0);
      await rollover.stop();
      await timers.advance(200 * DAY);
      const said: string[] = [];
      const again = startAutomaticRollover({
        keys,
        zones: [ZONE],
        days: DAYS,
        parentDs: async () => [],
        nodesBehind: () => 0,
        clock: () => START + timers.now,
        onStep: (role, step) => said.push(`${role} ${step}`),
        onWaiting: () => {},
        onError: assert.ifError,
        timers,
      });
      await timers.advance(0);
      await again.stop();
      assert.deepEqual(said, ['zsk publish']);
      assert.equal(await states('zsk'), 'active published');
    }));

  it('only looks when it is off', () =>
    inWorld(
      async ({ timers, said, rollover, states }) => {
        await timers.advance(100 * DAY);
        assert.deepEqual(said, []);
        assert.equal(await states('zsk'), 'active');
        assert.deepEqual(
          rollover.status().map(({ signsSince, waits }) => [signsSince, waits]),
          [
            [START, false],
            [START, false],
          ],
        );
      },
      { days: null },
    ));

  it('goes on with the other zones when one has unusable keys', () =>
    inWorld(
      async (world) => {
        const { timers, said, keys } = world;
        const load = keys.load.bind(keys);
        keys.load = async (zone) => {
          if (zone === 'bad.org') throw new Error('unusable');
          return load(zone);
        };
        await timers.advance(90 * DAY);
        assert.equal(said.filter((line) => line === 'zsk publish').length, 1);
        assert.ok(said.includes('unusable'));
      },
      { zones: ['bad.org', ZONE] },
    ));
});
