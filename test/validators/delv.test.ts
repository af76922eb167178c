import { after, before, describe, it } from 'node:test';
import { CASES, FEW_CASES } from './cases.ts';
import { skipWithout } from './daemon.ts';
import { DELV, startOneShot } from './one-shot.ts';
import { play, playBogus, wrongDs } from './play.ts';
import { startWorld, type World, ZONES } from './world.ts';

describe('delv', { skip: skipWithout(DELV.program, DELV.debian) }, () => {
  let world: World;
  before(async () => {
    world = await startWorld('full');
  });
  after(() => world.remove());

  for (const zone of ZONES) {
    const cases = zone === ZONES[0] ? CASES : FEW_CASES;

    it(`believes ${zone} with the DS that the command line prints`, async () => {
      const port = world.server.ports.dns;
      const delv = startOneShot(DELV, { anchors: world.ds(zone), zone, port });
      await play(delv, cases, { zone, token: world.token, declines: DELV.declines });
      await delv.stop();
    });

    it(`believes nothing of ${zone} with another DS`, async () => {
      const port = world.server.ports.dns;
      const delv = startOneShot(DELV, { anchors: wrongDs(world.ds(zone)), zone, port });
      await playBogus(delv, FEW_CASES, { zone, token: world.token });
      await delv.stop();
    });
  }
});
