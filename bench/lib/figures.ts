export interface Spread {
  readonly middle: number;
  readonly least: number;
  readonly most: number;
}

/** Median, least and greatest value. */
export const spread = (values: readonly number[]): Spread => ({
  middle: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** @param share 0 to 1 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A table row: the first cell is aligned left, the others right. */
export function row(cells: readonly (string | number)[], width = 12): string {
  return cells
    .map((cell, i) =>
      i === 0 ? String(cell).padEnd(24) : (typeof cell === 'number' ? cell.toFixed(2) : cell).padStart(width),
    )
    .join('');
}

/** z of the test whether two samples are of one distribution: normal approximation. Times are real numbers, so ties are rare. */
export function mannWhitney(one: readonly number[], two: readonly number[]): number {
  const all = [...one.map((value) => ({ value, own: 1 })), ...two.map((value) => ({ value, own: 0 }))];
  const ranks = all.toSorted((a, b) => a.value - b.value).reduce((sum, { own }, i) => sum + own * (i + 1), 0);
  const [n, m] = [one.length, two.length];
  const u = ranks - (n * (n + 1)) / 2;
  return (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
}
