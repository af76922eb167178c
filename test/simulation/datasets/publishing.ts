/**
 * The operator publishes versions of a dataset, retires them, and recovers their transparency log: `uqrp dataset import` and `retire`, and
 * `uqrp log recover`, in a process of its own over the database, which dies at any moment. One command at a time.
 */
import { InputError } from '../../../src/base/errors.ts';
import { timeOrderedUuids } from '../../../src/base/ids.ts';
import type { Timers } from '../../../src/base/lifecycle/timers.ts';
import { importDataset } from '../../../src/control/datasets/import.ts';
import { DatasetFault } from '../../../src/control/datasets/items.ts';
import { retireDataset } from '../../../src/control/datasets/versions.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Common, ProcessPorts } from '../common.ts';
import type { Database } from '../database.ts';
import type { DatasetsCheck, RetiredAgain } from '../model/datasets.ts';
import type { Machine } from '../process.ts';
import type { Random } from '../random.ts';
import type { RegistryLog } from '../transparency/registry-log.ts';
import { type Edition, editionOf, folder, numberOf, OWN_KEY, SLUG, versionOf } from './editions.ts';

export interface Publishing {
  /** From here on what the operator does depends on the seed and this step alone. */
  enter(step: number): void;
  /** Begins a command in some steps, unless one runs: for a new version, or one that was tried before, which may be retired. */
  perhaps(): void;
  /** Tries the last version again, unless it is published or refused. With nothing that fails that must be told. */
  finish(): void;
  /** Takes the transparency log back from the monitor, unless a command runs. */
  recover(): void;
  isFinished(): boolean;
  isRunning(): boolean;
  /** Versions that were tried. */
  readonly versions: number;
  /** The process of the command dies. */
  kill(): void;
  /** Nobody hears what the command says. */
  disconnect(): void;
}

interface PublishingOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  readonly machine: Machine;
  readonly database: Database;
  readonly random: Random;
  readonly check: DatasetsCheck;
  /** Null: there is no transparency log. */
  readonly log: RegistryLog | null;
  /** Of the machine on which the command runs now, which may be wrong. */
  readonly pickClock: (random: Random) => () => number;
  readonly wrong: (error: unknown) => void;
}

interface Command {
  readonly name: string;
  readonly ports: ProcessPorts;
  /** Rejects when the process dies. What waits goes on to its end, so that it closes its files, and reaches nothing. */
  readonly death: PromiseWithResolvers<never>;
  isDead: boolean;
  isHeard: boolean;
  close: (() => Promise<void>) | null;
}

/** What a command does over the database, and what it says. */
type Work = (command: Command, store: Store) => Promise<string>;

/** In so many steps of a storm, and so many of them retire what was tried before. */
const ACTS = 0.5;
const RETIRES = 0.25;
/** Part of those that retire all versions at once. */
const ALL = 0.2;
/** Most commands take less, where nothing is slow. */
const KILLED_WITHIN_MS = 40;
/** Of the steps in which the log of the registry is behind. */
const RECOVERS = 0.5;

export function createPublishing(options: PublishingOptions): Publishing {
  const { machine, database, scheduler, random, counters, trace, check, log, wrong } = options;
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

  function begin(name: string, work: Work, judge: (said: string | DatasetFault) => void): Command {
    const death = Promise.withResolvers<never>();
    death.promise.catch(() => {});
    const ports = { ...machine.boot(), clock: options.pickClock(random) };
    const command: Command = { name, ports, death, isDead: false, isHeard: true, close: null };
    running = command;
    trace(`operator ${name}`);
    void run(command, work, judge);
    return command;
  }

  async function run(
    command: Command,
    work: Work,
    judge: (said: string | DatasetFault) => void,
  ): Promise<void> {
    try {
      const said = await saidBy(command, work);
      if (command.isDead) return;
      trace(`operator ${command.name}: ${said}`);
      const what = said instanceof DatasetFault ? 'refused' : said instanceof Error ? 'command failed' : said;
      counters.count(`dataset ${what}`);
      if (command.isHeard && (!(said instanceof Error) || said instanceof DatasetFault)) judge(said);
    } catch (error) {
      wrong(error);
    } finally {
      end(command);
    }
  }

  /** @returns what the command says at its end */
  async function saidBy(command: Command, work: Work): Promise<string | Error> {
    try {
      const opened = await database.open(command.ports);
      command.close = () => opened.close();
      if (command.isDead) {
        await opened.close();
        return new Error('it is dead');
      }
      return await work(command, opened.store);
    } catch (error) {
      return error as Error;
    }
  }

  function publish(edition: Edition): Command {
    unfinished = edition;
    check.publishing(edition.version);
    const work: Work = async (command, store) => {
      const { items } = await importDataset(depsOf(command, store, log !== null), edition, {
        own: [OWN_KEY],
        key: null,
        sortFolder: folder(),
        unitParts: 1,
      });
      return items === null ? 'published before' : 'published';
    };
    return begin(`publishes ${nameOf(edition)}`, work, (said) => {
      if (unfinished === edition) unfinished = null;
      if (said instanceof DatasetFault) check.refused(edition, said.message);
      else check.acknowledged(edition, scheduler.now());
    });
  }

  /** @param number null: all that are served */
  function retire(number: number | null): Command {
    const version = number === null ? null : versionOf(number);
    const asked = check.retiring(version, scheduler.now());
    const work: Work = async (command, store) => {
      await retireDataset(depsOf(command, store, log !== null), SLUG, version);
      return 'retired';
    };
    return begin(`retires ${version ?? 'all'}`, work, (said) => asked(!(said instanceof DatasetFault)));
  }

  function recover(from: RegistryLog): Command {
    const told = check.recovering(scheduler.now());
    let found: RetiredAgain | null = null;
    const work: Work = async (command, store) => {
      try {
        const { retired, replaced } = await from.recover(depsOf(command, store, true));
        found = { retired: retired.map(versionNamed), replaced: replaced.map(versionNamed) };
        return 'log recovered';
      } catch (error) {
        // Before anything is written.
        if (!(error instanceof InputError)) throw error;
        trace(`operator: ${error.message}`);
        return 'log not recovered';
      }
    };
    return begin('recovers the log', work, () => told(found));
  }

  /** What may end it while it runs. */
  function mayDie(command: Command): void {
    if (!random.chance(0.4)) return;
    scheduler.after(random.between(1, KILLED_WITHIN_MS), () => {
      if (command.isDead) return;
      counters.count('dataset command killed');
      trace(`operator ${command.name}: is killed`);
      end(command);
    });
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
      if (!random.chance(ACTS) || running !== null) return;
      if (log?.mayRecover() === true && random.chance(RECOVERS)) {
        mayDie(recover(log));
        return;
      }
      const retires = versions > 0 && random.chance(RETIRES);
      mayDie(retires ? retire(random.chance(ALL) ? null : random.between(1, versions)) : publish(choose()));
    },
    recover() {
      if (running === null && log !== null) recover(log);
    },
    finish() {
      if (running === null && unfinished !== null) publish(unfinished);
    },
    isFinished: () => unfinished === null,
    isRunning: () => running !== null,
    get versions() {
      return versions;
    },
    kill() {
      if (running !== null) end(running);
    },
    disconnect() {
      if (running !== null) running.isHeard = false;
    },
  };
}

function nameOf({ version, content }: Edition): string {
  return `${version} ${content}`;
}

/** @param name `slug@version` */
function versionNamed(name: string): string {
  return name.slice(name.indexOf('@') + 1);
}

function depsOf({ ports, death }: Command, store: Store, isLogged: boolean) {
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
    isLogged,
  };
}
