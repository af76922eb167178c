/** Which rows of the audit log go: those past their days, and of a customer with too many the oldest. */
import { LIMITS } from '../base/limits.ts';
import { statement } from './engine/statement.ts';
import type { Store, Tx } from './store.ts';

/** Customers of one statement. */
const PAGE = 100;
/** Rows that one unit deletes: other writers wait for it. */
const UNIT = 500;
/** After that time a customer's rows are counted anew: rows that came late or went are not in the sum. */
const RECOUNT_MS = 86_400_000;

/** With the time of the oldest row; null: none. The log has no index by time alone, which would cost each action. */
const CUSTOMERS = statement<{ after: string; limit: number }, { id: string; oldest: number | null }>(
  `select c.id, (select a.at from audit_log as a where a.customer_id = c.id order by a.at, a.id limit 1) as oldest
  from customers as c where c.id > :after order by c.id limit :limit`,
);

const COUNT = statement<{ customerId: string; after: number }, { count: number; last: number | null }>(
  'select count(*) as count, max(at) as last from audit_log where customer_id = :customerId and at > :after',
);

const deleteSome = (
  condition: string,
): string => `delete from audit_log where customer_id = :customerId and (at, id) in (
  select at, id from audit_log where customer_id = :customerId and ${condition} order by at, id limit :limit) returning id`;

interface Some {
  readonly customerId: string;
  readonly limit: number;
}

const DELETE_AGED = statement<Some & { before: number }, { id: string }>(deleteSome('at < :before'));
const DELETE_OF_RECORDS = statement<Some, { id: string }>(deleteSome("action like 'record.%'"));
const DELETE_OLDEST = statement<Some, { id: string }>(deleteSome('at >= 0'));

/** Deletes the oldest rows of a customer: those of records, and when there is none left, any. @returns how many */
async function deleteOver(tx: Tx, some: Some): Promise<number> {
  const ofRecords = await DELETE_OF_RECORDS.all(tx, some);
  return ofRecords.length > 0 ? ofRecords.length : (await DELETE_OLDEST.all(tx, some)).length;
}

/** What was counted of a customer. Times are milliseconds since the epoch. */
interface Counted {
  readonly rows: number;
  /** Of the newest row that was counted. */
  readonly last: number;
  /** When all of them were counted. */
  readonly at: number;
}

interface RetentionOptions {
  readonly now: number;
  /** Milliseconds. */
  readonly keep: number;
  readonly signal: AbortSignal;
}

/** @returns deletes what is over. It remembers how many rows each customer had, so that each row is counted once a day */
export function openAuditRetention(
  store: Pick<Store, 'read' | 'write'>,
): (options: RetentionOptions) => Promise<void> {
  const known = new Map<string, Counted>();

  async function rowsOf(customerId: string, now: number): Promise<number> {
    const before = known.get(customerId);
    const isFresh = before !== undefined && now - before.at < RECOUNT_MS;
    const from = isFresh ? before : { rows: 0, last: -1, at: now };
    const found = await COUNT.first(store.read, { customerId, after: from.last });
    const rows = from.rows + (found?.count ?? 0);
    known.set(customerId, { rows, last: found?.last ?? from.last, at: from.at });
    return rows;
  }

  async function trim(customerId: string, { now, signal }: RetentionOptions): Promise<void> {
    if ((await rowsOf(customerId, now)) <= LIMITS.auditRows) return;
    known.delete(customerId);
    let excess = (await rowsOf(customerId, now)) - LIMITS.auditRows;
    while (excess > 0 && !signal.aborted) {
      const limit = Math.min(UNIT, excess);
      const gone = await store.write((tx) => deleteOver(tx, { customerId, limit }));
      if (gone === 0) break;
      excess -= gone;
    }
    known.delete(customerId);
  }

  return async (options) => {
    const { now, keep, signal } = options;
    const seen = new Set<string>();
    for (let after: string | undefined = ''; after !== undefined; ) {
      const customers: { id: string; oldest: number | null }[] = await CUSTOMERS.all(store.read, {
        after,
        limit: PAGE,
      });
      for (const { id, oldest } of customers) {
        if (signal.aborted) return;
        if (oldest === null) continue;
        seen.add(id);
        const aged = { customerId: id, before: now - keep, limit: UNIT };
        let gone = oldest < aged.before ? UNIT : 0;
        while (gone === UNIT && !signal.aborted) {
          gone = (await store.write((tx) => DELETE_AGED.all(tx, aged))).length;
        }
        await trim(id, options);
      }
      after = customers.length < PAGE ? undefined : customers.at(-1)?.id;
    }
    for (const id of known.keys()) if (!seen.has(id)) known.delete(id);
  };
}
