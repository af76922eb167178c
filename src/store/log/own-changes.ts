import type { ChangeCause } from '../../protocol/change.ts';
import { statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';

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
const UNITS = `select first, last from feed_units where owner = :owner and last > :after order by last limit :limit`;

/** Units of one customer never overlap, so rows in order of their units are in order of `seq`. CROSS JOIN holds SQLite to this order of loops. */
const OWN = statement<{ owner: string; after: number; limit: number }, OwnChange>(
  `select ${COLUMNS} from (${UNITS}) as u cross join change_log as l
  where l.seq >= u.first and l.seq > :after and l.seq <= u.last and l.owner = :owner
  order by u.last, l.seq limit :limit`,
  {
    // A join by a range has no index of both ends: LATERAL looks each unit up by the primary key of the log.
    postgres: `select ${COLUMNS} from (${UNITS}) as u cross join lateral (
      select * from change_log as r
      where r.seq >= u.first and r.seq > :after and r.seq <= u.last and r.owner = :owner order by r.seq
    ) as l order by u.last, l.seq limit :limit`,
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
  return OWN.all(db, query);
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
