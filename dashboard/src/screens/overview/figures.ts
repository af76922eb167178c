/** The numbers of the overview. */
import type { QueryCounts } from '../../../../sdk/src/uqrp-sdk.ts';

export type FigureName = 'answers' | 'hits' | 'refused';

export interface Figure {
  readonly name: FigureName;
  /** A number of answers, or of `hits` the share of them; null: of nothing there is no share. */
  readonly value: number | null;
  /** For the small line, one for each step. */
  readonly points: readonly number[];
  /** Against as many hours before: a ratio such as 0.12 for 12 % more, of `hits` the points of the share. Null: not known, or nothing was before. */
  readonly change: number | null;
}

type Counts = Readonly<Record<string, QueryCounts['groups'][number] | undefined>>;

const ANSWERED = ['hit', 'miss', 'expired'] as const;

/** @param queries by status */
export function figuresOf(queries: QueryCounts): readonly Figure[] {
  const by: Counts = Object.fromEntries(queries.groups.map((group) => [group.key, group]));
  const places = queries.groups[0]?.counts.length ?? 0;
  const steps = (names: readonly string[]): number[] =>
    Array.from({ length: places }, (_, at) => sum(names.map((name) => by[name]?.counts[at] ?? 0)));
  const totalOf = (names: readonly string[], side: 'total' | 'before'): number | null =>
    names.some((name) => by[name]?.trend === null)
      ? null
      : sum(names.map((name) => by[name]?.trend?.[side] ?? 0));
  const all = queries.groups.map(({ key }) => key ?? '');
  const hits = steps(['hit']);
  const answered = steps(ANSWERED);
  return [
    {
      name: 'answers',
      value: queries.total,
      points: steps(all),
      change: ratio(totalOf(all, 'total'), totalOf(all, 'before')),
    },
    {
      name: 'hits',
      value: share(by.hit?.total ?? 0, sum(answered)),
      points: hits.map((count, at) => share(count, answered[at]!) ?? 0),
      change: difference(
        share(totalOf(['hit'], 'total'), totalOf(ANSWERED, 'total')),
        share(totalOf(['hit'], 'before'), totalOf(ANSWERED, 'before')),
      ),
    },
    {
      name: 'refused',
      value: by.refused?.total ?? 0,
      points: steps(['refused']),
      change: ratio(totalOf(['refused'], 'total'), totalOf(['refused'], 'before')),
    },
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function share(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole === 0 ? null : part / whole;
}

function ratio(now: number | null, before: number | null): number | null {
  return now === null || before === null || before === 0 ? null : (now - before) / before;
}

function difference(now: number | null, before: number | null): number | null {
  return now === null || before === null ? null : now - before;
}
