export const DIGITS_MAX = 1000;
/** Digits that are computed beyond the last one, and lost by rounding. */
const GUARD = 10;

let computed: string | null = null;

/** Digits of pi behind the point, cut off and not rounded. The first call computes all (1 ms). @param count 1 to `DIGITS_MAX` */
export function piDigits(count: number): string {
  computed ??= machin(DIGITS_MAX);
  return computed.slice(0, count);
}

/** pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin, 1706). */
function machin(digits: number): string {
  const unit = 10n ** BigInt(digits + GUARD);
  const pi = 16n * arctanOfInverse(5n, unit) - 4n * arctanOfInverse(239n, unit);
  // Behind the 3.
  return pi.toString().slice(1, digits + 1);
}

/** arctan(1 / x) in units of 1 / `unit`. */
function arctanOfInverse(x: bigint, unit: bigint): bigint {
  let power = unit / x;
  let sum = power;
  for (let n = 3n; power !== 0n; n += 2n) {
    power /= -(x * x);
    sum += power / n;
  }
  return sum;
}
