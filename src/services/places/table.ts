import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import type { Place, Places } from './place.ts';

/** Latin letters without a Unicode decomposition. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ə: 'a',
};
const SPECIAL = /[ßæœøłđðþħıŋə]/gu;
const LATIN_MARKS = /[\u0300-\u036f]/gu;
/** Apostrophes and their substitutes: removed, without splitting the word. */
const APOSTROPHES = /['`\u00b4\u02bb-\u02bf\u2018\u2019]/gu;
const BETWEEN = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * Normalises a name for building and searching the table: lower case, Latin letters without marks, words joined by one
 * hyphen. Other scripts keep their marks. Returns '' without a letter or digit.
 */
export function fold(text: string): string {
  const bare = text.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFC').toLowerCase();
  return bare
    .replace(SPECIAL, (letter) => LETTERS[letter]!)
    .replace(APOSTROPHES, '')
    .replace(BETWEEN, '-')
    .replace(/^-|-$/gu, '');
}

/** The key of a folded name: letters only, so that `newyork`, `new-york` and `New York` are equal. */
export function compact(folded: string): string {
  return folded.replaceAll('-', '');
}

/**
 * Folded names of first-level regions by country and GeoNames code, for `london-ontario` and `london-on`. A short form
 * comes last. Other countries use the code itself as a suffix.
 */
export const REGIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  US: {
    AL: 'alabama',
    AK: 'alaska',
    AZ: 'arizona',
    AR: 'arkansas',
    CA: 'california',
    CO: 'colorado',
    CT: 'connecticut',
    DE: 'delaware',
    DC: 'district of columbia',
    FL: 'florida',
    GA: 'georgia',
    HI: 'hawaii',
    ID: 'idaho',
    IL: 'illinois',
    IN: 'indiana',
    IA: 'iowa',
    KS: 'kansas',
    KY: 'kentucky',
    LA: 'louisiana',
    ME: 'maine',
    MD: 'maryland',
    MA: 'massachusetts',
    MI: 'michigan',
    MN: 'minnesota',
    MS: 'mississippi',
    MO: 'missouri',
    MT: 'montana',
    NE: 'nebraska',
    NV: 'nevada',
    NH: 'new hampshire',
    NJ: 'new jersey',
    NM: 'new mexico',
    NY: 'new york',
    NC: 'north carolina',
    ND: 'north dakota',
    OH: 'ohio',
    OK: 'oklahoma',
    OR: 'oregon',
    PA: 'pennsylvania',
    RI: 'rhode island',
    SC: 'south carolina',
    SD: 'south dakota',
    TN: 'tennessee',
    TX: 'texas',
    UT: 'utah',
    VT: 'vermont',
    VA: 'virginia',
    WA: 'washington',
    WV: 'west virginia',
    WI: 'wisconsin',
    WY: 'wyoming',
  },
  CA: {
    '01': 'alberta,ab',
    '02': 'british columbia,bc',
    '03': 'manitoba,mb',
    '04': 'new brunswick,nb',
    '05': 'newfoundland,newfoundland and labrador,nl',
    '07': 'nova scotia,ns',
    '08': 'ontario,on',
    '09': 'prince edward island,pe',
    '10': 'quebec,qc',
    '11': 'saskatchewan,sk',
    '12': 'yukon,yt',
    '13': 'northwest territories,nt',
    '14': 'nunavut,nu',
  },
  AU: {
    '01': 'australian capital territory,act',
    '02': 'new south wales,nsw',
    '03': 'northern territory,nt',
    '04': 'queensland,qld',
    '05': 'south australia,sa',
    '06': 'tasmania,tas',
    '07': 'victoria,vic',
    '08': 'western australia,wa',
  },
  GB: {
    ENG: 'england',
    NIR: 'northern ireland',
    SCT: 'scotland',
    WLS: 'wales',
  },
  DE: {
    '01': 'baden wurttemberg,bw',
    '02': 'bavaria,bayern,by',
    '03': 'bremen,hb',
    '04': 'hamburg,hh',
    '05': 'hesse,hessen,he',
    '06': 'lower saxony,niedersachsen,ni',
    '07': 'north rhine westphalia,nordrhein westfalen,nrw,nw',
    '08': 'rhineland palatinate,rheinland pfalz,rp',
    '09': 'saarland,sl',
    '10': 'schleswig holstein,sh',
    '11': 'brandenburg,bb',
    '12': 'mecklenburg vorpommern,mv',
    '13': 'saxony,sachsen,sn',
    '14': 'saxony anhalt,sachsen anhalt,st',
    '15': 'thuringia,thuringen,th',
    '16': 'berlin,be',
  },
};

/** Common names of countries besides the ISO code and the English name. */
export const COUNTRY_ALIASES: Readonly<Record<string, string>> = {
  uk: 'GB',
  britain: 'GB',
  greatbritain: 'GB',
  usa: 'US',
  america: 'US',
  uae: 'AE',
  holland: 'NL',
  burma: 'MM',
  czechrepublic: 'CZ',
  turkey: 'TR',
};

/**
 * The packed table of places, as scripts/build-places.ts writes it and `table.ts` reads it. All numbers little-endian.
 *
 *   magic, then five u32: places, keys, and the octets of regions, names, blocks
 *   lat       i32 each, 1e-5 degree
 *   lon       i32 each
 *   region    u16 each: line in the list of regions
 *   regions   lines `<country> <region code> <IANA time zone>`
 *   names     lines, UTF-8, one a place
 *   starts    u32 each: where a block begins
 *   blocks    BLOCK_KEYS keys each, in the order of their octets
 *
 * Places are in the order of their population, most populous first. A key is: octets shared with the key before (0 at the
 * start of a block), octets that follow, those octets, count of its places, and their numbers, best first; counts and numbers
 * are varints (seven bits an octet, the lowest first). A first number that is no place's, the count of places, says that
 * the key alone is the name of a country, territory or state: only with a qualifier it is the others'. Keys are without
 * hyphens, but for spellings whose best place is not that of the key without.
 */
export const MAGIC = 'PLACES3\n';
const HEADER_OCTETS = MAGIC.length + 5 * 4;
export const BLOCK_KEYS = 16;
/** Units of a coordinate in one degree. */
export const DEGREE = 1e5;

/** Octets of a key in a label: of ASCII all, of other scripts what `b32-` can hold. */
export const KEY_OCTETS = { ascii: 63, other: 36 } as const;

const FILE = new URL('./data/places.bin.zst', import.meta.url);

/** How many final words may form one country or region, and how many such qualifiers a name may have. */
const QUALIFIER_WORDS = 4;
const QUALIFIERS = 2;
const LINE_FEED = 0x0a;
/** Common names of a city that GeoNames does not list. */
const SHORT_FORMS: ReadonlyMap<string, string> = new Map([['dc', 'washington-dc']]);
/** Longest decoded label that is searched. */
const NAME_MAX = 100;

/** The packaged table, in memory that all threads share. Throws when the file is damaged. */
export function loadPlaces(): SharedArrayBuffer {
  const bytes = zstdDecompressSync(readFileSync(FILE));
  const shared = new SharedArrayBuffer(bytes.length);
  bytes.copy(new Uint8Array(shared));
  return shared;
}

/** Opens a table, which another thread may have loaded. Throws when it is damaged. */
export function openPlaces(loaded: SharedArrayBuffer = loadPlaces()): Places {
  return new PlaceTable(Buffer.from(loaded));
}

/** Searches the packed table (`format.ts`) in place, without unpacking it. */
export class PlaceTable implements Places {
  readonly size: number;
  readonly keys: number;
  readonly #lat: Buffer;
  readonly #lon: Buffer;
  readonly #region: Buffer;
  readonly #regions: readonly string[];
  readonly #names: Buffer;
  readonly #nameEnds: Uint32Array;
  readonly #starts: Buffer;
  readonly #blocks: Buffer;
  /** Folded name of a country or region to its lines in `#regions`. Built on first use. */
  #qualifiers: ReadonlyMap<string, ReadonlySet<number>> | null = null;

  constructor(bytes: Buffer) {
    if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('not a table of places');
    const head = (index: number): number => bytes.readUInt32LE(MAGIC.length + 4 * index);
    this.size = head(0);
    this.keys = head(1);
    let at = HEADER_OCTETS;
    const take = (octets: number): Buffer => {
      const part = bytes.subarray(at, at + octets);
      if (part.length !== octets) throw new Error('table of places is cut off');
      at += octets;
      return part;
    };
    this.#lat = take(4 * this.size);
    this.#lon = take(4 * this.size);
    this.#region = take(2 * this.size);
    this.#regions = take(head(2)).toString('latin1').split('\n');
    this.#names = take(head(3));
    this.#nameEnds = lineEnds(this.#names, this.size);
    this.#starts = take(4 * Math.ceil(this.keys / BLOCK_KEYS));
    this.#blocks = take(head(4));
  }

  find(name: string): Place | null {
    if (name.length > NAME_MAX) return null;
    const written = fold(name);
    const folded = SHORT_FORMS.get(written) ?? written;
    const isCountry = this.#ownersOf(folded)[0] === this.size;
    const number = folded === '' || isCountry ? null : this.#search(folded, []);
    return number === null ? null : this.#place(number);
  }

  /**
   * The best place that satisfies all qualifiers. A last word is tried as a qualifier first (`leon-es` is León in
   * Spain, not Leones), then as part of the name.
   */
  #search(folded: string, regions: readonly ReadonlySet<number>[]): number | null {
    const words = regions.length < QUALIFIERS ? folded.split('-') : [];
    this.#qualifiers ??= qualifiersOf(this.#regions);
    for (let count = 1; count <= QUALIFIER_WORDS && count < words.length; count++) {
      const set = this.#qualifiers.get(words.slice(-count).join(''));
      if (set === undefined) continue;
      const found = this.#search(words.slice(0, -count).join('-'), [...regions, set]);
      if (found !== null) return found;
    }
    const isWithin = (place: number): boolean => regions.every((set) => set.has(this.#regionOf(place)));
    return this.#ownersOf(folded).find((place) => place < this.size && isWithin(place)) ?? null;
  }

  /** Numbers of the places of a name, those that are spelled with the same hyphens first where it matters. */
  #ownersOf(folded: string): readonly number[] {
    const exact = folded.includes('-') ? this.#owners(folded) : [];
    return exact.length > 0 ? exact : this.#owners(compact(folded));
  }

  /** Numbers of the places of a key, best first. */
  #owners(key: string): readonly number[] {
    const wanted = Buffer.from(key);
    let low = 0;
    let high = this.#starts.length / 4 - 1;
    // Finds the last block that starts at or before the key.
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#compareStart(middle, wanted) <= 0) low = middle;
      else high = middle - 1;
    }
    return this.#scan(low, wanted);
  }

  #compareStart(block: number, wanted: Buffer): number {
    const at = this.#startOf(block) + 1;
    const octets = this.#blocks[at]!;
    return this.#blocks.compare(wanted, 0, wanted.length, at + 1, at + 1 + octets);
  }

  #scan(block: number, wanted: Buffer): readonly number[] {
    const bytes = this.#blocks;
    const isLast = 4 * (block + 1) === this.#starts.length;
    const end = isLast ? bytes.length : this.#startOf(block + 1);
    let at = this.#startOf(block);
    const key = Buffer.alloc(256);
    const varint = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const octet = bytes[at++]!;
        value |= (octet & 0x7f) << shift;
        if (octet < 0x80) return value;
      }
    };
    while (at < end) {
      const shared = bytes[at++]!;
      const own = bytes[at++]!;
      bytes.copy(key, shared, at, at + own);
      at += own;
      const order = key.compare(wanted, 0, wanted.length, 0, shared + own);
      if (order > 0) return [];
      const owners = Array.from({ length: varint() }, varint);
      if (order === 0) return owners;
    }
    return [];
  }

  #regionOf(number: number): number {
    return this.#region.readUInt16LE(2 * number);
  }

  #startOf(block: number): number {
    return this.#starts.readUInt32LE(4 * block);
  }

  #place(number: number): Place {
    const start = number === 0 ? 0 : this.#nameEnds[number - 1]! + 1;
    const [country = '', , zone = ''] = this.#regions[this.#regionOf(number)]!.split(' ');
    return {
      lat: this.#lat.readInt32LE(4 * number) / DEGREE,
      lon: this.#lon.readInt32LE(4 * number) / DEGREE,
      name: this.#names.toString('utf8', start, this.#nameEnds[number]!),
      country,
      zone,
    };
  }
}

function lineEnds(lines: Buffer, count: number): Uint32Array {
  const ends = new Uint32Array(count);
  let line = 0;
  for (let at = 0; at < lines.length; at++) {
    if (lines[at] === LINE_FEED) ends[line++] = at;
  }
  ends[line] = lines.length;
  return ends;
}

function qualifiersOf(regions: readonly string[]): ReadonlyMap<string, ReadonlySet<number>> {
  const map = new Map<string, Set<number>>();
  const add = (name: string, line: number): void => {
    const key = compact(fold(name));
    const set = map.get(key);
    if (set === undefined) map.set(key, new Set([line]));
    else set.add(line);
  };
  const english = new Intl.DisplayNames('en', { type: 'region' });
  const aliases = Object.entries(COUNTRY_ALIASES);
  const namesOfCountry = new Map<string, readonly string[]>();
  for (const [line, region] of regions.entries()) {
    const [country = '', code = ''] = region.split(' ');
    let names = namesOfCountry.get(country);
    if (names === undefined) {
      const others = aliases.filter(([, of]) => of === country).map(([name]) => name);
      names = [country, english.of(country) ?? country, ...others];
      namesOfCountry.set(country, names);
    }
    for (const name of names) add(name, line);
    if (code !== '') add(code, line);
    for (const name of REGIONS[country]?.[code]?.split(',') ?? []) add(name, line);
  }
  return map;
}
