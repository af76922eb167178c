import type { ChangeCause } from '../../protocol/change.ts';
import { statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';
import { BLOCK } from './change-log.ts';

/** A change of one customer as the log has it, without its payload. */
export interface OwnChange {
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly cause: ChangeCause;
  readonly type: string;
  readonly namespace: string;
  /** Of a record; null for other types. */
  readonly key: string | null;
  /** JSON of the members that have no column. */
  readonly body: string;
}

const COLUMNS = 'l.seq, l.at, l.cause, l.type, l.namespace, l.key, l.body';

/** The first block may have none of the customer's changes left: before `after`, or pruned. */
const BLOCKS = `select block from feed_blocks where owner = :owner and block >= :block order by block limit :limit + 1`;

/** Rows in order of their blocks are in order of `seq`. CROSS JOIN holds SQLite to this order of loops. */
const OWN = statement<{ owner: string; after: number; block: number; limit: number }, OwnChange>(
  `select ${COLUMNS} from (${BLOCKS}) as b cross join change_log as l
  where l.seq >= b.block * ${BLOCK} and l.seq < (b.block + 1) * ${BLOCK} and l.seq > :after and l.owner = :owner
  order by b.block, l.seq limit :limit`,
  {
    // A join by a range has no index of both ends: LATERAL looks each block up by the primary key of the log.
    postgres: `select ${COLUMNS} from (${BLOCKS}) as b cross join lateral (
      select * from change_log as r
      where r.seq >= b.block * ${BLOCK} and r.seq < (b.block + 1) * ${BLOCK} and r.seq > :after and r.owner = :owner order by r.seq
    ) as l order by b.block, l.seq limit :limit`,
  },
);

/**
 * The next changes of a customer, in commit order.
 * @param after the `seq` after which they stand
 * @param limit rows at most. Fewer: these are all, as far as the log goes
 */
export function ownChanges(
  db: Db,
  query: { readonly owner: string; readonly after: number; readonly limit: number },
): Promise<OwnChange[]> {
  return OWN.all(db, { ...query, block: Math.floor((query.after + 1) / BLOCK) });
}

const ALL = statement<{ after: number; limit: number }, OwnChange & { readonly owner: string | null }>(
  `select owner, ${COLUMNS} from change_log as l where l.seq > :after order by l.seq limit :limit`,
);

/** The next changes of all customers and of the operator, for those who follow at the end of the log. */
export function changesAfter(
  db: Db,
  after: number,
  limit: number,
): Promise<(OwnChange & { readonly owner: string | null })[]> {
  return ALL.all(db, { after, limit });
}
