import { InvariantError } from './invariants.ts';
import type { Scheduler } from './scheduler.ts';
import type { Truth } from './truth.ts';

/** Every answer that a node counted, and how many of them a killed process may have lost. */
export interface UsageLedger {
  /** One answer. @param isSure false: it may count, because it came while that changed */
  readonly answered: (node: string, namespaceId: string, isSure: boolean) => void;
  /** Answers of all nodes, by id of the namespace. */
  readonly given: ReadonlyMap<string, number>;
  /** Its machine may have lost power. */
  killed(node: string): void;
  /** The node could not write its spool until now. */
  diskWasFull(node: string): void;
  /** Answers may be missing for a reason that nobody counts: a backup was restored, or their namespace is gone. */
  excuse(): void;
  /** Answers that no process lost and that the database lacks. */
  missing(): Promise<number>;
  /** @throws InvariantError for an answer that was counted twice */
  check(): Promise<void>;
}

/** A killed process loses at most this (src/dns/accounting/README.md). An answer waits in memory for two looks at the outbox. */
const SPOOLED_WITHIN_MS = 7_000;

export function createUsageLedger(scheduler: Scheduler, truth: Truth): UsageLedger {
  const given = new Map<string, number>();
  /** When a node gave its answers. */
  const recent = new Map<string, number[]>();
  const unspooledSince = new Map<string, number>();
  let total = 0;
  let forgiven = 0;
  let isExcused = false;

  return {
    given,
    answered(node, namespaceId, isSure) {
      given.set(namespaceId, (given.get(namespaceId) ?? 0) + 1);
      if (!isSure) return;
      total++;
      const list = recent.get(node) ?? [];
      recent.set(node, list);
      list.push(scheduler.now());
    },
    killed(node) {
      const now = scheduler.now() - SPOOLED_WITHIN_MS;
      const since = Math.min(unspooledSince.get(node) ?? Number.POSITIVE_INFINITY, now);
      unspooledSince.delete(node);
      for (const at of recent.get(node) ?? []) if (at >= since) forgiven++;
      recent.set(node, []);
    },
    diskWasFull(node) {
      const since = scheduler.now() - SPOOLED_WITHIN_MS;
      unspooledSince.set(node, Math.min(since, unspooledSince.get(node) ?? since));
    },
    excuse() {
      isExcused = true;
    },
    async missing() {
      if (isExcused) return 0;
      let added = 0;
      for (const answers of (await truth.answers()).values()) added += answers;
      return total - added - forgiven;
    },
    async check() {
      for (const [namespaceId, answers] of await truth.answers()) {
        const most = given.get(namespaceId) ?? 0;
        if (answers > most) throw new InvariantError(`usage: ${answers} answers were counted of ${most}`);
      }
    },
  };
}
