import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { isLocationFault, type Place, parseLocation } from './place.ts';
import { compact, fold, openPlaces, PlaceTable, REGIONS } from './table.ts';

const places = openPlaces();

/** `<name>, <country>`, or null. */
function found(name: string): string | null {
  const place = places.find(name);
  return place === null ? null : `${place.name}, ${place.country}`;
}

test('spellings that fold into one', () => {
  for (const [text, folded] of [
    ['New York', 'new-york'],
    ['new--york-', 'new-york'],
    ['São Paulo', 'sao-paulo'],
    ['MÜNCHEN', 'munchen'],
    ['Straße', 'strasse'],
    ['Łódź', 'lodz'],
    ["L'Aquila", 'laquila'],
    ['Nukuʻalofa', 'nukualofa'],
    ['Washington, D.C.', 'washington-d-c'],
    ['Москва', 'москва'],
    ['東京', '東京'],
    ['が', 'が'],
    ['دمشق', 'دمشق'],
    ['!?', ''],
  ] as const) {
    assert.equal(fold(text), folded, text);
    assert.equal(fold(folded), folded);
  }
  assert.equal(compact('new-york'), 'newyork');
});

test('cities by name, alias, script, and who wins where several share one', () => {
  for (const [name, wanted] of [
    ['london', 'London, GB'],
    ['paris', 'Paris, FR'],
    ['new-york', 'New York City, US'],
    ['newyork', 'New York City, US'],
    ['nyc', 'New York City, US'],
    ['dc', 'Washington, D.C., US'],
    ['la', 'Los Angeles, US'],
    ['munich', 'Munich, DE'],
    ['muenchen', 'Munich, DE'],
    ['munchen', 'Munich, DE'],
    ['zuerich', 'Zurich, CH'],
    ['oberwinterthur', 'Oberwinterthur (Kreis 2), CH'],
    ['kiev', 'Kyiv, UA'],
    ['kyiv', 'Kyiv, UA'],
    ['bangalore', 'Bengaluru, IN'],
    ['bombay', 'Mumbai, IN'],
    ['peking', 'Beijing, CN'],
    ['cologne', 'Cologne, DE'],
    ['st-petersburg', 'Saint Petersburg, RU'],
    ['washington', 'Washington, D.C., US'],
    ['birmingham', 'Birmingham, GB'],
    ['petropolis', 'Petrópolis, BR'],
    ['jayapura', 'Jayapura, ID'],
    ['islamabad', 'Islamabad, PK'],
    ['san-jose', 'San Jose, US'],
    ['laquila', "L'Aquila, IT"],
    ['東京', 'Tokyo, JP'],
    ['Москва', 'Moscow, RU'],
    ['القاهرة', 'Cairo, EG'],
    ['São Paulo', 'São Paulo, BR'],
  ] as const) {
    assert.equal(found(name), wanted, name);
  }
});

test('of several places of one name the most populous that bears it today answers', () => {
  const rows = fixture('ambiguous-places.tsv').map((line) => line.split('\t') as [string, string]);
  assert.ok(rows.length >= 150);
  const wrong = rows
    .map(([name, country]) => ({ name, country, found: places.find(name)?.country }))
    .filter(({ country, found: answered }) => answered !== country);
  assert.deepEqual(wrong, []);
});

/** Rows of a fixture, without comments. */
function fixture(name: string): string[] {
  return readFileSync(new URL(`../../../test/fixtures/${name}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

test('a country, territory or state answers a capital or city state of its name, or nothing (finding H1 of the second review)', () => {
  const wanted = new Map(fixture('country-names.tsv').map((line) => line.split('\t') as [string, string]));
  const names = [...wanted.keys()];
  const english = new Intl.DisplayNames('en', { type: 'region' });
  for (const code of fixture('iso3166.txt')) {
    names.push(
      code,
      fold(
        english
          .of(code)!
          .replace('&', 'and')
          .replace(/ SAR China$/, ''),
      ),
    );
  }
  for (const regions of [REGIONS.US!, REGIONS.CA!, REGIONS.AU!])
    names.push(...Object.values(regions).map((of) => fold(of.split(',')[0]!)));
  assert.ok(names.length > 600);
  // Two letters that everybody writes for a city.
  const cities = new Set(['LA', 'washington', 'new-york', 'quebec', 'victoria', 'district-of-columbia']);
  const wrong = names
    .filter((name) => !cities.has(name))
    .map((name) => [name, found(name) ?? '-', wanted.get(name) ?? '-'])
    .filter(([, answered, want]) => answered !== want);
  assert.deepEqual(wrong, []);
  for (const [name, want] of [
    ['peru-indiana', 'Peru, US'],
    ['lebanon-nh', 'Lebanon, US'],
    ['new-york', 'New York City, US'],
    ['la', 'Los Angeles, US'],
  ] as const) {
    assert.equal(found(name), want);
  }
});

test('airport codes of the table answer their city; other three letters only a place that is named so (finding L13)', () => {
  for (const [code, wanted] of [
    ['jfk', 'New York City, US'],
    ['lhr', 'London, GB'],
    ['pek', 'Beijing, CN'],
    ['arn', 'Stockholm, SE'],
    ['man', 'Manchester, GB'],
    ['man-ci', 'Man, CI'],
    ['eze', 'Buenos Aires, AR'],
    ['iad', 'Washington, D.C., US'],
    ['kef', 'Reykjavík, IS'],
    ['ist', 'Istanbul, TR'],
    ['kiv', null],
    ['bst', null],
    ['goa', null],
    ['ulm', 'Ulm, DE'],
  ] as const) {
    assert.equal(found(code), wanted, code);
  }
});

test('names in answers are English, or as they are written there (finding L12)', () => {
  for (const [name, wanted] of [
    ['dusseldorf', 'Düsseldorf, DE'],
    ['gothenburg', 'Gothenburg, SE'],
    ['galway', 'Galway, IE'],
    ['limerick', 'Limerick, IE'],
    ['ulan-bator', 'Ulaanbaatar, MN'],
    ['leon', 'León de los Aldama, MX'],
    ['frankfurt', 'Frankfurt am Main, DE'],
    ['nagpur', 'Nagpur, IN'],
    ['st-johns', "Saint John's, AG"],
  ] as const) {
    assert.equal(found(name), wanted);
  }
});

test('countries and regions as suffixes', () => {
  for (const [name, wanted] of [
    ['london-gb', 'London, GB'],
    ['london-uk', 'London, GB'],
    ['london-england', 'London, GB'],
    ['london-ca', 'London, CA'],
    ['london-on', 'London, CA'],
    ['london-ontario', 'London, CA'],
    ['london-ontario-canada', 'London, CA'],
    ['paris-tx', 'Paris, US'],
    ['paris-texas', 'Paris, US'],
    ['paris-tx-us', 'Paris, US'],
    ['paris-france', 'Paris, FR'],
    ['cologne-it', 'Cologne, IT'],
    ['st-petersburg-fl', 'St. Petersburg, US'],
    ['birmingham-al', 'Birmingham, US'],
    ['san-jose-costa-rica', 'San José, CR'],
    ['melbourne-victoria', 'Melbourne, AU'],
    ['frankfurt-brandenburg', 'Frankfurt (Oder), DE'],
    ['leon-es', 'León, ES'],
    ['new-york-ny', 'New York City, US'],
    ['new-york-new-york-usa', 'New York City, US'],
  ] as const) {
    assert.equal(found(name), wanted, name);
  }
  const lon = (name: string) => Math.round(places.find(name)!.lon);
  assert.deepEqual([lon('portland'), lon('portland-me')], [-123, -70]);
  assert.deepEqual([lon('springfield-il'), lon('springfield-ma')], [-90, -73]);
});

test('the time zone of a place, also where its region has two, by its name of today', () => {
  for (const [name, zone] of [
    ['london', 'Europe/London'],
    ['indianapolis', 'America/Indiana/Indianapolis'],
    ['el-paso-tx', 'America/Denver'],
    ['houston-tx', 'America/Chicago'],
    ['kyiv', 'Europe/Kyiv'],
    ['mumbai', 'Asia/Kolkata'],
    ['nuuk', 'America/Nuuk'],
    ['ciudad-juarez', 'America/Ciudad_Juarez'],
    ['ojinaga', 'America/Ojinaga'],
    ['coyhaique', 'America/Coyhaique'],
    ['santiago-chile', 'America/Santiago'],
  ] as const) {
    assert.equal(places.find(name)?.zone, zone, name);
  }
});

test('no such place', () => {
  for (const name of [
    '',
    '-',
    'nowhereville',
    'london-zz',
    'london-atlantis',
    'tx',
    'texas-us-us-us',
    'x'.repeat(63),
    'london-'.repeat(30),
    '\ud800',
    '\0',
  ]) {
    assert.equal(found(name), null, name);
  }
});

test('property: any text is looked up without harm', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (name) => {
      const place = places.find(name);
      if (place === null) return;
      assert.ok(Math.abs(place.lat) <= 90 && Math.abs(place.lon) <= 180);
      assert.match(place.name!, /^[^\p{C}]+$/u);
      assert.match(place.country!, /^[A-Z]{2}$/);
    }),
    { numRuns: 1000 },
  );
});

test('the file stays small, and damage is noticed', () => {
  const file = new URL('./data/places.bin.zst', import.meta.url);
  assert.ok(statSync(file).size <= 4_000_000);
  assert.ok(places instanceof PlaceTable && places.size > 100_000 && places.keys > 300_000);
  assert.throws(() => new PlaceTable(readFileSync(file)));
  assert.throws(() => new PlaceTable(Buffer.from('PLACES3\n'.padEnd(28, '\xff'), 'latin1')));
});

test('every region that has a name is in the table', () => {
  for (const [country, regions] of Object.entries(REGIONS)) {
    for (const names of Object.values(regions)) {
      for (const name of names.split(',')) assert.equal(fold(name), name.replaceAll(' ', '-'), country);
    }
  }
});

test('coordinates: the grammar and both sides of each bound', () => {
  const table: [label: string, lat: number, lon: number][] = [
    ['0_0', 0, 0],
    ['-0_-0', 0, 0],
    ['51d5_-0d12', 51.5, -0.12],
    ['-33d868_151d207', -33.868, 151.207],
    ['90_180', 90, 180],
    ['-90_-180', -90, -180],
    ['90d000_180d0', 90, 180],
    ['007_008', 7, 8],
    ['1d123456789_2', 1.123456789, 2],
  ];
  for (const [label, lat, lon] of table) {
    const place = parseLocation([label], places) as Place;
    assert.deepEqual([place.lat, place.lon, place.name], [lat, lon, null], label);
    assert.ok(!Object.is(place.lat, -0) && !Object.is(place.lon, -0), label);
  }
  for (const label of [
    '90d01_0',
    '-90d01_0',
    '91_0',
    '0_180d01',
    '0_-181',
    '999_999',
    '1000_0',
    '_',
    '1_',
    '_1',
    '1_2_3',
    '1d_2',
    'd5_2',
    '+1_2',
    '--1_2',
    '1.5_2',
    '1_2d',
    '1e1_2',
    '1_2 ',
    'lat_lon',
  ]) {
    assert.equal(parseLocation([label], places), 'malformed', label);
  }
});

test('a label in Punycode is the name that it stands for (finding L11)', () => {
  for (const [label, wanted] of [
    ['xn--mnchen-3ya', 'Munich'],
    ['XN--MNCHEN-3YA', 'Munich'],
    ['xn--1lqs71d', 'Tokyo'],
  ] as const) {
    assert.equal((parseLocation([label], places) as Place).name, wanted, label);
  }
  for (const label of ['xn--', 'xn--a-', 'xn--\ud800', 'xn--zzzzzzzzzzz9']) {
    assert.equal(parseLocation([label], places), 'unknown', label);
  }
});

test('a location is needed, one, and never the asker', () => {
  assert.equal(parseLocation([], places), 'missing');
  for (const params of [
    ['london', 'gb'],
    ['me'],
    ['ME'],
    ['asker'],
    ['caller'],
    ['home'],
    ['here'],
    ['auto'],
    ['my-ip'],
    ['self'],
    ['ip-8-8-8-8'],
    ['ip-2001-db8--1'],
  ]) {
    assert.equal(parseLocation(params, places), 'malformed', params.join('.'));
  }
  assert.equal(parseLocation(['nowhereville'], places), 'unknown');
  assert.ok(isLocationFault('unknown') && !isLocationFault(parseLocation(['london'], places)));
});
