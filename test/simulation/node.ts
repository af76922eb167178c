import { type NodeAccounting, openNodeAccounting } from '../../src/dns/accounting/node-accounting.ts';
import { encodeHandover } from '../../src/dns/accounting/recorder.ts';
import { usageSpool } from '../../src/dns/accounting/spool.ts';
import type { Account } from '../../src/dns/accounting/tag.ts';
import { type Follower, startFollower } from '../../src/feed/follower/follower.ts';
import { busUsageSink } from '../../src/feed/nodes/meter.ts';
import type { ViewSource } from '../../src/feed/ports/change-source.ts';
import type { FeedRefusal } from '../../src/feed/ports/refusal.ts';
import type { ViewWriter } from '../../src/feed/ports/view-writer.ts';
import { openBusSource } from '../../src/feed/receive/bus-source.ts';
import { createSnapshotReader, snapshotSource } from '../../src/feed/snapshots/snapshot-reader.ts';
import { memorySnapshotFiles } from '../support/feed/snapshots/memory-files.ts';
import { FORMAT } from '../support/feed/snapshots/snapshot-world.ts';
import { createMemoryView, type MemoryView } from '../support/view/memory-view.ts';
import type { Common, ProcessPorts } from './common.ts';
import { emptyView } from './disk.ts';
import type { NodeSecrets } from './feed-secrets.ts';
import { clearingView, type MendedFault, sleepySource } from './mended-faults.ts';
import { plainUsageSink } from './plain-meter.ts';
import { type Machine, whileAlive } from './process.ts';
import { nodeKeyring, nodeRpc } from './whole-secrets.ts';

export interface NodeOptions extends Common {
  readonly machine: Machine;
  readonly fault: MendedFault | null;
}

/** A machine with a process that can be killed and started again. */
export interface SimulatedNode {
  readonly name: string;
  readonly machine: Machine;
  /** Null while the process is dead, or has no view to serve. */
  serving(): MemoryView | null;
  follower(): Follower | null;
  isRunning(): boolean;
  start(): void;
  kill(): void;
  /** Private answers that it gave now. False: nobody counts them, because it is not running. */
  answer(namespaceId: string, answers: number): boolean;
  /** Its view's files are removed. */
  loseView(): void;
}

interface Running {
  readonly view: MemoryView;
  readonly follower: Follower;
  accounting: NodeAccounting | null;
}

export function createNode(options: NodeOptions): SimulatedNode {
  const { machine, scheduler, plain, verifier, counters, fault, trace } = options;
  const { name, disk } = machine;
  let running: Running | null = null;
  let boots = 0;

  function start(): Running {
    const ports = machine.boot();
    const { bus, clock, timers: process } = ports;
    const signer = options.isWhole ? undefined : plain.secrets().signer;
    const rpc = nodeRpc(ports, () => keys, verifier, signer);
    const keys: NodeSecrets = options.isWhole ? nodeKeyring(ports, rpc) : plain;
    const files = memorySnapshotFiles();
    const view = createMemoryView(disk.view, files.whole);
    const onRefused = (reason: FeedRefusal): void => counters.count(`refused ${reason}`);
    const source = openBusSource({
      bus,
      rpc,
      verifier,
      keys: () => keys.ring(),
      clock,
      timers: process,
      onRefused,
      onRepair: (from) => counters.count(`repair from ${from}`),
    });
    const withFiles = snapshotSource({
      source,
      reader: createSnapshotReader({ bus, verifier, keys: () => keys.ring(), files, onRefused }),
      format: FORMAT,
      clock,
      onRefused,
      onDownloaded: () => counters.count('snapshot downloaded'),
    });
    const followed: ViewSource =
      fault === 'sleep-through-wake-ups' ? sleepySource(withFiles, () => scheduler.now()) : withFiles;
    const written: ViewWriter = fault === 'clear-while-serving' ? clearingView(view) : view;
    const follower = startFollower({
      source: followed,
      view: whileAlive(
        onDisk(written, ports, () => counters.count('snapshot adopted')),
        process,
      ),
      clock,
      timers: process,
      onState: (state) => {
        counters.count(`follower ${state}`);
        trace(`${name} is ${state}`);
      },
      onFailing: (reason, _seconds, error) => {
        counters.count(`follower fault ${reason}`);
        trace(`${name} fails: ${reason}, ${String(error)}`);
      },
    });
    follower.ready.catch(() => {});
    const started: Running = { view, follower, accounting: null };
    const usage = options.isWhole ? busUsageSink(rpc) : plainUsageSink(bus);
    void openNodeAccounting({
      node: name,
      boot: `${name}-${++boots}`,
      usage,
      queryLog: null,
      spool: usageSpool('/node', disk.files(process)),
      onDropped: () => {},
      onUsageRefused: () => {},
      onUsageLost: () => counters.count('usage lost'),
      clock,
      onFailing: (part) => counters.count(`accounting fault ${part}`),
      timers: process,
    }).then((accounting) => {
      started.accounting = accounting;
    });
    return started;
  }

  const node: SimulatedNode = {
    name,
    machine,
    serving: () => (running?.follower.hasView() === true ? running.view : null),
    follower: () => running?.follower ?? null,
    isRunning: () => running !== null,
    start() {
      running = start();
    },
    kill() {
      if (running === null) return;
      if (running.view.isLost()) disk.view = emptyView();
      machine.kill();
      running = null;
    },
    answer(namespaceId, answers) {
      if (running?.accounting == null || machine.isPaused()) return false;
      running.accounting.take(handover(scheduler.now(), namespaceId, answers));
      return true;
    },
    loseView: () => running?.view.lose(),
  };
  return node;
}

/** Writes take time, in which the process may die, and fail while the disk is full. */
function onDisk(view: ViewWriter, { timers, disk, chance }: ProcessPorts, onAdopted: () => void): ViewWriter {
  const write = (run: () => Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      timers.after(1 + Math.floor(chance() * 4), () => {
        if (disk.isFull) reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
        else resolve(run());
      });
    });
  return {
    cursor: () => view.cursor(),
    epoch: () => view.epoch(),
    isLost: () => view.isLost(),
    apply: (changes, cursor) => write(() => view.apply(changes, cursor)),
    async rebuild() {
      const rebuild = await view.rebuild();
      return {
        load: (changes) => write(() => rebuild.load(changes)),
        adopt: (file, has) =>
          write(async () => {
            await rebuild.adopt(file, has);
            onAdopted();
          }),
        apply: (changes, cursor) => write(() => rebuild.apply(changes, cursor)),
        finish: (changes, cursor, epoch) => write(() => rebuild.finish(changes, cursor, epoch)),
        discard: () => rebuild.discard(),
      };
    },
    close: () => view.close(),
  };
}

function handover(since: number, namespaceId: string, answers: number): ArrayBuffer {
  const account: Account = {
    namespaceId,
    isSomebody: true,
    answers,
    rows: 0,
    tokenless: 0,
    dropped: 0,
    isListed: true,
    place: 0,
  };
  const rows = {
    tags: [],
    times: new Float64Array(),
    transports: new Uint8Array(),
    durations: new Uint16Array(),
  };
  return encodeHandover({ since, accounts: [account], ...rows, rows: 0 });
}
