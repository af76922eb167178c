import type { Database } from '../database.ts';
import type { Publishing } from '../datasets/publishing.ts';
import { InvariantError } from '../invariants.ts';
import type { DatasetsCheck } from '../model/datasets.ts';
import { type Answers, checkShown } from '../model/usage.ts';
import type { SimulatedNode } from '../node.ts';
import type { Scheduler } from '../scheduler.ts';
import type { RegistryLog } from '../transparency/registry-log.ts';
import type { Truth } from '../truth.ts';
import { ERASED_MS, type JudgedCustomers } from './judged.ts';

interface Rested {
  readonly scheduler: Scheduler;
  readonly customers: JudgedCustomers;
  readonly database: Database;
  readonly truth: Pick<Truth, 'used' | 'versions' | 'closing' | 'waiting' | 'orphaned'>;
  readonly publishing: Publishing | null;
  readonly datasets: DatasetsCheck;
  /** Null: there is no transparency log. */
  readonly log: RegistryLog | null;
  readonly nodes: readonly SimulatedNode[];
  /** @throws what was found to be wrong */
  readonly look: () => Promise<void>;
}

const STEP_MS = 250;
/** Until nodes have the last write: heartbeats come twice a second. */
const LEVEL_MS = 2_000;
const ASKED_TIMES = 6;
/** A lease of a process that died has to end first. */
const DELIVERED_MS = 120_000;
/**
 * Twenty failures in a row disable a webhook, with rests of up to a minute between them (docs/WEBHOOKS.md). A success among them begins the count
 * anew.
 */
const ENDED_MS = 3_000_000;
/** Ten seconds are documented (docs/api/records.md), from the end of the last delivery. */
const ERASED_AFTER_DELIVERY_MS = 12_000;

/** Other processes look for what was left unfinished every five seconds. */
const DELETED_MS = 30_000;

const NONE: Answers = { byName: new Map(), total: 0 };

/** With nothing that fails: everybody reads everything, nodes answer as the tables are, what was sent arrives, and what was deleted is gone. */
export async function satisfied({
  scheduler,
  customers,
  database,
  truth,
  nodes,
  publishing,
  datasets,
  log,
  look,
}: Rested): Promise<void> {
  async function until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await scheduler.advance(STEP_MS);
    await look();
  }

  const { team, keeper, evaluations } = customers;
  await until(
    () =>
      customers.underWay() === 0 &&
      [publishing?.isRunning(), team?.isActing(), keeper?.isActing(), evaluations?.isActing()].every(
        (isUnderWay) => isUnderWay !== true,
      ),
  );
  if (customers.hasLeft()) await accountsAreGone();
  // Where a command was killed, the next one goes on, and must succeed.
  publishing?.finish();
  let isRead = false;
  void customers.readAll().then(() => {
    isRead = true;
  });
  await until(() => isRead);
  await until(() => publishing?.isRunning() !== true);
  if (publishing?.isFinished() === false)
    throw new InvariantError('the dataset: a command fails with nothing that fails');
  team?.finish();
  await until(() => team?.isActing() !== true);
  keeper?.finish();
  await until(() => keeper?.isActing() !== true);
  evaluations?.finish();
  await until(() => evaluations?.isActing() !== true);
  await log?.settled(
    () => publishing?.recover(),
    () => truth.versions(),
  );
  await until(() => publishing?.isRunning() !== true);
  await usageIsShown();
  await scheduler.advance(LEVEL_MS);
  customers.level(scheduler.now());
  const served = publishing === null ? [] : await truth.versions();
  if (publishing !== null) datasets.level(served);
  log?.level(served);
  for (const node of nodes) node.isAskedOfDatasets();
  for (let times = ASKED_TIMES; times > 0; times--) {
    for (const node of nodes) node.isAsked();
    await scheduler.advance(STEP_MS);
  }
  await look();
  customers.level(null);
  datasets.level(null);
  log?.level(null);
  await within(DELIVERED_MS, () => {
    const text = customers.missingDelivery();
    if (text !== null) throw new InvariantError(text);
  });
  if (customers.deliveriesEnd) await deliveriesHaveEnded();
  // What went with an account has to be gone by now.
  if (customers.hasLeft()) await scheduler.advance(ERASED_MS);
  await within(ERASED_AFTER_DELIVERY_MS, () => {
    for (const file of database.files()) customers.erasure.look('the database', file);
  });
  const orphaned = await truth.orphaned();
  if (orphaned.length > 0)
    throw new InvariantError(`rows of what was deleted are left: ${orphaned.join(', ')}`);
  await look();

  async function accountsAreGone(): Promise<void> {
    for (const began = scheduler.now(); (await truth.closing()) > 0; ) {
      if (scheduler.now() - began > DELETED_MS)
        throw new InvariantError('the deletion of an account or a namespace does not end');
      await scheduler.advance(STEP_MS);
    }
    customers.settled();
  }

  async function deliveriesHaveEnded(): Promise<void> {
    for (const began = scheduler.now(); (await truth.waiting()) > 0; ) {
      if (scheduler.now() - began > ENDED_MS) throw new InvariantError('a delivery does not end');
      await scheduler.advance(STEP_MS);
    }
    customers.deliveriesHaveEnded();
  }

  async function usageIsShown(): Promise<void> {
    const before = await truth.used();
    let shown: ReadonlyMap<string, Answers> | null = null;
    void customers.readUsage().then((read) => {
      shown = read;
    });
    await until(() => shown !== null);
    const after = await truth.used();
    for (const [mail, answers] of shown!)
      checkShown(mail, answers, before.get(mail) ?? NONE, after.get(mail) ?? NONE);
  }

  /** @throws what `check` throws until then */
  async function within(ms: number, check: () => void): Promise<void> {
    const began = scheduler.now();
    for (;;) {
      try {
        check();
        return;
      } catch (error) {
        if (scheduler.now() - began > ms) throw error;
      }
      await scheduler.advance(STEP_MS);
    }
  }
}
