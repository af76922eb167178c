import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../e2e/client.ts';
import { CASES, FEW_CASES } from './cases.ts';
import { skipWithout, startDaemon, type Validator, versionOf } from './daemon.ts';
import { DAEMONS } from './daemons.ts';
import { DELV, DRILL, startOneShot } from './one-shot.ts';
import { play, playBogus, wrongDs } from './play.ts';
import { SMALL, startWorld, type World, ZONES } from './world.ts';

/** A hanging resolver or server must not block the other tests. */
const LIMIT = { timeout: 300_000 };

for (const signing of ['full', 'split'] as const) {
  describe(`signing ${signing}`, LIMIT, () => {
    let world: World;
    let anchors: string[];
    before(async () => {
      world = await startWorld(signing);
      anchors = ZONES.flatMap((zone) => world.ds(zone));
    });
    after(() => world.remove());

    async function using(
      validator: Validator,
      check: (validator: Validator) => Promise<void>,
    ): Promise<void> {
      try {
        await check(validator);
      } finally {
        await validator.stop();
      }
    }

    for (const daemon of DAEMONS) {
      const { name, program, debian, version, insists, minTtl, declines } = daemon;
      describe(name, { skip: skipWithout(program, debian) }, () => {
        const begin = (trusted: readonly string[]) =>
          startDaemon(daemon, { anchors: trusted, direct: { zones: ZONES, port: world.server.ports.dns } });

        if (insists && signing === 'split') {
          it('believes nothing where not all algorithms sign, as RFC 4035 section 2.2 has it', async () => {
            await using(await begin(anchors), (validator) =>
              playBogus(validator, FEW_CASES, { zone: ZONES[0], token: world.token }),
            );
          });
          return;
        }

        it('believes every answer', async (t) => {
          t.diagnostic(`${program} ${versionOf(program, version)}`);
          await using(await begin(anchors), async (validator) => {
            const { token } = world;
            await play(validator, CASES, { zone: ZONES[0], token, minTtl, declines });
            await play(validator, FEW_CASES, { zone: ZONES[1], token, minTtl, declines });
            // The second time it answers from its cache.
            await play(validator, CASES, { zone: ZONES[0], token, minTtl, declines });
          });
        });

        it('sees a record end', async () => {
          await using(await begin(anchors), async (validator) => {
            const name = `brief-${program.replace('_', '-')}${insists ? '2' : ''}`;
            // On a busy machine the first chain of keys takes longer than four seconds: then the record has ended.
            for (let life = 4; ; life *= 2) {
              const key = `${name}-${life}.open.v1`;
              // Or a little later.
              const endsAt = Date.now() + life * 1_000;
              await world.writeBrief(key, life);
              const question = `get.${key}.${ZONES[0]}`;
              const alive = await validator.ask(question, 'TXT');
              if (Date.now() >= endsAt && life < 32) continue;
              assert.deepEqual([alive.status, alive.payload], ['secure', SMALL]);
              assert.ok((alive.ttl ?? 0) <= Math.max(life, minTtl));
              await eventually(
                async () => {
                  const { status, records } = await validator.ask(question, 'TXT');
                  return status === 'secure' && records === 0;
                },
                life * 1_000 + 15_000,
              );
              return;
            }
          });
        });

        it('believes nothing with another DS', async () => {
          await using(await begin(wrongDs(anchors)), async (validator) => {
            for (const zone of ZONES) await playBogus(validator, FEW_CASES, { zone, token: world.token });
          });
        });
      });
    }

    for (const program of [DELV, DRILL]) {
      const { declines, isBlind } = program;
      describe(program.name, { skip: skipWithout(program.program, program.debian) }, () => {
        it('believes every answer', async (t) => {
          t.diagnostic(`${program.program} ${versionOf(program.program, program.version)}`);
          for (const zone of ZONES) {
            const port = world.server.ports.dns;
            await using(startOneShot(program, { anchors: world.ds(zone), zone, port }), (validator) =>
              play(validator, CASES, { zone, token: world.token, declines, isBlind }),
            );
          }
        });

        it('believes nothing with another DS', async () => {
          const zone = ZONES[0];
          const wrong = wrongDs(world.ds(zone));
          await using(
            startOneShot(program, { anchors: wrong, zone, port: world.server.ports.dns }),
            (validator) => playBogus(validator, FEW_CASES, { zone, token: world.token }),
          );
        });
      });
    }
  });
}
