import { type NodeAccounting, openNodeAccounting } from '../../src/dns/accounting/node-accounting.ts';
import { usageSpool } from '../../src/dns/accounting/spool.ts';
import type { Follower } from '../../src/feed/follower/follower.ts';
import { busQueryLogSink, busUsageSink } from '../../src/feed/nodes/meter.ts';
import { startStateReports } from '../../src/feed/nodes/node-states.ts';
import type { FeedRefusal } from '../../src/feed/ports/refusal.ts';
import type { ViewWriter } from '../../src/feed/ports/view-writer.ts';
import { openBusSource } from '../../src/feed/receive/bus-source.ts';
import { createSnapshotReader, snapshotSource } from '../../src/feed/snapshots/snapshot-reader.ts';
import { followView } from '../../src/process/edge/followed-view.ts';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { memorySnapshotFiles } from '../support/feed/snapshots/memory-files.ts';
import { FORMAT } from '../support/feed/snapshots/snapshot-world.ts';
import { createMemoryView, type MemoryView } from '../support/view/memory-view.ts';
import type { Common, ProcessPorts } from './common.ts';
import { emptyView } from './disk.ts';
import { type AskedProcess, createAsking } from './edge/asking.ts';
import { lossyUsage, type UsageLoss } from './edge/lossy-usage.ts';
import type { Names } from './edge/names.ts';
import { openNodeSigning } from './edge/node-secrets.ts';
import type { Observe } from './edge/observation.ts';
import { privateRows } from './edge/private-rows.ts';
import { shareView } from './edge/shared-view.ts';
import type { Validator } from './edge/validator.ts';
import { openEdgeWorkers } from './edge/workers.ts';
import { nodeKeyring, nodeRpc, recipientOf } from './feed-secrets.ts';
import { type Machine, whileAlive } from './process.ts';
import type { Random } from './random.ts';

export interface NodeOptions extends Common {
  readonly machine: Machine;
  /** What is asked. */
  readonly names: Names;
  /** Of those who ask. */
  readonly askers: Random;
  readonly observe: Observe;
  /** Null: answers are not signed. */
  readonly validator: Validator | null;
  /** An answer counts as usage of a namespace; `isSure` false: perhaps. */
  readonly metered: (node: string, namespaceId: string, isSure: boolean) => void;
  /** What happens to a batch of usage on its way to control. */
  readonly usageLoss: () => UsageLoss;
  /** What must not be: the simulation ends with it. */
  readonly wrong: (error: unknown) => void;
}

/** A machine with a process that can be killed and started again. */
export interface SimulatedNode {
  readonly name: string;
  readonly machine: Machine;
  /** Null while the process is dead, or has no view to serve. */
  serving(): MemoryView | null;
  follower(): Follower | null;
  isRunning(): boolean;
  /** Answers in batches that nobody has acknowledged to this process. */
  unacknowledged(): number;
  start(): void;
  kill(): void;
  /** Some questions come, within the next milliseconds. */
  isAsked(): void;
  /** Every name that a token may open, within the next milliseconds. */
  isAskedPrivately(): void;
  /** Everything about the dataset, within the next milliseconds. */
  isAskedOfDatasets(): void;
  /** Its view's files are removed. */
  loseView(): void;
}

interface Running {
  readonly view: MemoryView;
  readonly follower: Follower;
  readonly asked: AskedProcess;
  readonly unacknowledged: () => number;
}

export function createNode(options: NodeOptions): SimulatedNode {
  const { machine, verifier, counters, trace } = options;
  const { name, disk } = machine;
  let running: Running | null = null;
  let boots = 0;
  const asking = createAsking({
    ...options,
    node: name,
    random: options.askers,
    metered: (namespaceId, isSure) => options.metered(name, namespaceId, isSure),
  });

  function start(): Running {
    const ports = machine.boot();
    const { bus, clock, timers: process } = ports;
    const rpc = nodeRpc(ports, () => keys, options);
    const keys = nodeKeyring(ports, rpc, verifier);
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
    const shared = shareView(view);
    const hooks: CommitHooks = {
      writing: (changes, ms) => asking.writing(asked, changes, ms),
      committing: () => asking.committing(asked),
      committed: () => asking.committed(asked),
      replaced: () => shared.freshness.bumpAll(),
      adopted: () => counters.count('snapshot adopted'),
    };
    const followed = followView({
      source: withFiles,
      view: whileAlive(onDisk(view, ports, hooks), process),
      freshness: shared.freshness,
      clock,
      timers: process,
      onApplied() {
        reports.moved();
        asking.announced(asked);
      },
      onState: (state) => {
        counters.count(`follower ${state}`);
        trace(`${name} is ${state}`);
      },
      onFailing: (reason, _seconds, error) => {
        counters.count(`follower fault ${reason}`);
        trace(`${name} fails: ${reason}, ${String(error)}`);
      },
    });
    const follower = followed.follower!;
    follower.ready.catch(() => {});
    let accounting: NodeAccounting | null = null;
    const workers = openEdgeWorkers({
      node: name,
      count: options.askers.between(1, 2),
      shared,
      clock,
      timers: process,
      counters,
      counted: (buffer) => accounting?.take(buffer),
    });
    const signing =
      options.validator === null
        ? null
        : openNodeSigning({
            ports,
            rpc,
            verifier,
            own: recipientOf(name),
            use: (keys) => workers.change(keys),
          });
    const boot = `${name}-${++boots}`;
    const reports = startStateReports({
      bus,
      rpc,
      state: () => ({
        boot,
        version: '1',
        heartbeatSeconds: null,
        ...followed.report(),
        keyTags: signing?.keyTags() ?? {},
        spoolOctets: accounting?.spoolOctets() ?? 0,
      }),
      onKeys: (listener) => keys.onKeys(listener),
      onError: () => counters.count('state not told'),
      timers: process,
      soon: process,
    });
    const asked: AskedProcess = {
      timers: process,
      workers,
      shared,
      view,
      clock,
      claim: () =>
        accounting === null || signing?.hasKeys() === false || !follower.hasView()
          ? null
          : {
              cursor: view.cursor(),
              epoch: view.epoch(),
              heardAt: source.heardAt(),
              currentAt: follower.currentAt(),
              isStale: follower.isStale(),
              clock: clock(),
            },
    };
    void openNodeAccounting({
      node: name,
      boot,
      usage: lossyUsage(busUsageSink(rpc), options.usageLoss),
      queryLog: privateRows(busQueryLogSink(rpc), options.names, asking.answered, options.wrong),
      spool: usageSpool('/node', disk.files(process)),
      onDropped: () => {},
      onUsageRefused: () => {},
      onUsageLost: () => counters.count('usage lost'),
      clock,
      onFailing: (part) => counters.count(`accounting fault ${part}`),
      timers: process,
    }).then((opened) => {
      accounting = opened;
    });
    return { view, follower, asked, unacknowledged: () => accounting?.waiting() ?? 0 };
  }

  const node: SimulatedNode = {
    name,
    machine,
    serving: () => (running?.follower.hasView() === true ? running.view : null),
    follower: () => running?.follower ?? null,
    isRunning: () => running !== null,
    unacknowledged: () => running?.unacknowledged() ?? 0,
    start() {
      running = start();
    },
    kill() {
      if (running === null) return;
      if (running.view.isLost()) disk.view = emptyView();
      machine.kill();
      running = null;
    },
    isAsked() {
      if (running !== null && !machine.isPaused()) asking.some(running.asked);
    },
    isAskedPrivately() {
      if (running !== null && !machine.isPaused()) asking.everyPrivate(running.asked);
    },
    isAskedOfDatasets() {
      if (running !== null && !machine.isPaused()) asking.allOfDatasets(running.asked);
    },
    loseView: () => running?.view.lose(),
  };
  return node;
}

/** What others do around a commit. */
interface CommitHooks {
  writing(changes: readonly ChangeBody[], ms: number): void;
  committing(): void;
  committed(): void;
  /** As the writer over files does when another view serves. */
  replaced(): void;
  adopted(): void;
}

/** Writes take time, in which the process may die, and fail while the disk is full. */
function onDisk(view: ViewWriter, { timers, disk, chance }: ProcessPorts, hooks: CommitHooks): ViewWriter {
  const write = (run: () => Promise<void>, changes: readonly ChangeBody[] = []): Promise<void> =>
    new Promise((resolve, reject) => {
      const ms = 1 + Math.floor(chance() * (4 + disk.slowMs / 4));
      if (changes.length > 0) hooks.writing(changes, ms);
      timers.after(ms, () => {
        if (disk.isFull) reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
        else resolve(run());
      });
    });
  const commit = (changes: readonly ChangeBody[], run: () => Promise<void>): Promise<void> =>
    write(async () => {
      hooks.committing();
      await run();
      hooks.committed();
    }, changes);
  return {
    cursor: () => view.cursor(),
    epoch: () => view.epoch(),
    isLost: () => view.isLost(),
    apply: (changes, cursor) => commit(changes, () => view.apply(changes, cursor)),
    async rebuild() {
      const rebuild = await view.rebuild();
      return {
        load: (changes) => write(() => rebuild.load(changes)),
        adopt: (file, has) =>
          write(async () => {
            await rebuild.adopt(file, has);
            hooks.adopted();
          }),
        apply: (changes, cursor) => write(() => rebuild.apply(changes, cursor)),
        finish: (changes, cursor, epoch) =>
          commit(changes, async () => {
            await rebuild.finish(changes, cursor, epoch);
            hooks.replaced();
          }),
        discard: () => rebuild.discard(),
      };
    },
    close: () => view.close(),
  };
}
