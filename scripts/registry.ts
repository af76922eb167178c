/**
 * Makes a registry of sample datasets from public facts (registry-tables.ts): `node scripts/registry.ts FOLDER [options]`. With `--import` it also
 * attests and imports them, with the variables of the environment (UQRP_DATA_DIR); that needs a key (`uqrp dataset keygen`).
 * Companies, banks, brands, item numbers and dates of trade items and cards are made up; their names begin with `Example`. The same options give the
 * same octets.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CARD_RANGES, CURRENCIES, GS1_PREFIXES } from './registry-tables.ts';

const USAGE =
  'usage: node scripts/registry.ts FOLDER [--gtins N] [--bins N] [--seed N] [--version 1.0.0] [--url BASE] [--import]';
const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const DAY_SECONDS = 86_400;
const WINDOWS_MAX = 64;
/** The first EAN code was scanned in 1977. */
const EARLIEST = dayOf('1977-01-01');
const LATEST = dayOf('2026-06-30');
/** From this month on card networks assign eight digits (ISO/IEC 7812-1:2017). */
const EIGHT_DIGITS_SINCE = '2022-04-01';
/** The table of currencies tells of no time before. */
const CURRENCIES_SINCE = '1995-01-01';

const TRADES = 'Foods Dairy Tools Paper Textiles Toys Cosmetics Beverages'.split(' ');
const BRANDS = 'Alba Bryn Corvo Dune Élan Fjord Grün Haru Île Jasmín'.split(' ');
const BANK_COUNTRIES = 'AT BR CA CH DE ES FR GB IN IT JP MX NL NG PL US'.split(' ');
const LEGAL_FORMS = new Map(
  'AT GmbH,AU Pty Ltd,BE NV,BR Ltda,CH AG,CZ s.r.o.,DE GmbH,DK A/S,ES S.A.,FI Oy,FR S.A.,GB Ltd,IT S.p.A.,JP K.K.,NL B.V.,NO AS,PL Sp. z o.o.,SE AB,US Inc.'
    .split(',')
    .map((row) => [row.slice(0, 2), row.slice(3)]),
);

/** A line of an items file, as docs/DATASETS.md describes it. */
interface Line {
  readonly k: string;
  /** A date, unix seconds, or null: open. */
  readonly from: string | number | null;
  readonly to: string | number | null;
  readonly issuer: string;
  readonly brand: string;
  readonly cc: string;
  readonly type: string;
}

interface Options {
  readonly seed: number;
  readonly gtins: number;
  readonly bins: number;
}

/** What is true in them and what is made up stands in the manifest that they sign. */
const DATASETS: Readonly<Record<string, readonly [provenance: string, lines: (options: Options) => Line[]]>> =
  {
    'bin-sample': [
      'Prefix ranges as published by the card networks, but prefixes, banks, countries and dates are made up',
      cards,
    ],
    currency: [
      'ISO 4217 and publications of central banks, currencies of 54 countries since 1995-01-01',
      currencies,
    ],
    'gtin-sample': [
      'GS1 prefixes and check digits as published by GS1, but item numbers, companies, brands and dates are made up',
      tradeItems,
    ],
  };

const { folder, values } = readArguments();
const options = {
  seed: natural('seed', values.seed),
  gtins: natural('gtins', values.gtins),
  bins: natural('bins', values.bins),
};
for (const [slug, [provenance, make]] of Object.entries(DATASETS)) {
  const [manifest, items, signed] = ['manifest.json', 'items.jsonl', 'signed.json'].map((name) =>
    join(folder, slug, name),
  ) as [string, string, string];
  const { version } = values;
  const url = `${values.url}/${slug}-${version}.jsonl`;
  // Sorted by key: a check reads the file once. The windows of an item stay in their order.
  const lines = make(options).sort((a, b) => (a.k < b.k ? -1 : Number(a.k > b.k)));
  mkdirSync(join(folder, slug), { recursive: true });
  writeFileSync(
    manifest,
    `${JSON.stringify({ slug, version, license: 'CC0-1.0', provenance, url }, null, 2)}\n`,
  );
  writeFileSync(items, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  process.stdout.write(`${slug}: ${lines.length} lines in ${items}\n`);
  if (!values.import) continue;
  const output = openSync(signed, 'w');
  dataset(['attest', manifest, '--items', items], output);
  closeSync(output);
  dataset(['import', signed, '--items', items], 'inherit');
}

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  try {
    const { values: given, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        gtins: text('100000'),
        bins: text('10000'),
        seed: text('1'),
        version: text('1.0.0'),
        url: text('https://data.example.net'),
        import: { type: 'boolean', default: false },
      },
    });
    if (positionals.length !== 1) return fail(USAGE, 2);
    return { folder: positionals[0]!, values: given };
  } catch (error) {
    return fail(`${(error as Error).message}\n${USAGE}`, 2);
  }
}

function natural(name: string, text: string): number {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail(`--${name} takes a number from 1 to 999999`, 2);
}

function dataset(args: readonly string[], stdout: number | 'inherit'): void {
  const { status } = spawnSync(process.execPath, [CLI, 'dataset', ...args], {
    stdio: ['ignore', stdout, 'inherit'],
  });
  if (status !== 0) fail(`uqrp dataset ${args[0]} failed`, 1);
}

function fail(message: string, code: number): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

/** Trade items: of 100, 10 with a GTIN-12, 74 with a GTIN-13, 10 with a GTIN-14 (a case that holds a GTIN-13), the others with a GTIN-8. */
function tradeItems({ gtins, seed }: Options): Line[] {
  const [gtin12, gtin13, gtin14] = [10, 74, 10].map((share) => Math.floor((gtins * share) / 100)) as [
    number,
    number,
    number,
  ];
  return [
    ...gtinsOf(gtins - gtin12 - gtin13 - gtin14, seed, 'small unit', { low: 300, digits: 8 }),
    ...gtinsOf(gtin12, seed, 'consumer unit', { low: 0, high: 99, digits: 12 }),
    ...gtinsOf(gtin13, seed, 'consumer unit', { low: 100, digits: 13 }),
    ...Array.from({ length: 8 }, (_, i) =>
      gtinsOf(shareOf(gtin14, i, 8), seed, 'case', { low: 100, digits: 13, indicator: `${i + 1}` }),
    ).flat(),
  ];
}

interface Kind {
  readonly low: number;
  readonly high?: number;
  readonly digits: 8 | 12 | 13;
  /** First digit of a GTIN-14: the kind of case. */
  readonly indicator?: string;
}

/** The lines of GTINs of one kind, as many of each prefix between `low` and `high`. */
function gtinsOf(count: number, seed: number, type: string, kind: Kind): Line[] {
  const { low, high = 999, digits, indicator = '' } = kind;
  const prefixes = GS1_PREFIXES.flatMap(({ first, last, cc }) =>
    Array.from({ length: last - first + 1 }, (_, i) => ({ number: first + i, cc })),
  ).filter(({ number }) => number >= low && number <= high);
  return prefixes.flatMap(({ number, cc }, index) => {
    const prefix = String(number).padStart(3, '0');
    // A GTIN-12 is a GTIN-13 without its first zero.
    const head = indicator + (digits === 12 ? prefix.slice(1) : prefix);
    const rest = digits - 1 - (head.length - indicator.length);
    const random = randomFor(seed, `${digits} ${head}`);
    return random.spread(shareOf(count, index, prefixes.length), 10 ** rest).flatMap((item) => {
      const body = head + String(item).padStart(rest, '0');
      return ownersOf(body + checkDigit(body), cc, type, seed);
    });
  });
}

/** Each window of an item changes at least one thing: the company was taken over, or the brand renamed. */
function ownersOf(k: string, cc: string, type: string, seed: number): Line[] {
  const random = randomFor(seed, k);
  const company = (): string =>
    `Example ${random.pick(TRADES)} ${1 + random.below(999)} ${LEGAL_FORMS.get(cc) ?? 'Co.'}`;
  const name = (): string => `Example ${random.pick(BRANDS)} ${1 + random.below(99)}`;
  let issuer = company();
  let brand = name();
  return history(random, EARLIEST).map(({ from, to }, index) => {
    const isTakenOver = random.chance(0.4);
    if (index > 0 && isTakenOver) issuer = otherThan(issuer, company);
    if (index > 0 && !isTakenOver) brand = otherThan(brand, name);
    return { k, from, to, issuer, brand, cc, type };
  });
}

function otherThan(text: string, make: () => string): string {
  for (;;) {
    const made = make();
    if (made !== text) return made;
  }
}

/** The last digit of a GTIN of any length (GS1 General Specifications, 7.9), of all before it: weights 3, 1, 3 … from the right. */
function checkDigit(digits: string): number {
  const sum = Array.from(digits).reduce(
    (total, digit, i) => total + Number(digit) * ((digits.length - i) % 2 === 1 ? 3 : 1),
    0,
  );
  return (10 - (sum % 10)) % 10;
}

/** Issuer prefixes, half of them with six digits, half with eight. Every range has its share of them; one of few numbers has fewer. */
function cards({ bins, seed }: Options): Line[] {
  const six = Math.floor(bins / 2);
  return [prefixesOf(six, 6, seed), prefixesOf(bins - six, 8, seed)].flat();
}

function prefixesOf(count: number, digits: 6 | 8, seed: number): Line[] {
  const room = 10 ** (digits - 6);
  return CARD_RANGES.flatMap(({ first, last, network, since: oldest }, index) => {
    const size = (last - first + 1) * room;
    const random = randomFor(seed, `${digits} ${first}`);
    const since = digits === 8 && oldest < EIGHT_DIGITS_SINCE ? EIGHT_DIGITS_SINCE : oldest;
    return random
      .spread(Math.min(size, shareOf(count, index, CARD_RANGES.length)), size)
      .flatMap((number) => banksOf(String(first * room + number), network, since, seed));
  });
}

/** Made banks. The network is the brand, and no number of a range is older than the range. */
function banksOf(k: string, brand: string, since: string, seed: number): Line[] {
  const random = randomFor(seed, k);
  const cc = random.pick(BANK_COUNTRIES);
  const type = random.pick(['credit', 'debit', 'prepaid']);
  return history(random, dayOf(since)).map(({ from, to }) => {
    const issuer = `Example Bank ${1 + random.below(400)}`;
    return { k, from: from ?? since, to, issuer, brand, cc, type };
  });
}

/** One line a currency of a country, by country code and time: `brand` is the ISO 4217 code, `type` its name. All of it is true. */
function currencies(): Line[] {
  return CURRENCIES.trim()
    .split('\n')
    .flatMap((row) => {
      const [cc = '', bank = '', ...texts] = row.split(' | ');
      const starts = texts.map((text) => /^(?:(\d{4}-\d{2}-\d{2}) )?([A-Z]{3}) (.+)$/.exec(text)!);
      return starts.map(([, from = CURRENCIES_SINCE, brand = '', type = ''], i) => {
        const issuer = brand === 'EUR' ? 'European Central Bank' : bank;
        return { k: cc.toLowerCase(), from, to: starts[i + 1]?.[1] ?? null, issuer, brand, cc, type };
      });
    });
}

/** How many of `total` fall to part `index` of `parts`: the parts differ by one at most. */
function shareOf(total: number, index: number, parts: number): number {
  return Math.floor((total * (index + 1)) / parts) - Math.floor((total * index) / parts);
}

/**
 * The windows of one item in ascending order: mostly one to four, of one item in 10,000 the most that are allowed. Some begin or
 * end on a leap day, some are open, some in unix seconds, some not begun; between some of them nothing holds.
 */
function history(random: Random, earliest: number): Pick<Line, 'from' | 'to'>[] {
  const count = windowCount(random);
  // Many windows must fit before the year 9999 and need not reach it.
  const stride = count > 8 ? 90 : 1400;
  let start = earliest + random.below(LATEST - earliest + 1);
  return Array.from({ length: count }, (_, i) => {
    const day = random.chance(0.08) ? leapDayFrom(start) : start;
    const end = day + 30 + random.below(stride);
    const last = random.chance(0.05) ? leapDayFrom(end) : end;
    const from =
      i === 0 && random.chance(0.03)
        ? null
        : random.chance(0.05)
          ? day * DAY_SECONDS + random.below(DAY_SECONDS)
          : dateOf(day);
    const to = i === count - 1 && random.chance(0.85) ? null : dateOf(last);
    start = last + (random.chance(0.05) ? 1 + random.below(200) : 0);
    return { from, to };
  });
}

function windowCount(random: Random): number {
  if (random.chance(0.0001)) return WINDOWS_MAX;
  if (random.chance(0.65)) return 1;
  return random.chance(0.95) ? 2 + random.below(3) : 5 + random.below(4);
}

/** Days since 1970-01-01. */
function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / 1000 / DAY_SECONDS;
}

function dateOf(day: number): string {
  return new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
}

/** The first 29 February from this day on. 1900 and 2100 have none. */
function leapDayFrom(day: number): number {
  for (let year = Number(dateOf(day).slice(0, 4)); ; year++) {
    const leap = dayOf(`${year}-02-28`) + 1;
    if (leap >= day && dateOf(leap).endsWith('-02-29')) return leap;
  }
}

type Random = ReturnType<typeof randomFor>;

/** Numbers that follow from the seed and the text alone, so an item does not change with the number of items before it. */
function randomFor(seed: number, text: string) {
  // FNV-1a starts mulberry32.
  let state = 0x811c9dc5 ^ seed;
  for (const letter of Buffer.from(text)) state = Math.imul(state ^ letter, 0x01000193);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from 0 to `count` - 1. */
  const below = (count: number): number => Math.floor(next() * count);
  return {
    below,
    pick: (from: readonly string[]): string => from[below(from.length)]!,
    /** True with this probability. */
    chance: (share: number): boolean => next() < share,
    /** `count` numbers in ascending order: one in each of `count` equal parts of 0 to `size` - 1. */
    spread(count: number, size: number): number[] {
      const room = Math.floor(size / count);
      return Array.from({ length: count }, (_, i) => i * room + below(room));
    },
  };
}
