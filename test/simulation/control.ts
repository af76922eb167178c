import { startMeter } from '../../src/feed/nodes/meter.ts';
import type { UsageBatch, UsageSink } from '../../src/feed/ports/usage-sink.ts';
import { type Publisher, startPublisher } from '../../src/feed/publish/publisher.ts';
import { startResponder } from '../../src/feed/publish/responder.ts';
import {
  createSnapshotWriter,
  type SnapshotMaker,
  startSnapshotMaker,
  type ViewToSend,
} from '../../src/feed/snapshots/snapshot-maker.ts';
import type { TestLock } from '../support/feed/publisher-lock.ts';
import { FORMAT } from '../support/feed/snapshots/snapshot-world.ts';
import type { Common, ProcessPorts } from './common.ts';
import type { Database } from './database.ts';
import { plainMeter } from './plain-meter.ts';
import { type Machine, whileAlive } from './process.ts';
import { controlEnd, controlKeys } from './whole-secrets.ts';

export interface ControlOptions extends Common {
  readonly machine: Machine;
  readonly database: Database;
  readonly lock: TestLock;
  readonly nodes: readonly string[];
  /** Of a view that is up to date; null: this process makes no snapshots. */
  readonly copyView: (() => Promise<ViewToSend>) | null;
}

/** A control process: publisher, responder, keys, snapshots, and what takes the usage of nodes. */
export interface SimulatedControl {
  readonly name: string;
  readonly machine: Machine;
  isRunning(): boolean;
  publisher(): Publisher | null;
  start(): void;
  kill(): void;
  makeSnapshot(): void;
}

interface Running {
  readonly publisher: Publisher;
  readonly snapshots: SnapshotMaker | null;
}

/** Until the database notices that the connection of a dead process is gone. */
const SESSION_MS = 200;

export function createControl(options: ControlOptions): SimulatedControl {
  const { machine, scheduler, plain, verifier, database, lock, nodes, counters, trace } = options;
  const { name } = machine;
  let running: Running | null = null;
  let starts = 0;

  function start(): Running {
    const ports = machine.boot();
    const { bus, clock, timers: process } = ports;
    const keys = options.isWhole
      ? controlKeys(ports, whileAlive(database.keys(process), process))
      : { ...plain, end: controlEnd(ports, plain, { signer: plain.secrets().signer, verifier }) };
    const source = whileAlive(database.source(process), process);
    const secrets = () => keys.secrets();
    const common = { source, bus, secrets, clock, timers: process };
    starts++;
    const publisher = startPublisher({
      ...common,
      lock: whileAlive(lock.of(`${name}-${starts}`), process),
      verifier,
      onEvent(event) {
        counters.count(`publisher ${event}`);
        trace(`${name}: ${event}`);
      },
    });
    startResponder({ source, end: keys.end, timers: process });
    const usage: UsageSink = {
      add: (batch: UsageBatch) => whileAlive(database.usage(process), process).add(batch),
    };
    if (options.isWhole) {
      startMeter({
        end: keys.end,
        usage,
        queryLog: { add: () => Promise.resolve() },
        existing: (ids) => Promise.resolve(new Set(ids)),
      });
    } else plainMeter(bus, nodes, usage);
    return { publisher, snapshots: snapshotMaker(ports, secrets) };
  }

  function snapshotMaker(
    ports: ProcessPorts,
    secrets: () => ReturnType<typeof plain.secrets>,
  ): SnapshotMaker | null {
    const { copyView } = options;
    if (copyView === null) return null;
    const { bus, timers, clock } = ports;
    return startSnapshotMaker({
      writer: createSnapshotWriter({ bus, secrets, verifier, clock }),
      copyView,
      format: FORMAT,
      files: [],
      timers,
      onMade({ seq }) {
        counters.count('snapshot made');
        trace(`${name}: snapshot of ${seq}`);
      },
      onError: () => counters.count('snapshot not made'),
    });
  }

  const control: SimulatedControl = {
    name,
    machine,
    isRunning: () => running !== null,
    publisher: () => running?.publisher ?? null,
    start() {
      running = start();
    },
    kill() {
      if (running === null) return;
      machine.kill();
      running = null;
      const dead = `${name}-${starts}`;
      scheduler.after(SESSION_MS, () => lock.expire(dead));
    },
    makeSnapshot() {
      running?.snapshots?.make().catch(() => {});
    },
  };
  return control;
}
