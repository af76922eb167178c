import { SUBJECTS } from '../../src/feed/bus/bus.ts';
import { DATABASE_HARMS, type Harm } from './database-harms.ts';
import { CONTROLS, type World } from './world.ts';

const pickNode = (world: World) => world.random.pick(world.nodes);
const pickControl = (world: World) => world.random.pick(world.controls);
const HOUR_MS = 3_600_000;

export const HARMS: readonly Harm[] = [
  {
    name: 'network: loses, repeats and delays',
    weight: 6,
    begin({ broker, random }) {
      const chance = (most: number): number => random.next() * most;
      broker.faults = {
        drop: chance(0.4),
        duplicate: chance(0.4),
        delayMs: random.between(1, 400),
        appendLost: chance(0.2),
        ackLost: chance(0.2),
      };
      return () => {
        broker.faults = { drop: 0, duplicate: 0, delayMs: 5, appendLost: 0, ackLost: 0 };
      };
    },
  },
  {
    name: 'network: tears messages',
    weight: 2,
    begin(world) {
      const { broker, random } = world;
      broker.bend = (subject, data, to) => {
        if (!random.chance(0.2) || data.length === 0) return data;
        // A publisher that cannot read the stream's end goes on behind it, at the head of the log.
        if (subject === SUBJECTS.log && CONTROLS.includes(to)) world.mayHaveGaps = true;
        if (random.chance(0.5)) return data.subarray(0, random.between(0, data.length - 1));
        const bent = Uint8Array.from(data);
        bent[random.between(0, bent.length - 1)]! ^= 1 << random.between(0, 7);
        return bent;
      };
      return () => {
        broker.bend = (_subject, data) => data;
      };
    },
  },
  {
    name: 'network: an end is cut off',
    weight: 5,
    begin({ broker, random, nodes, controls }) {
      const { name } = random.pick([...nodes, ...controls]);
      broker.cut(name);
      return () => broker.heal(name);
    },
  },
  {
    name: 'network: one way is cut, and nobody knows',
    weight: 4,
    begin({ broker, random, nodes, controls }) {
      const { name } = random.pick([...nodes, ...controls]);
      const way = random.pick(['out', 'in'] as const);
      broker.silent[way].add(name);
      return () => broker.silent[way].delete(name);
    },
  },
  {
    name: 'network: a connection is half open',
    weight: 3,
    begin({ broker: { silent }, random, nodes, controls }) {
      const { name } = random.pick([...nodes, ...controls]);
      for (const way of [silent.out, silent.in]) way.add(name);
      return () => {
        for (const way of [silent.out, silent.in]) way.delete(name);
      };
    },
  },
  {
    name: 'network: two ends do not reach one another',
    weight: 4,
    begin({ broker, random, nodes, controls }) {
      const one = random.pick(nodes).name;
      const other = random.pick(controls).name;
      broker.isParted = (from, to) => (from === one && to === other) || (from === other && to === one);
      return () => {
        broker.isParted = () => false;
      };
    },
  },
  {
    name: 'network: messages come up to a minute late',
    weight: 2,
    begin({ broker }) {
      broker.faults = { ...broker.faults, late: 0.05 };
      return () => {
        broker.faults = { ...broker.faults, late: 0 };
      };
    },
  },
  {
    name: 'stream: a replica is behind',
    weight: 2,
    begin(world) {
      const { broker, random, nodes, controls } = world;
      const { name } = random.pick([...nodes, ...controls]);
      broker.behind.set(name, random.between(1, 5));
      noteBare(world);
      return () => broker.behind.delete(name);
    },
  },
  {
    name: 'broker: stops',
    weight: 2,
    begin({ broker }) {
      broker.stop();
      return () => broker.start();
    },
  },
  {
    name: 'stream: fails',
    weight: 3,
    begin({ broker }) {
      broker.streamFails = true;
      return () => {
        broker.streamFails = false;
      };
    },
  },
  {
    name: 'stream: old messages are removed',
    weight: 1,
    begin(world) {
      const { broker, random } = world;
      broker.purge((broker.stream.at(-1)?.seq ?? 0) - random.between(0, 5));
      noteBare(world);
      return null;
    },
  },
  {
    name: 'stream: is lost',
    weight: 1,
    begin(world) {
      const { broker, controls } = world;
      const publishing = controls.filter(
        (control) => control.feed()?.now().control?.published != null,
      ).length;
      // Numbers begin again, so that the same one may be right for both.
      if (publishing > 1) world.mayOverlap = true;
      if (publishing > 0) world.wasLost = true;
      broker.loseStream();
      return null;
    },
  },
  {
    name: 'control: is killed',
    weight: 4,
    begin(world) {
      const control = pickControl(world);
      control.kill();
      return () => {
        if (!control.isRunning()) control.start();
      };
    },
  },
  {
    name: 'control: makes a snapshot',
    weight: 2,
    begin({ controls }) {
      for (const control of controls) control.makeSnapshot();
      return null;
    },
  },
  {
    name: 'lock: is lost',
    weight: 2,
    begin({ lock }) {
      lock.revoke();
      return null;
    },
  },
  {
    name: 'lock: two hold it',
    weight: 3,
    begin(world) {
      // The one that goes on may not know yet that the stream was lost.
      if (world.wasLost) world.mayOverlap = true;
      world.lock.steal();
      return null;
    },
  },
  {
    name: 'node: is killed',
    weight: 5,
    begin(world) {
      const node = pickNode(world);
      world.killed(node);
      node.kill();
      return () => {
        if (!node.isRunning()) node.start();
      };
    },
  },
  {
    name: 'node: loses power',
    weight: 2,
    begin(world) {
      const node = pickNode(world);
      world.killed(node);
      node.kill();
      node.machine.disk.powerLoss();
      return () => {
        if (!node.isRunning()) node.start();
      };
    },
  },
  {
    name: 'node: disk is full',
    weight: 2,
    begin(world) {
      const { disk } = pickNode(world).machine;
      disk.isFull = true;
      return () => {
        disk.isFull = false;
      };
    },
  },
  {
    name: 'node: disk is slow',
    weight: 2,
    begin(world) {
      const { disk } = pickNode(world).machine;
      disk.slowMs = world.random.pick([200, 2_000]);
      return () => {
        disk.slowMs = 0;
      };
    },
  },
  {
    name: 'node: disk cannot be read at a start',
    weight: 2,
    begin(world) {
      const node = pickNode(world);
      const { disk } = node.machine;
      disk.isUnreadable = true;
      world.killed(node);
      node.kill();
      node.start();
      return () => {
        disk.isUnreadable = false;
      };
    },
  },
  {
    name: 'node: files of the view are removed',
    weight: 1,
    begin(world) {
      pickNode(world).loseView();
      return null;
    },
  },
  {
    name: 'clock: of a machine is wrong',
    weight: 3,
    begin({ nodes, controls, random }) {
      const { clock } = random.pick([...nodes, ...controls]).machine;
      clock.step(random.pick([-HOUR_MS, -20_000, -3_000, 3_000, 20_000, HOUR_MS]));
      return () => clock.mend();
    },
  },
  {
    name: 'clock: of a machine drifts',
    weight: 2,
    begin({ nodes, controls, random }) {
      const { clock } = random.pick([...nodes, ...controls]).machine;
      clock.drift(random.pick([-0.05, -0.001, 0.001, 0.05]));
      return () => clock.mend();
    },
  },
  {
    name: 'process: is paused',
    weight: 4,
    begin({ nodes, controls, random, usage }) {
      const { machine } = random.pick([...nodes, ...controls]);
      machine.pause();
      // Nor does it write its spool.
      usage.diskWasFull(machine.name);
      return () => machine.resume();
    },
  },
  ...DATABASE_HARMS,
  {
    name: 'everything: is killed, for hours',
    weight: 0.5,
    begin(world) {
      world.pauseHours();
      return null;
    },
  },
];

/**
 * A replica that has none of the messages looks as a stream does whose messages were removed by their age: a publisher that begins then goes on
 * behind it, at the head of the log.
 */
function noteBare(world: World): void {
  const { behind, stream } = world.broker;
  if (CONTROLS.some((name) => behind.has(name) && behind.get(name)! >= stream.length))
    world.mayHaveGaps = true;
}
