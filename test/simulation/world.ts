import { LIMITS } from '../../src/base/limits.ts';
import { openBatch } from '../../src/feed/message/batch.ts';
import { verifier as realVerifier } from '../support/feed/batch/messages.ts';
import { createMemoryBroker, type MemoryBroker } from '../support/feed/bus/memory-bus.ts';
import { createTestLock, type TestLock } from '../support/feed/publisher-lock.ts';
import type { ArrivedDelivery, Common, EndpointAnswer } from './common.ts';
import { createControl, type SimulatedControl } from './control.ts';
import type { Counters } from './counters.ts';
import { createJudgedCustomers, type JudgedCustomers } from './customers/judged.ts';
import { createDatabase, type Database } from './database.ts';
import { createPublishing, type Publishing } from './datasets/publishing.ts';
import { createDisk, isTroubled } from './disk.ts';
import type { UsageLoss } from './edge/lossy-usage.ts';
import { createSentMessages } from './edge/sent-messages.ts';
import { createValidator } from './edge/validator.ts';
import { createParent } from './edge/zone-keys.ts';
import { checkedOnce, checksumVerifier, controlSignature } from './feed-secrets.ts';
import { createWitness, InvariantError, type Witness } from './invariants.ts';
import { createDatasetsCheck, type DatasetsCheck } from './model/datasets.ts';
import { createNode, type SimulatedNode } from './node.ts';
import { createMachine, type Machine } from './process.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { shapeOf } from './shape.ts';
import { createRegistryLog, type RegistryLog } from './transparency/registry-log.ts';
import { createTruth, type Truth } from './truth.ts';
import { createUsageLedger, type UsageLedger } from './usage-ledger.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly counters: Counters;
  /** A backup may be put back. */
  readonly mayBeRestored: boolean;
  readonly trace?: (text: string) => void;
}

/** One to three control processes, a database, a broker and one to three nodes with their disks, on one simulated time. */
export interface World {
  readonly scheduler: Scheduler;
  /** Decides what goes wrong. */
  readonly random: Random;
  readonly database: Database;
  readonly broker: MemoryBroker;
  readonly lock: TestLock;
  readonly controls: readonly SimulatedControl[];
  readonly nodes: readonly SimulatedNode[];
  readonly usage: UsageLedger;
  readonly truth: Truth;
  readonly customers: JudgedCustomers;
  /** Null: no operator publishes datasets. */
  readonly publishing: Publishing | null;
  readonly datasets: DatasetsCheck;
  /** Null: what is published goes into no transparency log. */
  readonly log: RegistryLog | null;
  /** What customers' endpoints do with a delivery. */
  endpoint: (delivery: ArrivedDelivery) => EndpointAnswer;
  /** The last sign-in code that was mailed, by address. */
  readonly codes: Map<string, string>;
  readonly trace: (text: string) => void;
  /** Every process that answers is compared with the log. @throws InvariantError */
  readonly look: () => Promise<void>;
  /** A node is about to be killed: what it counted last may be lost. */
  killed(node: SimulatedNode): void;
  /** All processes are killed; hours later they start. Only the end of it runs. */
  pauseHours(): void;
  /** The same until a token is about to end: they are minted for days. */
  pauseUntilTokenEnds(): void;
  /** Hours that have passed with everything dead. */
  takePause(): number;
  /** The keys of the zone are rolled. */
  readonly rollsKeys: boolean;
  /** Keys of a backup are in use: resolvers may hold later ones, and know nothing of these. */
  keysRestored(): void;
  /** What every batch of usage loses. */
  usageLoss: UsageLoss | 'some acknowledgements';
  /** The end of the stream was torn for a publisher: it may lack what control still answers. */
  mayHaveGaps: boolean;
  /** The stream was lost, its numbers too, while one published. */
  wasLost: boolean;
  /** The same while two did, or before a second one did. */
  mayOverlap: boolean;
  /** @throws InvariantError for a gap or an overlap in the stream */
  checkStream(): void;
  /** When somebody began to publish, the last time. */
  leadingSince: number;
  /** Its last batch; null: it has none. */
  readonly streamEnd: () => { readonly epoch: string; readonly to: number } | null;
  stop(): Promise<void>;
}

/** Hours of sleep, in turn: a resolver holds keys over the first two, in which they are published; then the next steps fall due. */
const ROLLING_HOURS = [0.4, 0.2, 2.1, 25, 2.1, 170] as const;
/** Part of the answers whose signatures are checked by cryptography. */
const SIGNATURES_CHECKED = 0.3;
/** Part of the acknowledgements of usage that are lost, where they are. */
const ACKNOWLEDGEMENTS_LOST = 0.4;
/** The control process that makes snapshots. */
const SNAPSHOTS = 'a';
/** Shorter than answers are kept for those who repeat a request. */
const KEPT_MS = 23 * 3_600_000;
/** A node sends no counts that are older, by the hour in which they were counted. */
const SPOOLED_MS = (LIMITS.usageSpoolDays * 24 - 1) * 3_600_000;
/** Noon of a day: no seed depends on the real time. */
const START = Date.UTC(2030, 0, 1, 12);
const NODES = ['n1', 'n2', 'n3'];
/** The edge that has the store itself. */
const INNER = 'e1';
export const CONTROLS: readonly string[] = ['a', 'b', 'c'];

export async function createWorld({
  seed,
  counters,
  mayBeRestored,
  trace = () => {},
}: WorldOptions): Promise<World> {
  const streams = {
    network: 1,
    faults: 2,
    disk: 4,
    customers: 5,
    workload: 7,
    askers: 8,
    acknowledgements: 11,
    publishing: 12,
    team: 13,
    keeper: 14,
    log: 15,
    flags: 16,
    machines: 100,
  };
  const randomOf = (stream: number): Random => createRandom(seed, stream);
  const random = randomOf(streams.faults);
  const shape = shapeOf(seed);
  const { isWhole, rollsKeys, losesAcknowledgements } = shape;
  // Near the end of an hour for some seeds, so that keys change meanwhile.
  const scheduler = createScheduler(START + (random.chance(0.3) ? 3_590_000 : 0));
  const database = await createDatabase(scheduler, `epoch-${seed}`);
  const network = randomOf(streams.network);
  const broker = createMemoryBroker(() => network.next(), scheduler);
  broker.faults = { drop: 0, duplicate: 0, delayMs: 5, appendLost: 0, ackLost: 0 };
  const lock = createTestLock();
  const say = (text: string): void => trace(`${scheduler.now() - START} ${text}`);
  const verifier = isWhole ? checkedOnce(realVerifier) : checksumVerifier;
  const common: Common = {
    scheduler,
    isWhole,
    verifier,
    counters,
    trace: say,
  };
  const disks = randomOf(streams.disk);
  let machines = 0;
  let failure: unknown = null;
  const wrong = (error: unknown): void => {
    failure ??= error;
  };
  const sent = createSentMessages({
    now: scheduler.now,
    wrong,
    operatorKey: controlSignature(isWhole).key.id,
  });
  const machine = (name: string): Machine =>
    createMachine({
      ...common,
      name,
      broker: { connect: (end) => sent.watch(broker.connect(end)) },
      disk: createDisk(disks, scheduler, () => disks.between(1, 8)),
      random: randomOf(streams.machines + machines++),
    });
  const parent = createParent(scheduler.now);
  const ways = randomOf(streams.customers);
  const invitations = new Map<string, string>();
  const nodeNames = NODES.slice(0, shape.nodes);
  const controls: readonly SimulatedControl[] = CONTROLS.slice(0, shape.controls).map((name) =>
    createControl({
      ...common,
      machine: machine(name),
      database,
      lock,
      nodes: nodeNames,
      parent: rollsKeys ? parent : null,
      makesSnapshots: name === SNAPSHOTS,
      transparency: (ports) => log?.ofControl(ports) ?? null,
      webhookSchedule: shape.webhookSchedule,
      deliver: (delivery) => world.endpoint(delivery),
      sendCode: (email, code) => void world.codes.set(email, code),
      sendInvitation: ({ to, token }) => void invitations.set(to, token),
      way: () => ways.next(),
      onLeading() {
        world.leadingSince = scheduler.now();
      },
      wrong,
    }),
  );
  const truth = createTruth(database, scheduler.now);
  const log: RegistryLog | null = shape.isLogged
    ? createRegistryLog({
        ...common,
        database,
        controls,
        random: randomOf(streams.log),
        epoch: () => truth.epoch,
        wrong,
      })
    : null;
  await log?.begin();
  await truth.catchUp();
  const usage = createUsageLedger(scheduler, truth);
  const askers = randomOf(streams.askers);
  const acknowledgements = randomOf(streams.acknowledgements);
  const lossOfUsage = (): UsageLoss => {
    const { usageLoss } = world;
    const isByChance = usageLoss === 'some acknowledgements';
    const some: UsageLoss =
      isByChance && acknowledgements.chance(ACKNOWLEDGEMENTS_LOST) ? 'acknowledgement' : null;
    const loss = isByChance ? some : usageLoss;
    if (loss !== null) counters.count(`${loss} of usage lost`);
    return loss;
  };
  const validator = shape.isSigned
    ? createValidator({
        now: scheduler.now,
        anchors: () => parent.anchors(),
        isSampled: () => askers.chance(SIGNATURES_CHECKED),
      })
    : null;
  const datasets = createDatasetsCheck();
  const customers = createJudgedCustomers({
    scheduler,
    controls,
    random: randomOf(streams.workload),
    count: shape.customers,
    counters,
    schedule: shape.webhookSchedule,
    deliveriesEnd: shape.deliveriesEnd,
    trace: say,
    given: () => usage.given,
    onNamespaceDeleted: () => usage.excuse(),
    mayLeave: shape.mayLeave,
    mayReturn: !mayBeRestored,
    datasetVersions: () => publishing?.versions ?? null,
    datasets,
    log: () => log,
    teamRandom: shape.hasTeam ? randomOf(streams.team) : null,
    keeperRandom: shape.keepsHistory ? randomOf(streams.keeper) : null,
    flagsRandom: shape.hasFlags ? randomOf(streams.flags) : null,
    evaluated: (id) => usage.answered('control', id, false),
    invitations,
    wrong,
  });
  const edges = [...nodeNames, ...(shape.hasInnerEdge ? [INNER] : [])];
  const nodes: readonly SimulatedNode[] = edges.map((name) =>
    createNode({
      ...common,
      machine: machine(name),
      database: name === INNER ? database : null,
      names: customers.names,
      askers,
      observe: customers.observe,
      validator,
      metered: usage.answered,
      usageLoss: lossOfUsage,
      wrong,
    }),
  );
  const publishing = shape.hasDatasets
    ? createPublishing({
        ...common,
        machine: machine('operator'),
        database,
        random: randomOf(streams.publishing),
        check: datasets,
        log,
        pickClock: (from) => from.pick(controls).machine.clock.wall,
        wrong,
      })
    : null;
  const witnesses = new Map<string, Witness>(edges.map((name) => [name, createWitness(name, truth)]));
  let pause = 0;
  let sleeps = 0;
  function killAll(): void {
    for (const node of nodes) {
      world.killed(node);
      node.kill();
    }
    for (const control of controls) control.kill();
    publishing?.kill();
  }

  const world: World = {
    scheduler,
    customers,
    truth,
    random,
    database,
    broker,
    lock,
    controls,
    nodes,
    publishing,
    datasets,
    log,
    usage,
    trace: say,
    rollsKeys,
    keysRestored() {
      if (rollsKeys) validator?.excuse();
    },
    usageLoss: losesAcknowledgements ? 'some acknowledgements' : null,
    mayHaveGaps: false,
    wasLost: false,
    mayOverlap: false,
    leadingSince: 0,
    endpoint: customers.deliver,
    codes: new Map(),
    async look() {
      if (failure !== null) throw failure;
      await truth.catchUp();
      for (const node of nodes) {
        const view = node.serving();
        if (view !== null && node.anew() === null)
          witnesses.get(node.name)!.look(view.state, scheduler.now());
      }
    },
    killed(node) {
      usage.killed(node.name);
      // What it counts after its next start is in no spool either.
      if (isTroubled(node.machine.disk)) usage.diskWasFull(node.name);
    },
    pauseHours() {
      killAll();
      const hours = rollsKeys ? ROLLING_HOURS[sleeps++ % ROLLING_HOURS.length]! : random.between(1, 5);
      pause = Math.floor(hours * 3_600_000) - random.between(0, rollsKeys ? 60_000 : 1_000_000);
    },
    pauseUntilTokenEnds() {
      const end = customers.tokenEnd(scheduler.now());
      if (end === null) return;
      killAll();
      pause = Math.max(0, end - random.between(1_000, 5_000) - scheduler.now());
    },
    takePause() {
      // Also what another harm that ended has started since: for hours it would send heartbeats that nobody hears.
      if (pause > 0) killAll();
      const ms = pause;
      pause = 0;
      if (ms > KEPT_MS) customers.dayPasses();
      if (ms > SPOOLED_MS) usage.excuse();
      return ms;
    },
    checkStream() {
      let last = { seq: 0, to: 0, epoch: '' };
      for (const { seq, data } of broker.stream) {
        const { epoch, from, to } = openBatch(data, verifier);
        // The log was pruned meanwhile: what the stream lacks, the log lacks too.
        const isExcused = from > last.to ? world.mayHaveGaps || from <= truth.oldest : world.mayOverlap;
        if (epoch === last.epoch && seq === last.seq + 1 && from !== last.to + 1 && !isExcused) {
          throw new InvariantError(`stream: ${from} follows ${last.to}`);
        }
        last = { seq, to, epoch };
      }
    },
    streamEnd() {
      const last = broker.stream.at(-1);
      return last === undefined ? null : openBatch(last.data, verifier);
    },
    async stop() {
      for (const node of nodes) node.kill();
      for (const control of controls) control.kill();
      publishing?.kill();
      await database.close();
    },
  };
  return world;
}
