import { prefixesBetween } from './gs1-prefixes.ts';
import { dayOf, history } from './history.ts';
import { type Line, merge, shareOf, spread } from './items.ts';
import { type Random, randomFor } from './random.ts';

/** Of 100 items. */
const SHARES = { gtin8: 6, gtin12: 10, gtin13: 74, gtin14: 10 } as const;
/** The first EAN code was scanned in 1977. */
const EARLIEST = dayOf('1977-01-01');
const LATEST = dayOf('2026-06-30');

/** Made names: `Example` marks that no company is meant. */
const TRADES = ['Foods', 'Dairy', 'Tools', 'Paper', 'Textiles', 'Toys', 'Cosmetics', 'Beverages'] as const;
const BRANDS = ['Alba', 'Bryn', 'Corvo', 'Dune', 'Élan', 'Fjord', 'Grün', 'Haru', 'Île', 'Jasmín'] as const;
const LEGAL_FORMS: Readonly<Record<string, string>> = {
  AT: 'GmbH',
  AU: 'Pty Ltd',
  BE: 'NV',
  BR: 'Ltda',
  CH: 'AG',
  CZ: 's.r.o.',
  DE: 'GmbH',
  DK: 'A/S',
  ES: 'S.A.',
  FI: 'Oy',
  FR: 'S.A.',
  GB: 'Ltd',
  IT: 'S.p.A.',
  JP: 'K.K.',
  NL: 'B.V.',
  NO: 'AS',
  PL: 'Sp. z o.o.',
  SE: 'AB',
  US: 'Inc.',
};

interface Numbered {
  readonly k: string;
  readonly cc: string;
  readonly type: string;
}

/**
 * The last digit of a GTIN of any length (GS1 General Specifications, 7.9).
 * @param digits all before it
 */
export function checkDigit(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    // Weights 3, 1, 3 … from the right.
    sum += Number(digits[i]) * ((digits.length - i) % 2 === 1 ? 3 : 1);
  }
  return (10 - (sum % 10)) % 10;
}

/** Lines of `count` trade items in the order of their keys. */
export function* gtinLines(count: number, seed: number): Generator<Line> {
  const gtin12 = Math.floor((count * SHARES.gtin12) / 100);
  const gtin13 = Math.floor((count * SHARES.gtin13) / 100);
  const gtin14 = Math.floor((count * SHARES.gtin14) / 100);
  const gtin8 = count - gtin12 - gtin13 - gtin14;
  const items = merge([
    numbers(gtin8, seed, { low: 300, digits: 8, type: 'small unit' }),
    numbers(gtin12, seed, { low: 0, high: 99, digits: 12, type: 'consumer unit' }),
    numbers(gtin13, seed, { low: 100, digits: 13, type: 'consumer unit' }),
    cases(gtin14, seed),
  ]);
  for (const item of items) yield* linesOf(item, randomFor(seed, item.k));
}

interface Kind {
  readonly low: number;
  readonly high?: number;
  readonly digits: 8 | 12 | 13;
  readonly type: string;
  /** First digit of a GTIN-14: how many consumer units it holds. */
  readonly indicator?: number;
}

/** GTINs of one kind in ascending order, as many of each prefix. */
function* numbers(count: number, seed: number, kind: Kind): Generator<Numbered> {
  const { low, high = 999, digits, type, indicator = '' } = kind;
  const prefixes = prefixesBetween(low, high);
  for (const [index, { prefix, cc }] of prefixes.entries()) {
    // A GTIN-12 is a GTIN-13 without its first zero.
    const head = indicator + (digits === 12 ? prefix.slice(1) : prefix);
    const rest = digits - 1 - (head.length - String(indicator).length);
    const share = shareOf(count, index, prefixes.length);
    const random = randomFor(seed, `${digits} ${head}`);
    for (const number of spread(share, 10 ** rest, (_, room) => random.below(room))) {
      const body = head + String(number).padStart(rest, '0');
      yield { k: body + checkDigit(body), cc, type };
    }
  }
}

/** GTIN-14: eight kinds of cases that hold a GTIN-13. */
function* cases(count: number, seed: number): Generator<Numbered> {
  for (let indicator = 1; indicator <= 8; indicator++) {
    const share = shareOf(count, indicator - 1, 8);
    yield* numbers(share, seed, { low: 100, digits: 13, type: 'case', indicator });
  }
}

function* linesOf({ k, cc, type }: Numbered, random: Random): Generator<Line> {
  let issuer = company(random, cc);
  let brand = brandName(random);
  for (const [index, { from, to }] of history(random, EARLIEST, LATEST).entries()) {
    // Each window changes at least one of them: the company was taken over, or the brand renamed.
    const isTakenOver = random.chance(0.4);
    if (index > 0 && isTakenOver) issuer = otherThan(issuer, () => company(random, cc));
    if (index > 0 && !isTakenOver) brand = otherThan(brand, () => brandName(random));
    yield { k, from, to, issuer, brand, cc, type };
  }
}

function company(random: Random, cc: string): string {
  return `Example ${random.pick(TRADES)} ${1 + random.below(999)} ${LEGAL_FORMS[cc] ?? 'Co.'}`;
}

function brandName(random: Random): string {
  return `Example ${random.pick(BRANDS)} ${1 + random.below(99)}`;
}

function otherThan(text: string, make: () => string): string {
  for (;;) {
    const made = make();
    if (made !== text) return made;
  }
}
