/**
 * The operator publishes versions of a dataset: `uqrp dataset import`, in a process of its own over the database, which dies at any moment.
 * One command at a time.
 */
import { timeOrderedUuids } from '../../../src/base/ids.ts';
import type { Timers } from '../../../src/base/lifecycle/timers.ts';
import { importDataset } from '../../../src/control/datasets/import.ts';
import { DatasetFault } from '../../../src/control/datasets/items.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Common, ProcessPorts } from '../common.ts';
import type { Database } from '../database.ts';
import type { DatasetsCheck } from '../model/datasets.ts';
import type { Machine } from '../process.ts';
import type { Random } from '../random.ts';
import { type Edition, editionOf, folder, numberOf, OWN_KEY } from './editions.ts';

export interface Publishing {
  /** From here on what the operator does depends on the seed and this step alone. */
  enter(step: number): void;
  /** Begins a command in some steps, unless one runs: for a new version, or one that was tried before. */
  perhaps(): void;
  /** Tries the last version again, unless it is published or refused. With nothing that fails that must be told. */
  finish(): void;
  isFinished(): boolean;
  isRunning(): boolean;
  /** Versions that were tried. */
  readonly versions: number;
  /** The process of the command dies. */
  kill(): void;
}

interface PublishingOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  readonly machine: Machine;
  readonly database: Database;
  readonly random: Random;
  readonly check: DatasetsCheck;
  /** Of the machine on which the command runs now, which may be wrong. */
  readonly pickClock: (random: Random) => () => number;
  readonly wrong: (error: unknown) => void;
}

interface Command {
  readonly edition: Edition;
  readonly ports: ProcessPorts;
  /** Rejects when the process dies. What waits goes on to its end, so that it closes its files, and reaches nothing. */
  readonly death: PromiseWithResolvers<never>;
  isDead: boolean;
  close: (() => Promise<void>) | null;
}

/** In so many steps of a storm. */
const PUBLISHES = 0.5;
/** Most commands take less, where nothing is slow. */
const KILLED_WITHIN_MS = 40;

export function createPublishing(options: PublishingOptions): Publishing {
  const { machine, database, scheduler, random, counters, trace, check, wrong } = options;
  let running: Command | null = null;
  let versions = 0;
  /** The one that was tried last, until a command has said that it is served. */
  let unfinished: Edition | null = null;

  function end(command: Command): void {
    if (command.isDead) return;
    command.isDead = true;
    if (running === command) running = null;
    machine.kill();
    command.death.reject(new Error('the process of the command is dead'));
    database.closes(command.close?.() ?? Promise.resolve());
  }

  function begin(edition: Edition): Command {
    unfinished = edition;
    const death = Promise.withResolvers<never>();
    death.promise.catch(() => {});
    const ports = { ...machine.boot(), clock: options.pickClock(random) };
    const command: Command = { edition, ports, death, isDead: false, close: null };
    running = command;
    trace(`operator publishes ${nameOf(edition)}`);
    void run(command);
    return command;
  }

  async function run(command: Command): Promise<void> {
    try {
      const said = await imported(command);
      if (command.isDead) return;
      trace(`operator: ${nameOf(command.edition)}: ${said}`);
      judge(command.edition, said);
    } catch (error) {
      wrong(error);
    } finally {
      end(command);
    }
  }

  /** @returns what the command says at its end */
  async function imported(command: Command): Promise<'published' | 'published before' | Error> {
    const { edition, ports } = command;
    try {
      const opened = await database.open(ports);
      command.close = () => opened.close();
      if (command.isDead) {
        await opened.close();
        return new Error('it is dead');
      }
      const { items } = await importDataset(depsOf(command, opened.store), edition, {
        own: [OWN_KEY],
        key: null,
        sortFolder: folder(),
        unitParts: 1,
      });
      return items === null ? 'published before' : 'published';
    } catch (error) {
      return error as Error;
    }
  }

  function judge(edition: Edition, said: 'published' | 'published before' | Error): void {
    const isRefused = said instanceof DatasetFault;
    counters.count(`dataset ${said instanceof Error ? (isRefused ? 'refused' : 'command failed') : said}`);
    if (unfinished === edition && (isRefused || !(said instanceof Error))) unfinished = null;
    if (isRefused) check.refused(edition, said.message);
    else if (!(said instanceof Error)) check.acknowledged(edition, scheduler.now());
  }

  function choose(): Edition {
    if (unfinished !== null && random.chance(0.6))
      return random.chance(0.5)
        ? unfinished
        : editionOf(numberOf(unfinished.version), unfinished.content === 'a' ? 'b' : 'a');
    const number = versions === 0 || random.chance(0.6) ? ++versions : random.between(1, versions);
    return editionOf(number, random.chance(0.8) ? 'a' : 'b');
  }

  return {
    enter: (step) => random.enter(step),
    perhaps() {
      if (!random.chance(PUBLISHES) || running !== null) return;
      const command = begin(choose());
      if (!random.chance(0.4)) return;
      scheduler.after(random.between(1, KILLED_WITHIN_MS), () => {
        if (command.isDead) return;
        counters.count('dataset command killed');
        trace(`operator: ${nameOf(command.edition)} is killed`);
        end(command);
      });
    },
    finish() {
      if (running === null && unfinished !== null) begin(unfinished);
    },
    isFinished: () => unfinished === null,
    isRunning: () => running !== null,
    get versions() {
      return versions;
    },
    kill() {
      if (running !== null) end(running);
    },
  };
}

function nameOf({ version, content }: Edition): string {
  return `${version} ${content}`;
}

function depsOf({ ports, death }: Command, store: Store) {
  const { clock, random } = ports;
  const untilDeath = <T>(result: Promise<T>): Promise<T> => Promise.race([result, death.promise]);
  const timers: Timers = {
    elapsed: ports.timers.elapsed,
    after(ms, run) {
      death.promise.catch(run);
      return ports.timers.after(ms, run);
    },
  };
  return {
    store: {
      ...store,
      read: {
        ...store.read,
        execute: <Row>(sql: string, values: readonly unknown[]) =>
          untilDeath(store.read.execute<Row>(sql, values)),
      },
      write: <T>(work: Parameters<typeof store.write<T>>[0]) => untilDeath(store.write(work)),
    },
    clock,
    newId: timeOrderedUuids(clock, random),
    timers,
  };
}
