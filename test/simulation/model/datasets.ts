/**
 * What the operator may be told of a dataset, and what nodes answer of it. A version that a command has said to be served is served from then
 * on, until it is retired, always with the same items, also when it is published again; no node answers what is in none of the published files,
 * nor of an older version than it has answered before, unless that one was retired.
 */
import { type Edition, editionOf, editionWith, numberOf } from '../datasets/editions.ts';
import { datasetText, type RegistryQuestion } from '../edge/dataset-answers.ts';
import { ModelError } from './told.ts';

export interface DatasetAnswer {
  readonly node: string;
  readonly epoch: string | null;
  /** The epoch became another one meanwhile: it may be of either. */
  readonly isOverRestore: boolean;
  /** True time, milliseconds. */
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly asked: RegistryQuestion;
  readonly rcode: string;
  readonly text: string | null;
}

/** A version that the database serves. */
export interface ServedVersion {
  readonly version: string;
  readonly sha256: string;
}

export interface DatasetsCheck {
  /** A command begins that publishes it. */
  publishing(version: string): void;
  /**
   * A command begins that retires it. Null: all.
   * @returns takes what the command has said: it is retired, or there was nothing to retire. @throws ModelError
   */
  retiring(version: string | null, at: number): (isRetired: boolean) => void;
  /** A command has said that it is served. @throws ModelError */
  acknowledged(edition: Edition, at: number): void;
  /** A command has said what is wrong with the files. @throws ModelError */
  refused(edition: Edition, reason: string): void;
  /**
   * A command begins that takes the transparency log back from a monitor: what was retired since the backup is retired again, and so is what was
   * published since then with other items than before.
   * @returns takes what the command has said; null: nothing was done
   */
  recovering(at: number): (found: RetiredAgain | null) => void;
  /** A backup of that time was put back. */
  restored(backupAt: number): void;
  /** @throws ModelError */
  answered(answer: DatasetAnswer): void;
  /** From now on nodes answer what is served. Null: no more. @throws ModelError */
  level(served: readonly ServedVersion[] | null): void;
}

/** Versions that a command has retired: once more, and those whose number belongs to other items. */
export interface RetiredAgain {
  readonly retired: readonly string[];
  readonly replaced: readonly string[];
}

interface Told {
  readonly edition: Edition;
  readonly at: number;
}

interface Shown {
  epoch: string | null;
  /** Numbers of the newest version that it has answered, and since when. Ascending in time. */
  readonly newest: { readonly at: number; readonly number: number }[];
}

export function createDatasetsCheck(): DatasetsCheck {
  /** Served, as a command has said. */
  let told: Told[] = [];
  /** What was ever published under a number. */
  let published: Told[] = [];
  /** Retired, as a command has said. */
  let retired = new Set<string>();
  /** What a command has tried to publish. */
  const tried = new Set<string>();
  /** From then on nodes may go back behind these versions, until they have everything. */
  let retirements: { readonly versions: readonly string[]; readonly at: number }[] = [];
  const nodes = new Map<string, Shown>();
  /** The newest first; null: nodes may be behind. */
  let level: readonly Edition[] | null = null;

  function shownBy(node: string, epoch: string | null): Shown {
    const known = nodes.get(node);
    if (known !== undefined && (epoch === null || known.epoch === null || known.epoch === epoch)) {
      known.epoch ??= epoch;
      return known;
    }
    const fresh: Shown = { epoch, newest: [] };
    nodes.set(node, fresh);
    return fresh;
  }

  const editionAmong = (list: readonly Told[], version: string): Edition | undefined =>
    list.find(({ edition }) => edition.version === version)?.edition;

  /** Nodes may not know yet that it was retired, before this time. */
  const mayBeRetired = (number: number, before: number): boolean =>
    retirements.some(
      ({ versions, at }) => at <= before && versions.some((version) => numberOf(version) === number),
    );

  return {
    publishing(version) {
      retired.delete(version);
      tried.add(version);
    },
    retiring(version, at) {
      const served = told.filter(({ edition }) => version === null || edition.version === version);
      told = told.filter((each) => !served.includes(each));
      const retirement = { versions: version === null ? [...tried] : [version], at };
      retirements.push(retirement);
      return (isRetired) => {
        if (!isRetired) retirements = retirements.filter((each) => each !== retirement);
        if (!isRetired && served.length > 0)
          throw new ModelError(`the dataset: ${version ?? 'a version'} was published, and cannot be retired`);
        const known = version === null ? served.map(({ edition }) => edition.version) : [version];
        if (isRetired) retired = new Set([...retired, ...known]);
      };
    },
    recovering(at) {
      // Unless the command tells, anything may be retired, and any number may belong to other items.
      const [toldBefore, publishedBefore] = [told, published];
      [told, published] = [[], []];
      const retirement = { versions: [...tried], at };
      retirements.push(retirement);
      return (found) => {
        const { retired: again, replaced } = found ?? { retired: [], replaced: [] };
        const gone = [...again, ...replaced];
        told = toldBefore.filter(({ edition }) => !gone.includes(edition.version));
        published = publishedBefore.filter(({ edition }) => !replaced.includes(edition.version));
        retired = new Set([...retired, ...gone]);
        // Nodes may go back behind these alone.
        retirements = retirements.filter((each) => each !== retirement);
        retirements.push({ versions: gone, at });
      };
    },
    acknowledged(edition, at) {
      const before = editionAmong(published, edition.version);
      if (before !== undefined && before !== edition)
        throw new ModelError(`the dataset: ${edition.version} was published with other items`);
      if (before === undefined) published.push({ edition, at });
      if (editionAmong(told, edition.version) === undefined) told.push({ edition, at });
    },
    refused(edition, reason) {
      if (editionAmong(published, edition.version) === edition)
        throw new ModelError(`the dataset: ${edition.version} is refused, and was published: ${reason}`);
    },
    restored(backupAt) {
      // What was told in the instant of the copy may be in it or not.
      told = told.filter(({ at }) => at < backupAt);
      published = published.filter(({ at }) => at < backupAt);
      retired = new Set();
    },
    answered({ node, epoch, isOverRestore, sentAt, answeredAt, asked, rcode, text }) {
      const fail = (reason: string): never => {
        throw new ModelError(
          `${node} answers of the dataset: ${JSON.stringify(asked)} is ${text}: ${reason}`,
        );
      };
      if (rcode !== 'NOERROR') fail(rcode);
      if (level !== null) {
        const edition = level.find(({ version }) => isOf(asked, version));
        const wanted = edition === undefined ? null : textOf(edition, asked);
        if (text !== wanted) fail(`and not ${wanted}`);
      }
      if (text === null) return;
      const edition = editionIn(text);
      if (edition === null || textOf(edition, asked) !== text) return fail('no version has it');
      if (isOverRestore || (asked.operation === 'manifest' && asked.version !== null)) return;
      const number = numberOf(edition.version);
      const { newest } = shownBy(node, epoch);
      const before = newest.findLast(({ at }) => at < sentAt);
      const isBehind = before !== undefined && before.number > number;
      if (isBehind && !mayBeRetired(before.number, answeredAt))
        fail(`version ${before.number} was answered before`);
      if (isBehind || (newest.at(-1)?.number ?? 0) < number) newest.push({ at: answeredAt, number });
    },
    level(served) {
      level = null;
      if (served === null) return;
      // From here on the answer itself is foreseen.
      retirements = [];
      for (const { newest } of nodes.values()) newest.length = 0;
      for (const { edition } of told) {
        const found = served.filter(({ version }) => version === edition.version);
        if (found.length !== 1 || found[0]!.sha256 !== edition.signed.sha256)
          throw new ModelError(`the dataset: ${edition.version} was published, and is not served`);
      }
      const back = served.find(({ version }) => retired.has(version));
      if (back !== undefined) throw new ModelError(`the dataset: ${back.version} was retired, and is served`);
      const newestFirst = served.toSorted((a, b) => numberOf(b.version) - numberOf(a.version));
      level = newestFirst.map(({ version, sha256 }) => {
        const edition = editionWith(sha256);
        if (edition?.version === version) return edition;
        throw new ModelError(`the dataset: what is served as ${version} is no version of the operator`);
      });
    },
  };
}

/** Whether a version answers, where it is the newest. */
function isOf(asked: RegistryQuestion, version: string): boolean {
  return asked.operation === 'identity' || asked.version === null || asked.version === version;
}

/** By the text of its items, or its hash. */
function editionIn(text: string): Edition | null {
  const sha256 = /;sha256=([0-9a-f]+);/.exec(text)?.[1];
  if (sha256 !== undefined) return editionWith(sha256);
  const [, version, content] = /;brand=([0-9.]+) ([ab]);/.exec(text) ?? [];
  return version === undefined ? null : editionOf(numberOf(version), content as Edition['content']);
}

/** What this version answers. */
function textOf({ signed, windows }: Edition, asked: RegistryQuestion): string | null {
  const view = {
    manifest: (_: string, version: string | null) =>
      version === null || version === signed.version ? signed : null,
    identity: (_: string, item: string) => windows.get(item) ?? [],
  };
  return datasetText(view, asked, NOW);
}

/** Unix seconds, after each instant at which a window of the files ends or begins. */
const NOW = 2_000_000_000;
