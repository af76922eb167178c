import type { MemoryState } from '../support/view/memory-view.ts';
import { type Counters, createCounters } from './counters.ts';
import { satisfied } from './customers/satisfied.ts';
import { DATABASE_HARMS, FAILOVER, type Harm } from './database-harms.ts';
import { isTroubled } from './disk.ts';
import { HARMS } from './harms.ts';
import { difference, InvariantError } from './invariants.ts';
import { createRandom, pickWeighted, type Random } from './random.ts';
import { shapeOf } from './shape.ts';
import { createWorld, type World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** In only these of the storm's steps something happens, in the others time passes: for the shortest run that still fails. */
  readonly only?: readonly number[] | null;
  readonly trace?: (text: string) => void;
  readonly counters?: Counters;
}

/** What customers do in a step: often nothing, and sometimes much at once. */
const ACTS = [0, 0, 1, 2, 4, 8];
/** After the last fault all views are equal within this time. */
const REST_MS = 4_000;
/** And usage has arrived: hourly keys whose delivery was lost come again after a minute, and an unanswered batch after eight seconds more. */
const USAGE_MS = 80_000;
const LOOK_MS = 250;
/** What was asked for in a step is under way for so long, and so is the rebuild of a view. */
const MEANWHILE_MS = 60;
/** The fan-out passes a change within a second, and upkeep erases what it replaced within another. */
const ERASED_MS = 8_000;
/** Nodes find that they lack something within two seconds. */
const READ_ON_MS = 3_000;
const LOOKS = 50;
/** Until who begins to publish has read where the log ends. */
const LEADING_MS = 500;
/** Answers wait in workers for a second, and in memory for two looks at the spool. */
const STARTED_MS = 1_000;
const SPOOLED_MS = 8_000;
/** Longer than the first look of a process that could not read its spool. */
const UNREAD_MS = 4_000;
/** Where keys are rolled: everything sleeps after so many steps, and is watched for so long afterwards. */
const ROLLING_STEPS = 5;
const ROLLING_SECONDS = 180;
/** After the first of these keys are published, and after the last one they may sign. */
const AWAY_SLEEPS = 3;
const CUT_SECONDS = 20;
/** A new key signs once nodes have answered it for so long; a minute where limits are small. */
const READY_MS = 3_700_000;

/** Runs one seed to its end. @throws InvariantError */
export async function simulate({
  seed,
  only = null,
  trace,
  counters = createCounters(),
}: SimulationOptions): Promise<void> {
  const harms = harmsOf(createRandom(seed, 10));
  const { restoredAfter, failsOver } = shapeOf(seed);
  const mayBeRestored = harms.includes(RESTORE) || restoredAfter !== null || failsOver !== null;
  const world = await createWorld({ seed, counters, mayBeRestored, ...(trace && { trace }) });
  const began = world.scheduler.now();
  try {
    await storm(world, seed, harms, counters, only);
    await rest(world, counters);
  } finally {
    await world.stop();
  }
  counters.count('callbacks', world.scheduler.events);
  counters.count('simulated ms', world.scheduler.now() - began);
}

async function storm(
  world: World,
  seed: number,
  harms: readonly Harm[],
  counters: Counters,
  only: SimulationOptions['only'],
): Promise<void> {
  const { random, scheduler, nodes, controls, usage, publishing } = world;
  const judged = world.customers;
  const customers = createRandom(seed, 7);
  const ends = new Map<string, () => void>();
  let isLate = false;
  const rolling = world.rollsKeys
    ? { away: random.chance(0.5) ? random.pick(nodes).name : null, sleeps: 0 }
    : null;
  for (const control of controls) control.start();
  for (const node of nodes) node.start();
  await scheduler.advance(500);
  void judged.begin();
  await scheduler.advance(1_000);
  const {
    steps,
    sleepsAfter,
    replacedAfter,
    backedUpAfter,
    restoredAfter,
    failsOver,
    losesAcknowledgements,
  } = shapeOf(seed);
  for (let step = 0; step < steps; step++) {
    for (const each of [random, customers, judged]) each.enter(step);
    const ms = random.chance(0.1) ? random.between(500, 3_000) : random.between(1, 300);
    publishing?.enter(step);
    world.log?.enter(step);
    judged.team?.enter(step);
    judged.keeper?.enter(step);
    judged.evaluations?.enter(step);
    if (only?.includes(step) === false) {
      await scheduler.advance(ms);
      continue;
    }
    counters.count('steps');
    for (let left = customers.pick(ACTS); left > 0; left--) judged.act();
    publishing?.perhaps();
    world.log?.perhaps();
    judged.team?.perhaps();
    judged.keeper?.perhaps();
    judged.evaluations?.perhaps();
    for (const node of nodes) {
      if (isTroubled(node.machine.disk)) usage.diskWasFull(node.name);
      node.isAsked();
    }
    if (random.chance(0.25)) begin(world, harms, ends, counters);
    if (step === backedUpAfter) world.database.copy('backup');
    if (step === restoredAfter) begin(world, [RESTORE], ends, counters);
    // One that lacks what the first start makes would need another start.
    if (step === failsOver?.behindAfter && controls.some((control) => control.feed() !== null))
      world.database.copy('standby');
    if (step === failsOver?.after && world.database.copiedAt('standby') !== null) {
      if (random.chance(0.4)) random.pick(nodes).loseView();
      await scheduler.advance(random.between(1, MEANWHILE_MS));
      begin(world, [FAILOVER], ends, counters);
      // Soon there are more changes than were lost.
      for (let left = random.between(0, 8); left > 0; left--) judged.act();
    }
    isLate ||= ends.has(LATE);
    if (random.chance(0.2)) heal(world, ends);
    await scheduler.advance(ms);
    if (step === sleepsAfter) world.pauseUntilTokenEnds();
    if (step === replacedAfter) await replaceAround(world);
    if (rolling !== null && step % ROLLING_STEPS === ROLLING_STEPS - 1) world.pauseHours();
    // Control prunes its log after days: the history reads it before.
    if (rolling !== null) await world.look();
    const pause = world.takePause();
    if (pause > 0) await sleep(world, ends, pause, rolling);
    await world.look();
    await usage.check();
  }
  for (const name of [...ends.keys()]) end(world, ends, name);
  // Whose question or answer is a minute late waits for its time-out: that is the last fault.
  if (isLate) await scheduler.advance(ANSWER_MS);
  if (losesAcknowledgements) await loseUsage(world);
}

function startAll({ controls, nodes }: World): void {
  for (const each of [...controls, ...nodes]) if (!each.isRunning()) each.start();
}

/** No batch of usage arrives, or no acknowledgement, until nodes have them in their spools. Then they start again, and read them, at once or later. */
async function loseUsage(world: World): Promise<void> {
  const { random, scheduler, nodes, usage, customers } = world;
  startAll(world);
  await scheduler.advance(STARTED_MS);
  void customers.writeForReads();
  await scheduler.advance(STARTED_MS);
  world.usageLoss = random.pick(['batch', 'acknowledgement']);
  for (const node of nodes) node.isAskedPrivately();
  await scheduler.advance(SPOOLED_MS);
  const isUnreadable = random.chance(0.5);
  for (const node of nodes) {
    if (!node.isRunning()) continue;
    world.killed(node);
    node.kill();
    if (isUnreadable) {
      node.machine.disk.isUnreadable = true;
      usage.diskWasFull(node.name);
    }
    node.start();
  }
  await scheduler.advance(UNREAD_MS);
  world.usageLoss = null;
  for (const { machine } of nodes) machine.disk.isUnreadable = false;
}

/**
 * Records are replaced, and their namespaces opened and closed, while nodes cannot follow: they hear nothing until the log and the stream have lost what
 * was replaced, or they have lost their views, and read pages of the tables meanwhile.
 */
async function replaceAround(world: World): Promise<void> {
  const { broker, scheduler, nodes, customers, random } = world;
  const isCut = random.chance(0.5);
  if (isCut) {
    for (const { name } of nodes) broker.cut(name);
    void customers.replaceAll();
    await scheduler.advance(ERASED_MS);
    broker.purge(Number.POSITIVE_INFINITY);
    for (const { name } of nodes) broker.heal(name);
  } else for (const node of nodes) node.loseView();
  customers.disturbed();
  for (let look = 0; look < LOOKS; look++) {
    if (!isCut && look % 16 === 0) void customers.replaceAll();
    for (const node of nodes) node.isAsked();
    await scheduler.advance(READ_ON_MS / LOOKS);
  }
}

const LATE = 'network: messages come up to a minute late';
const ANSWER_MS = 10_000;
const RESTORE = DATABASE_HARMS.find(({ name }) => name === 'database: is restored')!;

function begin(
  world: World,
  harms: readonly Harm[],
  ends: Map<string, () => void>,
  counters: Counters,
): void {
  const harm = pickWeighted(harms, world.random);
  // One of a kind at once.
  if (ends.has(harm.name)) return;
  world.trace(`begins: ${harm.name}`);
  world.customers.disturbed();
  counters.count(`harm ${harm.name}`);
  const stop = harm.begin(world);
  if (stop !== null) ends.set(harm.name, stop);
}

/** What can go wrong in this seed: few kinds in most, so that each meets each in some. */
function harmsOf(random: Random): readonly Harm[] {
  const part = random.pick([0.15, 0.4, 1]);
  const some = HARMS.filter(() => random.chance(part));
  return some.length === 0 ? HARMS : some;
}

function heal(world: World, ends: Map<string, () => void>): void {
  const names = [...ends.keys()];
  if (names.length > 0) end(world, ends, world.random.pick(names));
}

function end(world: World, ends: Map<string, () => void>, name: string): void {
  world.trace(`ends: ${name}`);
  world.customers.disturbed();
  ends.get(name)!();
  ends.delete(name);
}

/** Everything is dead for hours: the stream forgets, keys are destroyed. */
async function sleep(
  world: World,
  ends: Map<string, () => void>,
  ms: number,
  rolling: Rolling | null,
): Promise<void> {
  const { scheduler, broker } = world;
  await scheduler.advance(ms);
  if (ms > 7_200_000) broker.purge(Number.POSITIVE_INFINITY);
  for (const name of [...ends.keys()]) if (name.startsWith('clock')) end(world, ends, name);
  // On the embedded engine each start of a dispatcher ends the leases of all: what another one sends meanwhile is sent again.
  world.customers.disturbed();
  if (rolling === null) startAll(world);
  else await startRolling(world, rolling);
}

/** Where keys are rolled: a node that control does not reach while new ones are published. */
interface Rolling {
  readonly away: string | null;
  sleeps: number;
}

/**
 * After a sleep, where keys are rolled. The node that is away starts with the copy of its keys, and hears of new ones once they may sign, when resolvers
 * have learned the earlier ones from it. A step of a rollover waits until all nodes have told their keys, and looks again after a minute.
 */
async function startRolling(world: World, rolling: Rolling): Promise<void> {
  const { random, scheduler, broker, nodes } = world;
  const { away } = rolling;
  if (away !== null && ++rolling.sleeps <= AWAY_SLEEPS) broker.cut(away);
  startAll(world);
  for (let second = 0; second < ROLLING_SECONDS; second++) {
    if (away !== null && rolling.sleeps === AWAY_SLEEPS && second === CUT_SECONDS) broker.heal(away);
    for (const node of nodes) node.isAsked();
    await scheduler.advance(1_000);
    await world.look();
  }
  if (random.chance(0.3)) await scheduler.advance(READY_MS);
}

/** Without faults all views become equal, the stream is whole, and usage arrives. */
async function rest(world: World, counters: Counters): Promise<void> {
  const { scheduler, nodes, truth, usage } = world;
  startAll(world);
  world.trace('rest');
  const began = scheduler.now();
  for (;;) {
    await scheduler.advance(LOOK_MS);
    await world.look();
    const tables = await truth.tables();
    // One that began to start while the database was slow is waited for too.
    const starting = world.controls.filter((control) => control.feed() === null);
    const wrong = [
      ...starting.map(({ name }) => `${name} is not up`),
      ...nodes.map((node) => differs(node, tables, scheduler.now())),
    ].find((text) => text !== null);
    if (wrong === undefined) break;
    if (scheduler.now() - began > REST_MS)
      throw new InvariantError(`not at rest after ${REST_MS} ms: ${wrong}`);
  }
  const restMs = scheduler.now() - began;
  counters.count(`at rest within ${Math.ceil(restMs / 1_000)} s`);
  world.checkStream();
  const miscounted = await truth.miscounted();
  if (miscounted.length > 0) throw new InvariantError(`records are counted wrong: ${miscounted.join(', ')}`);
  // A batch without an acknowledgement has perhaps been added, and comes again: what that adds is seen too.
  for (let [missing, unacknowledged] = [1, 0]; missing > 0 || unacknowledged > 0; ) {
    missing = await usage.missing();
    unacknowledged = nodes.reduce((sum, node) => sum + node.unacknowledged(), 0);
    await scheduler.advance(LOOK_MS);
    if (scheduler.now() - began > USAGE_MS)
      throw new InvariantError(`usage: ${missing} answers are missing, ${unacknowledged} unacknowledged`);
  }
  await usage.check();
  await satisfied(world);
  await usage.check();
  await published(world, began);
  await world.look();
  for (const { machine } of nodes) counters.count('spool read', machine.disk.spoolsRead);
}

/** What is committed after the last fault, and once somebody has begun to publish, is in the stream. */
async function published(world: World, restedAt: number): Promise<void> {
  const { scheduler, truth, look, streamEnd } = world;
  for (const began = scheduler.now(); ; await scheduler.advance(LOOK_MS)) {
    await look();
    const { epoch, head, changedAt } = truth;
    const end = streamEnd();
    const isOwed = changedAt > Math.max(restedAt, world.leadingSince) + LEADING_MS;
    if (!isOwed || (end?.epoch === epoch && end.to === head)) return;
    if (scheduler.now() - began > REST_MS)
      throw new InvariantError(`the stream ends with ${end?.to} of ${end?.epoch} for ${head} of ${epoch}`);
  }
}

function differs(node: World['nodes'][number], tables: MemoryState, now: number): string | null {
  const view = node.serving();
  if (view === null) return `${node.name} does not serve`;
  const found = difference(view.state, tables, now);
  return found === null ? null : `${node.name}: ${found}`;
}
