import type { QueryStatus } from '../../protocol/query/outcome.ts';
import { listStatement, type Statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';
import type { HOUR, Interval, MINUTE } from './counts.ts';
import { SPLIT_KINDS, type SplitKind } from './tables.ts';

/** What counts are divided by. The first two are of series, which have minutes too. */
export const COUNT_GROUPS = ['status', 'namespace', ...SPLIT_KINDS] as const;
export type CountGroup = (typeof COUNT_GROUPS)[number];

export interface StepOptions {
  /** `dropped`: the rows that nodes did not keep. */
  readonly group: CountGroup | 'dropped';
  /** Only of series. */
  readonly status: QueryStatus | null;
  /** Of the counts that are added up. Splits have hours alone. */
  readonly span: typeof MINUTE | typeof HOUR;
  /** Begins and ends between counts. */
  readonly interval: Interval;
  /** Milliseconds of a step: a multiple of the span. The first begins with the interval. */
  readonly step: number;
}

/** Rows of a status, namespace (its id) or value in one step of an interval. */
interface StepCount {
  readonly key: string;
  /** From 0 on. */
  readonly place: number;
  readonly total: number;
}

type Parameters = Interval & {
  ids: readonly string[];
  span: number;
  step: number;
  status: string;
  /** Where each step begins, as a JSON list. */
  starts: string;
};

/** A step of fewer counts is grouped faster than looked for. */
const FEW = 6;

interface StepStatements {
  /** Groups every count by its step. */
  readonly grouped: Statement<Parameters, StepCount>;
  /** Looks for each step of each series in the key of the table: on SQLite a fifth of the time, where a step has many counts. */
  readonly sought: Statement<Parameters, StepCount>;
}

function stepStatements(key: string, table: string, where: string): StepStatements {
  const grouped = `select ${key} as key, cast((c.start - :since) / :step as integer) as place, sum(c.total) as total
    from ${table} s join query_log_counts c on c.series_id = s.id and c.span = :span and c.start >= :since and c.start < :until
    where s.namespace_id in (:ids) and ${where} group by 1, 2`;
  return {
    grouped: listStatement<Parameters, StepCount>(grouped, 'text'),
    sought: listStatement<Parameters, StepCount>(
      `select key, place, sum(total) as total from (
        select ${key} as key, p.key as place, (select sum(c.total) from query_log_counts c
          where c.series_id = s.id and c.span = :span and c.start >= p.value and c.start < p.value + :step) as total
        from ${table} s cross join json_each(:starts) p where s.namespace_id in (:ids) and ${where}
      ) group by 1, 2 having sum(total) > 0`,
      'text',
      { postgres: grouped },
    ),
  };
}

const OF_SERIES = `s.status <> 'dropped' and (:status = '' or s.status = :status)`;
const ofSplits = (kind: SplitKind): string => `s.kind = '${kind}' and :status = ''`;

const STATEMENTS: Readonly<Record<StepOptions['group'], StepStatements>> = {
  status: stepStatements('s.status', 'query_log_series', OF_SERIES),
  namespace: stepStatements('s.namespace_id', 'query_log_series', OF_SERIES),
  resource: stepStatements('s.value', 'query_log_splits', ofSplits('resource')),
  transport: stepStatements('s.value', 'query_log_splits', ofSplits('transport')),
  node: stepStatements('s.value', 'query_log_splits', ofSplits('node')),
  dropped: stepStatements('s.status', 'query_log_series', `s.status = 'dropped' and :status = ''`),
};

/** Namespaces of one statement. SQLite reads 30 days of five in a few milliseconds, and gives way to other work after them. */
const CHUNKS = { sqlite: 5, postgres: 50 } as const;

const WITH_SERIES = listStatement<{ readonly ids: readonly string[] }, { readonly id: string }>(
  `select distinct namespace_id as id from query_log_series where namespace_id in (:ids)
  union select namespace_id from query_log_splits where namespace_id in (:ids)`,
  'text',
);

/** Those of the namespaces for which queries were counted: of many that nobody asks for, each statement of counts would look for all. */
export async function countedNamespaces(db: Db, namespaceIds: readonly string[]): Promise<string[]> {
  return (await WITH_SERIES.all(db, { ids: namespaceIds })).map(({ id }) => id);
}

/** The counts of namespaces by step. A key that is in several namespaces comes several times. */
export async function countSteps(
  db: Db,
  namespaceIds: readonly string[],
  { group, status, span, interval, step }: StepOptions,
): Promise<StepCount[]> {
  const { since, until } = interval;
  const starts = Array.from(
    { length: Math.ceil((until - since) / step) },
    (_, place) => since + place * step,
  );
  const parameters = { ...interval, span, step, status: status ?? '', starts: JSON.stringify(starts) };
  const { grouped, sought } = STATEMENTS[group];
  const search = step < FEW * span ? grouped : sought;
  const chunk = CHUNKS[db.engine];
  const counts: StepCount[] = [];
  for (let start = 0; start < namespaceIds.length; start += chunk) {
    const ids = namespaceIds.slice(start, start + chunk);
    for (const one of await search.all(db, { ...parameters, ids })) counts.push(one);
  }
  return counts;
}
