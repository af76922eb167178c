/** What a chart draws, in a square of 100 by 100. */

export interface ChartSeries {
  readonly name: string;
  /** A colour of the style sheet: `--tone-…`. */
  readonly tone: 'good' | 'warn' | 'bad' | 'info' | 'dim';
  readonly values: readonly number[];
}

export interface ChartData {
  /** Seconds since 1970, ascending, at equal distances. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Bars on top of each other in place of lines. */
  readonly isStacked?: boolean;
  /** Where a line stands across the chart. */
  readonly level?: number;
}

export interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly tone: ChartSeries['tone'];
}

export const SIZE = 100;
/** Part of a step that a bar fills. */
const FILLED = 0.85;

/** The highest value, sum of values or line: at least 1. */
export function topOf({ times, series, isStacked, level = 0 }: ChartData): number {
  let top = Math.max(1, level);
  for (const at of times.keys()) {
    const values = series.map(({ values }) => values[at] ?? 0);
    top = Math.max(top, isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values));
  }
  return top;
}

/** Bars from the bottom up, in the order of the series. Those of no height are left out. */
export function barsOf(data: ChartData): Bar[] {
  const top = topOf(data);
  const step = SIZE / Math.max(1, data.times.length);
  const bars: Bar[] = [];
  for (const at of data.times.keys()) {
    let below = 0;
    for (const { values, tone } of data.series) {
      const value = values[at] ?? 0;
      if (value <= 0) continue;
      below += value;
      const y = SIZE - (below / top) * SIZE;
      bars.push({ x: at * step, y, width: step * FILLED, height: (value / top) * SIZE, tone });
    }
  }
  return bars;
}

/** The `points` of a line through the middles of the steps. */
export function lineOf({ values }: ChartSeries, top: number): string {
  const step = SIZE / Math.max(1, values.length);
  return values.map((value, at) => `${(at + 0.5) * step},${SIZE - (value / top) * SIZE}`).join(' ');
}

/** The times at two places, each 0 at the left and 1 at the right. @returns the earlier one first */
export function rangeOf(times: readonly number[], from: number, until: number): readonly [number, number] {
  const first = times[0] ?? 0;
  const step = (times[1] ?? first + 1) - first;
  const at = (share: number): number => first + Math.max(0, Math.min(1, share)) * step * times.length;
  return [at(Math.min(from, until)), at(Math.max(from, until))];
}
