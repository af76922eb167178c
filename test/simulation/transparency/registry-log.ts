/** The transparency log of the registry: its key and beginning, its signers, who reads it, and what must hold of it at rest. */
import { initLog, type LogKeys, verifierKeyOfLog } from '../../../src/control/transparency/init.ts';
import { type Recovered, recoverLog } from '../../../src/control/transparency/recover.ts';
import type { LogKey, SignerReport } from '../../../src/control/transparency/signer.ts';
import type { ControlTransparency } from '../../../src/process/control/control-work.ts';
import { readProofTxt } from '../../../src/protocol/datasets/log-txt.ts';
import { manifestTxt } from '../../../src/protocol/datasets/manifest.ts';
import type { TrustPolicy } from '../../../src/protocol/transparency/policy.ts';
import { sameOctets } from '../../../src/protocol/transparency/tree.ts';
import type { Store } from '../../../src/store/store.ts';
import { lastPublishedCheckpoint, readLogHead } from '../../../src/store/transparency.ts';
import { keyOf } from '../../support/protocol/transparency/small-log.ts';
import type { Common, ProcessPorts } from '../common.ts';
import type { SimulatedControl } from '../control.ts';
import type { Database } from '../database.ts';
import { type Edition, editionOf, editionWith, numberOf, SLUG, versionOf } from '../datasets/editions.ts';
import type { LogQuestion } from '../edge/dataset-answers.ts';
import { InvariantError } from '../invariants.ts';
import type { ServedVersion } from '../model/datasets.ts';
import type { Random } from '../random.ts';
import { createMonitor, type Get } from './monitor.ts';
import { createWitnesses } from './witnesses.ts';

export interface RegistryLog {
  /** The operator begins it, and has a backup of that. */
  begin(): Promise<void>;
  enter(step: number): void;
  /** Something happens to witnesses, and the monitor may look. */
  perhaps(): void;
  ofControl(ports: ProcessPorts): ControlTransparency;
  /** A control process has said that witnesses hold more than the database, and the monitor has what is missing. */
  mayRecover(): boolean;
  /** What the operator does then. */
  recover(deps: Pick<Parameters<typeof recoverLog>[0], 'store' | 'clock'>): Promise<Recovered>;
  /** A node was asked. Null: it has none. @throws InvariantError */
  answered(node: string, asked: LogQuestion, text: string | null): void;
  /** All that is published is in the log, and a quorum has cosigned it. @param recover the operator's command @throws InvariantError */
  settled(recover: () => void, served: () => Promise<readonly ServedVersion[]>): Promise<void>;
  /** From now on nodes answer what is published. Null: no more. */
  level(served: readonly ServedVersion[] | null): void;
}

interface RegistryLogOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  readonly database: Database;
  readonly controls: readonly SimulatedControl[];
  readonly random: Random;
  readonly epoch: () => string;
  readonly wrong: (error: unknown) => void;
}

const ORIGIN = 'api.example.test/log';
const KEY: LogKey = { origin: ORIGIN, privateKey: keyOf(ORIGIN) };
/** In so many steps of a storm the monitor looks. */
const LOOKS = 0.5;
/** The turn of a process that died, the longest pause of a loop that failed, and some passes. */
const SETTLED_MS = 240_000;
const STEP_MS = 1_000;

/** Proofs of the first versions are asked for over REST: most storms have few more. */
const VERSIONS = 4;
const NOTHING = new Uint8Array(0);

interface SaidRow {
  readonly name: string;
  readonly leaf: Uint8Array;
}

/** Versions that the log says are served, by the last entry of their name. */
const SAID = `select name, leaf from log_entries where kind = 'manifest' and idx in (
    select max(idx) from log_entries where kind <> 'key' group by name)`;
const UNPROVED = "select name from log_entries where kind = 'manifest' and proof is null";

export function createRegistryLog(options: RegistryLogOptions): RegistryLog {
  const { scheduler, counters, trace, database, controls, random, wrong } = options;
  const witnesses = createWitnesses(options);
  const policy: TrustPolicy = { ...witnesses.policy, logs: [{ key: verifierKeyOfLog(KEY), url: null }] };
  const monitor = createMonitor(policy);
  const reports = new Map<string, SignerReport>();
  /** The log and the database may have parted: the log may say of a version that it is served, which the database lost. */
  let wasRecovered = false;
  /** Leaves of the versions of which nodes answer a proof, the newest first, and with them the head that is published; null: they may be behind. */
  let level: ReadonlyMap<string, Uint8Array> | null = null;
  let isSettled = false;
  let isLooking = false;

  function look(control: SimulatedControl): void {
    if (isLooking) return;
    const get: Get = (path) => control.request({ method: 'GET', path });
    isLooking = true;
    // Drawn now: what a later step draws does not depend on it.
    readAll(get, random.between(1, VERSIONS))
      .catch(wrong)
      .finally(() => {
        isLooking = false;
      });
  }

  /** @param number of the version whose proof is asked for */
  async function readAll(get: Get, number: number): Promise<void> {
    await monitor.round(get);
    const answer = await get(`/log/proofs/${SLUG}/${versionOf(number)}`);
    if (answer?.status === 200) monitor.proved(String(answer.body), leavesOf(number));
  }

  /** @param text null: the node has none */
  function headAnswered(node: string, text: string | null): void {
    const note = text && Buffer.from(text.slice(text.indexOf(';d=') + 3), 'base64').toString('utf8');
    const size = note === null ? 0 : monitor.shown(note);
    if (level !== null && size !== monitor.size)
      throw new InvariantError(`${node} answers a head of ${size} entries for ${monitor.size}`);
  }

  /** @param asked the version; null: the latest */
  function proofAnswered(node: string, asked: string | null, text: string | null): void {
    const answer = text === null ? null : readProofTxt(text);
    const latest = level?.keys().next().value ?? null;
    const wanted = asked ?? latest;
    const isOther = text !== null && (answer?.slug !== SLUG || (wanted ?? answer.version) !== answer.version);
    const isServed = wanted !== null && level?.has(wanted) === true;
    if (isOther || (level !== null && isServed !== (text !== null)))
      throw new InvariantError(`${node} answers ${text}, asked for a proof of ${asked ?? 'the latest'}`);
    if (answer === null) return;
    const served = level?.get(answer.version);
    monitor.proved(answer.proof, served === undefined ? leavesOf(numberOf(answer.version)) : [served]);
  }

  async function names(sql: string): Promise<readonly string[]> {
    const { rows } = await database.truth.read.execute<{ name: string }>(sql, []);
    return rows.map(({ name }) => name);
  }

  /** @returns why the log is not at rest; null: it is */
  async function unsettled(): Promise<string | null> {
    const db: Store['read'] = database.truth.read;
    const entries = (await readLogHead(db))?.size ?? 0;
    const published = (await lastPublishedCheckpoint(db))?.size ?? 0;
    if (published !== entries) return `${published} of ${entries} entries are published`;
    const [unproved] = await names(UNPROVED);
    if (unproved !== undefined) return `${unproved} has no proof`;
    if (witnesses.largest() > published)
      return `a witness has ${witnesses.largest()} entries, and ${published} are published`;
    if (monitor.size !== published) return `the monitor has ${monitor.size} of ${published} entries`;
    return null;
  }

  async function checkSaid(served: readonly ServedVersion[]): Promise<void> {
    const { rows } = await database.truth.read.execute<SaidRow>(SAID, []);
    const said = new Map(rows.map(({ name, leaf }) => [name, leaf]));
    for (const [version, leaf] of leavesIn(served)) {
      const name = `${SLUG}@${version}`;
      if (!sameOctets(said.get(name) ?? NOTHING, leaf))
        throw new InvariantError(`the log does not say that ${name} is served, with its items`);
      said.delete(name);
    }
    const [lost] = said.keys();
    if (lost !== undefined && !wasRecovered)
      throw new InvariantError(`the log says that ${lost} is served, and it is not`);
  }

  return {
    async begin() {
      let made: LogKey | null = null;
      const keys: LogKeys = {
        find: async () => made,
        async make() {
          made = KEY;
          return true;
        },
      };
      await initLog({ store: database.truth, clock: scheduler.now }, keys, ORIGIN);
      witnesses.trust(verifierKeyOfLog(KEY));
      database.copy('backup');
    },
    enter: (step) => random.enter(step),
    perhaps() {
      witnesses.perhaps(random);
      if (random.chance(LOOKS)) look(random.pick(controls));
    },
    ofControl: (ports) => ({
      policy: witnesses.policy,
      send: witnesses.clientOf(ports),
      findKey: async () => KEY,
      onReport(report) {
        const { name } = ports;
        if (reports.get(name)?.state !== report.state) {
          trace(
            `${name}: the log is ${report.state}: ${report.entries}, ${report.signed}, ${report.published}`,
          );
          counters.count(`log ${report.state}`);
        }
        reports.set(name, report);
      },
      onError: (error) => trace(`${ports.name}: the log: ${String(error)}`),
    }),
    mayRecover,
    async recover({ store, clock }) {
      // Whether that helped, the next pass tells.
      reports.clear();
      wasRecovered = true;
      const found = await recoverLog({ store, clock, policy: witnesses.policy, key: KEY }, monitor.source);
      for (const what of ['missing', 'retired', 'replaced'] as const)
        counters.count(`recovered: ${what}`, found[what].length);
      return found;
    },
    answered(node, asked, text) {
      if (asked.operation === 'checkpoint') headAnswered(node, text);
      else proofAnswered(node, asked.version, text);
    },
    async settled(recover, served) {
      witnesses.mend();
      for (const began = scheduler.now(); ; await scheduler.advance(STEP_MS)) {
        const reason = await unsettled();
        if (reason === null) break;
        look(random.pick(controls));
        if (mayRecover()) recover();
        else if (isEnded()) {
          counters.count('log ended');
          await checkSaid(await served());
          return;
        }
        if (scheduler.now() - began > SETTLED_MS)
          throw new InvariantError(`the log is not at rest: ${reason}`);
      }
      counters.count('log at rest');
      isSettled = true;
      await checkSaid(await served());
    },
    level(served) {
      level = served !== null && isSettled ? leavesIn(served) : null;
    },
  };

  function mayRecover(): boolean {
    return [...reports.values()].some(({ state, signed }) => state === 'behind' && monitor.size > signed);
  }

  /** A witness has more than anybody kept: as documented, another log has to begin. */
  function isEnded(): boolean {
    return (
      witnesses.largest() > monitor.size && [...reports.values()].some(({ state }) => state === 'behind')
    );
  }
}

/** What the entry of a version may be. */
function leavesOf(number: number): readonly Uint8Array[] {
  return (['a', 'b'] as const).map((content) => leafOf(editionOf(number, content)));
}

function leafOf({ signed }: Edition): Uint8Array {
  return Buffer.from(manifestTxt(signed));
}

/** Of the versions that are served, the newest first. */
function leavesIn(served: readonly ServedVersion[]): ReadonlyMap<string, Uint8Array> {
  const newestFirst = served.toSorted((a, b) => numberOf(b.version) - numberOf(a.version));
  return new Map(newestFirst.map(({ version, sha256 }) => [version, leafOf(editionWith(sha256)!)]));
}
