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

type Parameters = Interval & { ids: readonly string[]; span: number; step: number; status: string };

/** Numbers come to SQLite as floats, whose division has a rest: hence the cast. */
function stepStatement(key: string, table: string, where: string): Statement<Parameters, StepCount> {
  return listStatement<Parameters, StepCount>(
    `select ${key} as key, cast((c.start - :since) / :step as integer) as place, sum(c.total) as total from ${table} s
    join query_log_counts c on c.series_id = s.id and c.span = :span and c.start >= :since and c.start < :until
    where s.namespace_id in (:ids) and ${where} group by 1, 2`,
    'text',
  );
}

const OF_SERIES = `s.status <> 'dropped' and (:status = '' or s.status = :status)`;
const ofSplits = (kind: SplitKind): string => `s.kind = '${kind}' and :status = ''`;

const STATEMENTS: Readonly<Record<StepOptions['group'], Statement<Parameters, StepCount>>> = {
  status: stepStatement('s.status', 'query_log_series', OF_SERIES),
  namespace: stepStatement('s.namespace_id', 'query_log_series', OF_SERIES),
  resource: stepStatement('s.value', 'query_log_splits', ofSplits('resource')),
  transport: stepStatement('s.value', 'query_log_splits', ofSplits('transport')),
  node: stepStatement('s.value', 'query_log_splits', ofSplits('node')),
  dropped: stepStatement('s.status', 'query_log_series', `s.status = 'dropped' and :status = ''`),
};

/** Namespaces of one statement: at most 36,000 hours of 30 days, about 10 ms on SQLite. */
const CHUNK = 10;

/** The counts of namespaces by step. A key that is in several namespaces comes several times. */
export async function countSteps(
  db: Db,
  namespaceIds: readonly string[],
  { group, status, span, interval, step }: StepOptions,
): Promise<StepCount[]> {
  const parameters = { ...interval, span, step, status: status ?? '' };
  const counts: StepCount[] = [];
  for (let start = 0; start < namespaceIds.length; start += CHUNK) {
    const ids = namespaceIds.slice(start, start + CHUNK);
    for (const one of await STATEMENTS[group].all(db, { ...parameters, ids })) counts.push(one);
  }
  return counts;
}
