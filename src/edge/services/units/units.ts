import type { Linear } from './exact.ts';

export const CATEGORIES = ['temperature', 'length', 'mass', 'volume', 'speed'] as const;
export type Category = (typeof CATEGORIES)[number];

/** A fraction of whole numbers, in any terms. */
export type Fraction = readonly [numerator: bigint, denominator: bigint];

/** base = (value + offset) x scale; the bases are kelvin, metre, kilogram, litre and metre a second. */
export interface Unit {
  readonly slug: string;
  readonly category: Category;
  readonly scale: Fraction;
  readonly offset: Fraction;
}

const NO_OFFSET: Fraction = [0n, 1n];

/** Slug, scale, offset. Exact by definition: inch, pound, gallon, nautical mile and the two temperature scales. */
type Row = readonly [slug: string, numerator: bigint, denominator: bigint, offset?: Fraction];

const ROWS: Readonly<Record<Category, readonly Row[]>> = {
  temperature: [
    ['k', 1n, 1n],
    ['c', 1n, 1n, [27315n, 100n]],
    ['f', 5n, 9n, [45967n, 100n]],
  ],
  length: [
    ['m', 1n, 1n],
    ['km', 1000n, 1n],
    ['cm', 1n, 100n],
    ['mm', 1n, 1000n],
    ['mi', 1609344n, 1000n],
    ['yd', 9144n, 10_000n],
    ['ft', 3048n, 10_000n],
    ['in', 254n, 10_000n],
  ],
  mass: [
    ['kg', 1n, 1n],
    ['g', 1n, 1000n],
    ['mg', 1n, 1_000_000n],
    ['t', 1000n, 1n],
    ['lb', 45_359_237n, 100_000_000n],
    ['oz', 45_359_237n, 1_600_000_000n],
  ],
  // US customary: a gallon is 231 cubic inches.
  volume: [
    ['l', 1n, 1n],
    ['ml', 1n, 1000n],
    ['m3', 1000n, 1n],
    ['gal', 3_785_411_784n, 1_000_000_000n],
    ['qt', 3_785_411_784n, 4_000_000_000n],
    ['pt', 3_785_411_784n, 8_000_000_000n],
    ['cup', 3_785_411_784n, 16_000_000_000n],
    ['floz', 3_785_411_784n, 128_000_000_000n],
    ['tbsp', 3_785_411_784n, 256_000_000_000n],
    ['tsp', 3_785_411_784n, 768_000_000_000n],
  ],
  speed: [
    ['mps', 1n, 1n],
    ['kmh', 5n, 18n],
    ['mph', 44_704n, 100_000n],
    ['kn', 463n, 900n],
    ['fps', 3048n, 10_000n],
  ],
};

/** The closed table, by slug. */
export const UNITS: ReadonlyMap<string, Unit> = new Map(
  CATEGORIES.flatMap((category) =>
    ROWS[category].map(([slug, numerator, denominator, offset = NO_OFFSET]): [string, Unit] => [
      slug,
      { slug, category, scale: [numerator, denominator], offset },
    ]),
  ),
);

/** How a value of one unit becomes one of another; exact. */
export interface Conversion extends Linear {
  readonly from: Unit;
  readonly to: Unit;
}

/** Every pair within one category, by `<from>-to-<to>`. */
export const CONVERSIONS: ReadonlyMap<string, Conversion> = new Map(
  [...UNITS.values()].flatMap((from) =>
    [...UNITS.values()]
      .filter((to) => to.category === from.category)
      .map((to): [string, Conversion] => [`${from.slug}-to-${to.slug}`, conversion(from, to)]),
  ),
);

function conversion(from: Unit, to: Unit): Conversion {
  // (value + a/b) x s/t = (result + c/d) x u/v, solved for the result.
  const [a, b] = from.offset;
  const [s, t] = from.scale;
  const [c, d] = to.offset;
  const [u, v] = to.scale;
  const times = s * v * b * d;
  const plus = s * v * a * d - t * u * c * b;
  const over = t * u * b * d;
  const common = gcd(gcd(times, plus < 0n ? -plus : plus), over);
  return {
    from,
    to,
    times: Number(times / common),
    plus: Number(plus / common),
    over: Number(over / common),
  };
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
