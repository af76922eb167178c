import { dayOf, history } from './history.ts';
import { type Line, merge, shareOf, spread } from './items.ts';
import { type Random, randomFor } from './random.ts';

export interface CardRange {
  /** First and last prefix, each of six digits. */
  readonly first: number;
  readonly last: number;
  readonly network: string;
  /** First day of the sample; of ranges that are younger than 2000, the day that the network gave. */
  readonly since: string;
}

/** Ranges that card networks have published, in ascending order, without those that two networks share. */
export const CARD_RANGES: readonly CardRange[] = [
  { first: 220_000, last: 220_499, network: 'Mir', since: '2015-12-15' },
  { first: 222_100, last: 272_099, network: 'Mastercard', since: '2017-01-01' },
  { first: 340_000, last: 349_999, network: 'American Express', since: '1980-01-01' },
  { first: 352_800, last: 358_999, network: 'JCB', since: '1985-01-01' },
  { first: 360_000, last: 369_999, network: 'Diners Club International', since: '1980-01-01' },
  { first: 370_000, last: 379_999, network: 'American Express', since: '1980-01-01' },
  { first: 400_000, last: 499_999, network: 'Visa', since: '1980-01-01' },
  { first: 506_099, last: 506_198, network: 'Verve', since: '2009-01-01' },
  { first: 508_500, last: 508_999, network: 'RuPay', since: '2012-03-26' },
  { first: 510_000, last: 559_999, network: 'Mastercard', since: '1980-01-01' },
  { first: 601_100, last: 601_199, network: 'Discover', since: '1985-09-17' },
  { first: 620_000, last: 622_125, network: 'UnionPay', since: '2002-03-26' },
  { first: 644_000, last: 649_999, network: 'Discover', since: '1985-09-17' },
  { first: 675_900, last: 675_999, network: 'Maestro', since: '1991-01-01' },
  { first: 979_200, last: 979_289, network: 'Troy', since: '2016-04-01' },
];

/** From this month on networks assign eight digits (ISO/IEC 7812-1:2017). */
const EIGHT_DIGITS_SINCE = '2022-04-01';
const LATEST = dayOf('2026-06-30');
const COUNTRIES = [
  'AT',
  'BR',
  'CA',
  'CH',
  'DE',
  'ES',
  'FR',
  'GB',
  'IN',
  'IT',
  'JP',
  'MX',
  'NL',
  'NG',
  'PL',
  'US',
];
const TYPES = ['credit', 'debit', 'prepaid'] as const;

interface Numbered {
  readonly k: string;
  readonly network: string;
  readonly since: string;
}

/** Lines of `count` issuer prefixes in the order of their keys, half of them with six digits, half with eight. */
export function* binLines(count: number, seed: number): Generator<Line> {
  const six = Math.floor(count / 2);
  for (const item of merge([numbers(six, 6, seed), numbers(count - six, 8, seed)])) {
    yield* linesOf(item, randomFor(seed, item.k));
  }
}

/** Prefixes of one length in ascending order. Every range has its share of the numbers, so some have few. */
function* numbers(count: number, digits: 6 | 8, seed: number): Generator<Numbered> {
  const room = 10 ** (digits - 6);
  for (const [index, range] of CARD_RANGES.entries()) {
    const size = (range.last - range.first + 1) * room;
    const share = Math.min(size, shareOf(count, index, CARD_RANGES.length));
    const random = randomFor(seed, `${digits} ${range.first}`);
    const since = digits === 8 && range.since < EIGHT_DIGITS_SINCE ? EIGHT_DIGITS_SINCE : range.since;
    for (const number of spread(share, size, (_, part) => random.below(part))) {
      yield { k: String(range.first * room + number), network: range.network, since };
    }
  }
}

/** Made banks: `Example` marks that none is meant. The network is the brand. */
function* linesOf({ k, network, since }: Numbered, random: Random): Generator<Line> {
  const cc = random.pick(COUNTRIES);
  const type = random.pick(TYPES);
  for (const { from, to } of history(random, dayOf(since), LATEST)) {
    // No number of a range is older than the range.
    const begin = from ?? since;
    yield { k, from: begin, to, issuer: `Example Bank ${1 + random.below(400)}`, brand: network, cc, type };
  }
}
