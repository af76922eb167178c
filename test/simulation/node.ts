import { type NodeAccounting, openNodeAccounting } from '../../src/dns/accounting/node-accounting.ts';
import { usageSpool } from '../../src/dns/accounting/spool.ts';
import type { Follower } from '../../src/feed/follower/follower.ts';
import type { ViewWriter } from '../../src/feed/ports/view-writer.ts';
import { followView } from '../../src/process/edge/followed-view.ts';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { createMemoryView, type MemoryView } from '../support/view/memory-view.ts';
import type { Common, ProcessPorts } from './common.ts';
import type { Database } from './database.ts';
import { emptyView } from './disk.ts';
import { type AskedProcess, createAsking } from './edge/asking.ts';
import { lossyUsage, type UsageLoss } from './edge/lossy-usage.ts';
import type { Names } from './edge/names.ts';
import type { Observe } from './edge/observation.ts';
import { privateRows } from './edge/private-rows.ts';
import { shareView } from './edge/shared-view.ts';
import { overFeed, overStore, type Upstream } from './edge/upstreams.ts';
import type { Validator } from './edge/validator.ts';
import { openEdgeWorkers } from './edge/workers.ts';
import { type Machine, whileAlive } from './process.ts';
import type { Random } from './random.ts';
import type { ProcessTimers } from './scheduler.ts';

export interface NodeOptions extends Common {
  readonly machine: Machine;
  /** It has the store itself, as the edge of a process that is control too. Null: all comes over the feed. */
  readonly database: Database | null;
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
  readonly hasStore: boolean;
  /** Null while the process is dead, or has no view to serve. */
  serving(): MemoryView | null;
  follower(): Follower | null;
  isRunning(): boolean;
  /** How often it has begun without a view, while it has not heard all of the log since: its view may be older than the one that it lost. */
  anew(): number | null;
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

/** Between tries to open the store, twice as long each time. */
const OPENED = { firstMs: 200, mostMs: 30_000 } as const;

export function createNode(options: NodeOptions): SimulatedNode {
  const { machine, counters, trace, database } = options;
  const { name, disk } = machine;
  let running: Running | null = null;
  /** Of the process, also while it opens the store. */
  let alive: ProcessTimers | null = null;
  const closing = new WeakMap<ProcessTimers, () => Promise<void>>();
  let boots = 0;
  /** How often it has begun without a view. */
  let beginnings = 0;
  /** It has heard all of the log since. */
  let isLevel = true;
  const asking = createAsking({
    ...options,
    node: name,
    random: options.askers,
    metered: (namespaceId, isSure) => options.metered(name, namespaceId, isSure),
  });

  function run(ports: ProcessPorts, upstream: Upstream): Running {
    const { clock, timers: process } = ports;
    const view = createMemoryView(disk.view, upstream.files);
    if (view.cursor() === null) {
      beginnings++;
      isLevel = false;
    }
    const shared = shareView(view);
    const hooks: CommitHooks = {
      writing: (changes, ms) => asking.writing(asked, changes, ms),
      committing: () => asking.committing(asked),
      committed: () => asking.committed(asked),
      replacing: () => shared.freshness.beginAll(),
      adopted: () => counters.count('snapshot adopted'),
    };
    const followed = followView({
      source: upstream.source,
      view: whileAlive(onDisk(view, ports, hooks), process),
      freshness: shared.freshness,
      clock,
      timers: process,
      onApplied() {
        moved();
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
      isLogged: options.names.isLogged,
      clock,
      timers: process,
      counters,
      counted: (buffer) => accounting?.take(buffer),
    });
    const signing = options.validator === null ? null : upstream.sign((keys) => workers.change(keys));
    const boot = `${name}-${++boots}`;
    const moved = upstream.report(() => ({
      boot,
      version: '1',
      ...followed.report(),
      ...(signing?.report() ?? { keyTags: {}, readyTags: {} }),
      spoolOctets: accounting?.spoolOctets() ?? 0,
    }));
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
              heardAt: upstream.heardAt(),
              currentAt: follower.currentAt(),
              isStale: follower.isStale(),
              anew: anew(),
              clock: clock(),
            },
    };
    void openNodeAccounting({
      node: name,
      boot,
      usage: lossyUsage(upstream.usage, options.usageLoss),
      queryLog: privateRows(upstream.queryLog, options.names, asking.answered, options.wrong),
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

  function anew(): number | null {
    isLevel ||= running?.follower.isStale() === false;
    return isLevel ? null : beginnings;
  }

  async function openStore(ports: ProcessPorts, of: Database, waitMs: number): Promise<void> {
    const { timers } = ports;
    try {
      const opened = await of.open(ports);
      if (timers.isDead()) return await opened.close();
      closing.set(timers, () => opened.close());
      running = run(ports, overStore(opened.store, ports));
    } catch (error) {
      trace(`${name} does not open the store: ${String(error)}`);
      if (timers.isDead()) return;
      timers.after(waitMs, () => void openStore(ports, of, Math.min(waitMs * 2, OPENED.mostMs)));
    }
  }

  const node: SimulatedNode = {
    name,
    machine,
    hasStore: database !== null,
    serving: () => (running?.follower.hasView() === true ? running.view : null),
    follower: () => running?.follower ?? null,
    isRunning: () => alive !== null,
    anew,
    unacknowledged: () => running?.unacknowledged() ?? 0,
    start() {
      const ports = machine.boot();
      alive = ports.timers;
      if (database === null) running = run(ports, overFeed(ports, options));
      else void openStore(ports, database, OPENED.firstMs);
    },
    kill() {
      if (alive === null) return;
      if (running?.view.isLost() === true) disk.view = emptyView();
      machine.kill();
      database?.closes(closing.get(alive)?.() ?? Promise.resolve());
      alive = null;
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
  /** As the writer over files does when another view serves. @returns what ends it */
  replacing(): () => void;
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
            const end = hooks.replacing();
            try {
              await rebuild.finish(changes, cursor, epoch);
            } finally {
              end();
            }
          }),
        discard: () => rebuild.discard(),
      };
    },
    close: () => view.close(),
  };
}
