import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FEW_CASES } from './cases.ts';
import { isInstalled, startDaemon, type Validator } from './daemon.ts';
import { DAEMONS, type Daemon } from './daemons.ts';
import { play } from './play.ts';
import { keyTags, type ParentDs, Rollover, STEPS } from './rollover.ts';
import { startWorld, type World, ZONES } from './world.ts';

const ZONE = ZONES[0];

/** Keys that a step adds to the file. */
const DIFFERENCE: Readonly<Record<string, number>> = {
  publish: 1,
  remove: -1,
  'ds-added': 0,
  switch: 0,
  withdraw: 0,
};

/** A resolver that was started after some step, and what it trusts. */
interface Watcher {
  readonly daemon: Daemon;
  readonly ds: ParentDs;
  readonly startedAfter: string;
  readonly validator: Validator;
}

/** A hanging resolver or server must not block the other tests. */
const LIMIT = { timeout: 300_000 };

for (const signing of ['full', 'split'] as const) {
  // A hardened unbound rejects every answer of `split`: see resolvers.slow.ts.
  const able = DAEMONS.filter(({ insists }) => signing === 'full' || !insists);
  const daemons = able.filter(({ program }) => isInstalled(program));
  const skip = daemons.length === 0 ? 'no resolver is installed' : false;

  describe(`rollovers, signing ${signing}`, { ...LIMIT, skip }, () => {
    let world: World;
    let rollover: Rollover;
    let watchers: Watcher[] = [];
    const lines = new Map<ParentDs, readonly string[]>();

    before(async () => {
      // One worker, so that one answer with the new keys proves the step.
      world = await startWorld(signing, { UQRP_WORKERS: '1' });
      rollover = new Rollover(world.server, ZONE, signing);
      lines.set('old', rollover.wanted());
      await start('start', ['old']);
    });
    after(async () => {
      await Promise.all(watchers.map(({ validator }) => validator.stop()));
      await world.remove();
    });

    /** Starts a new resolver of each kind for each DS rrset, checks that it validates, and keeps it for later steps. */
    async function start(startedAfter: string, sets: readonly ParentDs[]): Promise<void> {
      const direct = { zones: ZONES, port: world.server.ports.dns };
      for (const ds of sets) {
        for (const daemon of daemons) {
          const validator = await startDaemon(daemon, { anchors: lines.get(ds)!, direct });
          watchers.push({ daemon, ds, startedAfter, validator });
        }
      }
      for (const watcher of watchers) await believes(watcher, startedAfter);
    }

    async function believes({ daemon, ds, startedAfter, validator }: Watcher, step: string): Promise<void> {
      const { minTtl } = daemon;
      const cases = [
        ...FEW_CASES,
        // New names: signed after the step, validated with keys cached before it.
        { name: `get.auth-$T.none-${step}.acme.v1`, type: 'TXT', expected: 'denied' },
        { name: `new-${step}`, type: 'A', expected: 'denied' },
      ] as const;
      await assert.doesNotReject(
        play(validator, cases, { zone: ZONE, token: world.token, minTtl }),
        `${daemon.name}, DS ${ds}, started after ${startedAfter}, now after ${step}`,
      );
    }

    it('has resolvers that watch', (t) => {
      t.diagnostic(daemons.map(({ name }) => name).join('; '));
      const missing = able.filter((daemon) => !daemons.includes(daemon));
      if (missing.length > 0)
        t.diagnostic(`not installed: ${missing.map(({ debian }) => debian).join(', ')}`);
    });

    for (const change of STEPS) {
      const { role, step, ds } = change;
      it(`${role} ${step}: believed by those who watched before, and by fresh ones with DS ${ds.join(' or ')}`, async () => {
        const label = `${role}-${step}`;
        const tags = keyTags(world.server, ZONE);
        await rollover.take(change);
        if (label === 'ksk-publish') lines.set('both', rollover.wanted());
        if (label === 'ksk-withdraw') lines.set('new', rollover.wanted());
        assert.equal(keyTags(world.server, ZONE).length - tags.length, DIFFERENCE[step]);

        // Steps are one cache lifetime apart: a resolver has the keys of the previous step or of this one.
        const warm = watchers.filter((watcher) => ds.includes(watcher.ds));
        const gone = watchers.filter((watcher) => !ds.includes(watcher.ds));
        watchers = [];
        await Promise.all(gone.map(({ validator }) => validator.stop()));
        try {
          for (const watcher of warm) await believes(watcher, label);
        } finally {
          await Promise.all(warm.map(({ validator }) => validator.stop()));
        }
        await start(label, ds);
      });
    }

    it('ends with one key of each role, and with another DS than before', () => {
      assert.equal(keyTags(world.server, ZONE).length, 2);
      assert.equal(lines.get('both')!.length, 2);
      assert.deepEqual(
        lines.get('new'),
        lines.get('both')!.filter((line) => !lines.get('old')!.includes(line)),
      );
    });
  });
}
