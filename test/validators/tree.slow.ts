import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CASES, FEW_CASES } from './cases.ts';
import { skipWithout, startDaemon } from './daemon.ts';
import { DAEMONS, UNBOUND } from './daemons.ts';
import { DRILL, startOneShot } from './one-shot.ts';
import { play, playBogus, wrongDs } from './play.ts';
import { CHILD_ADDRESS, PARENT_ADDRESS, plantTree, skipWithoutNetwork, type Tree } from './tree.ts';
import { startWorld, type World, ZONES } from './world.ts';

/** A resolver or a server that hangs must not hold up the rest. */
const LIMIT = { timeout: 180_000 };

describe('by way of the root', { skip: await skipWithoutNetwork(), ...LIMIT }, () => {
  let world: World;
  let tree: Tree;
  let rightDs: ReadonlyMap<string, readonly string[]>;

  before(async () => {
    world = await startWorld('full', {
      // On every address: the tests write and look at 127.0.0.1, resolvers come to the address of the delegation.
      UQRP_HOST: '0.0.0.0',
      UQRP_DNS_PORT: '53',
      UQRP_NS: `ns1=${CHILD_ADDRESS},ns2=${CHILD_ADDRESS}`,
    });
    rightDs = new Map(ZONES.map((zone) => [zone, world.ds(zone)]));
    tree = await plantTree(rightDs);
  });
  after(async () => {
    await tree?.stop();
    await world?.remove();
  });

  for (const daemon of DAEMONS) {
    const { name, program, debian, minTtl, declines } = daemon;
    const begin = () => startDaemon(daemon, { anchors: tree.anchors, direct: null, root: PARENT_ADDRESS });

    describe(name, { skip: skipWithout(program, debian) }, () => {
      it('believes every answer', async () => {
        const validator = await begin();
        try {
          for (const zone of ZONES) {
            // Twice: from the server, and from its cache.
            await play(validator, CASES, { zone, token: world.token, minTtl, declines });
            await play(validator, CASES, { zone, token: world.token, minTtl, declines });
          }
          const { status, records } = await validator.ask(ZONES[0], 'DS');
          assert.deepEqual([status, records], ['secure', 1]);
        } finally {
          await validator.stop();
        }
      });
    });
  }

  it('drill -S builds the whole chain from the answer up to the root', {
    skip: skipWithout(UNBOUND.program, UNBOUND.debian) || skipWithout(DRILL.program, DRILL.debian),
  }, async () => {
    const resolver = await startDaemon(UNBOUND, {
      anchors: tree.anchors,
      direct: null,
      root: PARENT_ADDRESS,
    });
    const drill = startOneShot(DRILL, { anchors: tree.anchors, zone: ZONES[0], port: resolver.port });
    try {
      const { declines, isBlind } = DRILL;
      await play(drill, FEW_CASES, { zone: ZONES[0], token: world.token, declines, isBlind });
    } finally {
      await drill.stop();
      await resolver.stop();
    }
  });

  describe('with another DS at the parents', () => {
    before(() => tree.delegate(new Map([...rightDs].map(([zone, lines]) => [zone, wrongDs(lines)]))));

    for (const daemon of DAEMONS) {
      it(`${daemon.name} believes nothing`, {
        skip: skipWithout(daemon.program, daemon.debian),
      }, async () => {
        const validator = await startDaemon(daemon, {
          anchors: tree.anchors,
          direct: null,
          root: PARENT_ADDRESS,
        });
        try {
          for (const zone of ZONES) await playBogus(validator, FEW_CASES, { zone, token: world.token });
        } finally {
          await validator.stop();
        }
      });
    }
  });
});
