/** The database of a seed: the real embedded store over one file in memory, opened once by each process, with what may go wrong between them. */
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ChangeSource, Snapshot } from '../../src/feed/ports/change-source.ts';
import type { Change } from '../../src/protocol/change.ts';
import { pruneLog } from '../../src/store/log/change-log.ts';
import { renewEpoch } from '../../src/store/service-facts.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Db, Store, Tx, WorkTopic } from '../../src/store/store.ts';
import { changesAfter } from '../support/feed/changes-after.ts';
import type { ProcessPorts } from './common.ts';
import { connect, emptyDatabase, replaceContent } from './connections.ts';
import { whileAlive } from './process.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** Probabilities from 0 to 1, drawn at each call. */
export interface DatabaseFaults {
  /** A statement outside of a unit, or a unit, waits for up to `delayMs` before and after. */
  readonly slow: number;
  readonly delayMs: number;
  /** A unit runs, is rolled back, and runs again, as after a serialisation failure. */
  readonly again: number;
  /** The connection is lost before COMMIT, or after it and before its answer. */
  readonly lostBefore: number;
  readonly lostAfter: number;
  /** The connection of a statement outside of a unit is lost. */
  readonly lostRead: number;
}

export const QUIET_DATABASE: DatabaseFaults = {
  slow: 0.1,
  delayMs: 5,
  again: 0,
  lostBefore: 0,
  lostAfter: 0,
  lostRead: 0,
};

export interface Database {
  /** What one process sees of it, from its start to its end. */
  open(ports: ProcessPorts): Promise<OpenDatabase>;
  faults: DatabaseFaults;
  /** No call succeeds. */
  isDown: boolean;
  /** Commits are not announced to other processes. */
  isMute: boolean;
  /** Of the invariants, which no fault touches. */
  readonly truth: Store;
  /** Each change since the last call, in order. */
  take(): Promise<readonly Change[]>;
  /** All changes but the last ones are removed from the log, as after a week. What the fan-out of webhooks has not read stays, as it does then. */
  prune(left: number): void;
  /** Of what is committed now; none while a copy takes its place, as it would have what is replaced. A standby gets nothing from then on. */
  copy(name: CopyName): void;
  /** The octets of its files. */
  files(): readonly Uint8Array[];
  /**
   * The copy takes the place of the database, with the next epoch: a backup is put back (`uqrp feed epoch new`), or a standby is promoted. Whoever has the
   * database open has the copy from the next statement on; what is on its way is lost. A process that starts meanwhile waits.
   * @param before runs while it is still there
   */
  replaceBy(name: CopyName, before: () => Promise<void>): Promise<void>;
  /** The last change that the present database has from the one before, and the epoch of that. Null: there was none. */
  readonly origin: { readonly epoch: string; readonly seq: number } | null;
  /** How often it was replaced. */
  readonly generation: number;
  /** When the copy was made, true time; null: there is none, and an empty database takes its place. */
  copiedAt(name: CopyName): number | null;
  /** The connections of a dead process are being closed: the end waits for it. */
  closes(closing: Promise<void>): void;
  close(): Promise<void>;
}

export type CopyName = 'backup' | 'standby';

interface OpenDatabase {
  readonly store: Store;
  /** After the end of the process: its connections are closed. */
  close(): Promise<void>;
}

/** Until another process hears of a commit. */
const ANNOUNCED_MS = 3;
const PAGE = 1_000;

async function migrated(file: string): Promise<void> {
  const store = await openSqliteStore({ file, clock: () => 0 });
  // What the migrations left behind: otherwise the first seed of a process finds it, and no other.
  await store.scrub();
  await store.close();
}

export async function createDatabase(scheduler: Scheduler, epoch: string): Promise<Database> {
  const { file, template } = await emptyDatabase(migrated);
  const listeners = new Set<() => void>();
  const copies = new Map<CopyName, number>();
  let closing: Promise<unknown> = Promise.resolve();
  let replacing: Promise<void> = Promise.resolve();
  const truth = await openTruth();
  await truth.write(nameEpoch);
  let taken = 0;
  let origin: Database['origin'] = null;
  let generation = 0;
  let isReplacing = false;

  async function nameEpoch(tx: Tx): Promise<void> {
    await tx.execute(`update service_facts set value = '${epoch}' where name = 'epoch'`, []);
  }

  const pathOf = (name: CopyName): string => join(file, '..', name);

  function openTruth(): Promise<Store> {
    const timers: ProcessTimers = {
      after: (ms, run) => scheduler.after(ms, run),
      elapsed: () => scheduler.elapsed(),
      isDead: () => false,
      enter: (run) => run(),
    };
    return openSqliteStore({
      file,
      clock: () => scheduler.now(),
      timers,
      connect,
      watchFile: () => NO_WATCH,
    });
  }

  async function replace(name: CopyName, before: () => Promise<void>): Promise<void> {
    await before();
    replaceContent(copies.has(name) ? pathOf(name) : template);
    if (!copies.has(name)) await truth.write(nameEpoch);
    const { epoch: last, head } = await truth.changes.bounds();
    origin = { epoch: last, seq: head };
    await truth.write((tx) => renewEpoch(tx, scheduler.now()));
    isReplacing = false;
    taken = Math.min(taken, head);
    announce();
  }

  function announce(): void {
    if (database.isMute) return;
    for (const listener of listeners)
      scheduler.after(ANNOUNCED_MS, () => listeners.has(listener) && listener());
  }

  const database: Database = {
    faults: QUIET_DATABASE,
    isDown: false,
    isMute: false,
    truth,
    async open(ports) {
      await replacing;
      const store = await openSqliteStore({
        file,
        clock: ports.clock,
        timers: ports.timers,
        connect,
        watchFile(_path, written) {
          const listener = (): void => void ports.timers.enter(written);
          listeners.add(listener);
          return { close: () => listeners.delete(listener) };
        },
      });
      return { store: faulty(store, database, ports, announce), close: () => store.close() };
    },
    async take() {
      const changes: Change[] = [];
      for (;;) {
        const page = await changesAfter(truth.changes, taken, PAGE);
        if (page.length === 0) return changes;
        changes.push(...page);
        taken = page.at(-1)!.seq;
      }
    },
    prune(left) {
      void truth.write(async (tx) => {
        const { rows } = await tx.execute<{ count: number }>('select count(*) as count from change_log', []);
        await pruneLog(tx, Number.POSITIVE_INFINITY, Math.max(0, rows[0]!.count - left));
      });
    },
    get origin() {
      return origin;
    },
    get generation() {
      return generation;
    },
    copiedAt: (name) => copies.get(name) ?? null,
    files: () =>
      ['', '-wal'].flatMap((suffix) =>
        existsSync(`${file}${suffix}`) ? [readFileSync(`${file}${suffix}`)] : [],
      ),
    copy(name) {
      if (isReplacing) return;
      copyFiles(file, pathOf(name));
      copies.set(name, scheduler.now());
    },
    replaceBy(name, before) {
      generation++;
      isReplacing = true;
      replacing = replace(name, before);
      return replacing;
    },
    closes(other) {
      closing = Promise.all([closing, other]);
    },
    async close() {
      await closing;
      await truth.close();
    },
  };
  return database;
}

const NO_WATCH = { close: () => {} };

/** What was committed is in the log until it is moved to the file. */
function copyFiles(from: string, to: string): void {
  for (const suffix of ['', '-wal']) {
    if (existsSync(`${from}${suffix}`)) copyFileSync(`${from}${suffix}`, `${to}${suffix}`);
    else rmSync(`${to}${suffix}`, { force: true });
  }
}

function lost(): Error {
  return Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
}

/** A call failed by a fault of `DatabaseFaults`, or because the database is down. */
export function isConnectionLost(error: unknown): boolean {
  return (error as { readonly code?: string }).code === 'ECONNRESET';
}

class Again extends Error {}

/** The store of one process, which is away, slow, or loses its connection when the simulation says so. */
function faulty(
  store: Store,
  database: Database,
  { timers, chance }: ProcessPorts,
  announce: () => void,
): Store {
  const happens = (probability: number): boolean => probability > 0 && chance() < probability;

  async function step(): Promise<void> {
    const { slow, delayMs } = database.faults;
    if (happens(slow)) await onItsWay(chance() * delayMs);
    if (database.isDown) throw lost();
  }

  /** @throws when the database is replaced meanwhile */
  async function onItsWay(ms: number): Promise<void> {
    const { generation } = database;
    await new Promise<void>((go) => timers.after(ms, go));
    if (database.generation !== generation) throw lost();
  }

  async function called<T>(run: () => Promise<T>): Promise<T> {
    await step();
    if (happens(database.faults.lostRead)) throw lost();
    return run();
  }

  const read: Db = whileAlive(
    { execute: (sql: string, values: readonly unknown[]) => called(() => store.read.execute(sql, values)) },
    timers,
  ) as Db;
  const write: Store['write'] = async (work) => {
    const { again, lostBefore, lostAfter } = database.faults;
    await step();
    if (happens(again) || happens(lostBefore)) {
      const isLost = !happens(0.5);
      await store
        .write(async (tx) => {
          await work(tx);
          throw new Again();
        })
        .catch((error: unknown) => {
          if (!(error instanceof Again)) throw error;
        });
      if (isLost && lostBefore > 0) throw lost();
    }
    const result = await store.write(work);
    announce();
    if (happens(lostAfter)) throw lost();
    if (happens(database.faults.slow)) await onItsWay(1);
    return result;
  };
  const { changes } = store;
  const source: ChangeSource = {
    bounds: () => called(() => changes.bounds()),
    since: (...args) => called(() => changes.since(...args)),
    openSnapshot: () => called(async () => paged(await changes.openSnapshot(), step)),
    onChange: (listener) => changes.onChange(listener),
    heardAt: () => changes.heardAt(),
  };
  const alive = whileAlive(
    {
      onWork: (topic: WorkTopic, listener: () => void) => store.onWork(topic, listener),
      onCommit: (listener: () => void) => store.onCommit(listener),
      scrub: () => called(() => store.scrub()),
      ping: () => called(() => store.ping()),
      close: () => store.close(),
    },
    timers,
  );
  return {
    ...alive,
    engine: store.engine,
    read: { ...read, engine: store.engine },
    // The unit itself takes no simulated time, so it needs no gate.
    write: (work) => gated(timers, () => write(work)),
    changes: whileAlive(source, timers),
  };
}

/** Once the process is dead the promise does not settle; while it is paused it waits. */
function gated<T>(timers: ProcessTimers, run: () => Promise<T>): Promise<T> {
  return whileAlive({ run }, timers).run();
}

function paged(snapshot: Snapshot, step: () => Promise<void>): Snapshot {
  async function* pages(): Snapshot['pages'] {
    for await (const page of snapshot.pages) {
      await step();
      yield page;
    }
  }
  return { ...snapshot, pages: pages() };
}
