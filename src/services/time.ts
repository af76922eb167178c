import type { Outcome } from '../protocol/query/outcome.ts';
import { malformedAnswer, momentary, notFoundAnswer } from './answers.ts';
import { DAY_MS, secondText, WEEKDAYS, weekday } from './days.ts';
import {
  isLocationFault,
  locationFault,
  PLACES_CREDIT,
  type Places,
  parseLocation,
  placeText,
} from './places/place.ts';
import { fold } from './places/table.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

/** Names of the IANA database that the engine does not list, because it lists another name of the same zone. */
const OTHER_NAMES = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock America/Thunder_Bay
America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing Asia/Chungking
Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao
Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen
Australia/ACT Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland
Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre
Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain
Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Cuba EET EST
EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4
Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13
Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich
Etc/UCT Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod
Europe/Zaporozhye GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein
Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Chuuk
Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap Poland Portugal ROC ROK Singapore Turkey
UCT US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`;

/**
 * Abbreviations of local times that are no names of zones. Several have more than one meaning, so that none is answered,
 * and no city or airport of the same letters is taken for them.
 */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  `
acdt acst act adt aedt aest aft akdt akst amt art ast awst azt bdt bnt bot brst brt bst btt cat cdt cest chst clst
cot cst eat ect edt eest gst hadt hast hdt hkt hovt ict idt ist jst kst lhdt lhst mdt mmt msd msk myt ndt npt nst nzdt
nzst pdt pht pkt pst pyt sast sgt sst tjt tmt trt uyt uzt vet wast wat wedt west wib wit wita wst factory
`
    .trim()
    .split(/\s+/),
);

/** IANA names by their folded form: `america-new-york`, and `etc-gmt-plus-5` for a sign that a label cannot say. */
const ZONES: ReadonlyMap<string, string> = new Map(
  [...Intl.supportedValuesOf('timeZone'), ...OTHER_NAMES.trim().split(/\s+/)].map((name) => [
    foldedZone(name),
    name,
  ]),
);

/** The zone of a label such as `europe-berlin`, in any case, with hyphens for `/` and `_`; null when there is none. */
export function zoneOfLabel(label: string): string | null {
  return ZONES.get(foldedZone(label)) ?? null;
}

/** Whether a label is an abbreviation such as `pst`, for which there is no answer. */
function isAbbreviation(label: string): boolean {
  return ABBREVIATIONS.has(label.toLowerCase());
}

/** `Etc/GMT-5` is five hours east of UTC and `Etc/GMT+5` five hours west: they must not fold into one. */
function foldedZone(text: string): string {
  return fold(text.replaceAll('+', '-plus-'));
}

export const ZONE_NAMES: readonly string[] = [...ZONES.values()];

export const TIME_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'time',
    title: 'Local time',
    description:
      'The time now in a city or an IANA time zone (hyphens for / and _, -plus- for +), and when the clocks change next. Every name of the IANA database goes before a city: est, cet and egypt are zones. As there, the sign of the Etc zones is reversed: etc-gmt-5 is five hours east of UTC (+05:00), etc-gmt-plus-5 five hours west. An abbreviation that is no zone (pst, bst, ist) is E004. TTL 0.',
    attribution: [PLACES_CREDIT],
    properties: {
      loc: { type: 'string', description: 'The city, where one was asked for', example: 'Tokyo, JP' },
      zone: { type: 'string', description: 'Its IANA time zone', example: 'Asia/Tokyo' },
      iso: {
        type: 'string',
        description: 'Local date and time, and the offset',
        example: '2026-01-01T09:00:00+09:00',
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}[+-]\\d{2}:\\d{2}$',
      },
      day: { type: 'string', description: 'Day of the week there', example: 'thursday', enum: WEEKDAYS },
      off: { type: 'integer', description: 'Seconds east of UTC', example: 32_400 },
      chg: {
        type: 'string',
        description: 'UTC time of the next change of the offset, within a year',
        example: '2026-03-29T01:00:00Z',
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$',
      },
      chgoff: { type: 'integer', description: 'Seconds east of UTC from then on', example: 3600 },
    },
    optional: ['loc', 'chg', 'chgoff'],
  }),
  template: 'get.{location}.time.public.v1',
  placeholders: {
    location: {
      type: 'city or IANA time zone',
      examples: ['tokyo', 'london-ontario', 'europe-berlin', 'america-new-york', 'utc'],
    },
  },
  examples: ['get.tokyo.time.public.v1', 'get.europe-berlin.time.public.v1', 'get.utc.time.public.v1'],
  exampleResponse:
    'v=svc1;s=ok;t=data;loc=Tokyo, JP;zone=Asia/Tokyo;iso=2026-01-01T09:00:00+09:00;day=thursday;off=32400;ts=1767225600',
  ttl: 0,
  errors: [{ code: 'E004', description: 'No such city, or an abbreviation that is no zone' }],
};

/** A change of a zone's offset. */
interface OffsetChange {
  /** Milliseconds since the epoch, a whole second. */
  readonly at: number;
  /** Seconds east of UTC from then on. */
  readonly offset: number;
}

/** Milliseconds from `from` until before `until`, in which a zone's offset and its next change stay. */
interface Period {
  readonly from: number;
  readonly until: number;
  readonly offset: number;
  readonly next: OffsetChange | null;
}

/** How far ahead a change is looked for: two a year are usual. */
const SEARCH_MS = 366 * DAY_MS;
/** Shorter than any time between two changes of a zone in use. */
const STEP_MS = 7 * DAY_MS;
/** Without a change the search is repeated after this time. At most STEP_MS: the offset is not compared in between. */
const NO_CHANGE_MS = 7 * DAY_MS;

/** The latest period of each zone that was asked for. Formatters are not kept: those of all zones take 14 MB in each worker. */
const periods = new Map<string, Period>();

/** Seconds east of UTC. @param zone an IANA name; RangeError for another */
export function offsetAt(zone: string, ms: number): number {
  return periodAt(zone, ms).offset;
}

/** The next change within a year; null when there is none. */
export function nextChange(zone: string, now: number): OffsetChange | null {
  return periodAt(zone, now).next;
}

function periodAt(zone: string, ms: number): Period {
  const known = periods.get(zone);
  if (known !== undefined && ms >= known.from && ms < known.until) return known;
  const found = search(zone, ms);
  periods.set(zone, found);
  return found;
}

/** Takes up to a millisecond: a formatter takes 130 us to make, and each of up to 72 offsets 10 us. */
function search(zone: string, ms: number): Period {
  const format = formatOf(zone);
  const from = wholeSecond(ms);
  const offset = offsetOf(format, from);
  let before = from;
  let after = from;
  do {
    if (after - from >= SEARCH_MS) return { from, until: from + NO_CHANGE_MS, offset, next: null };
    before = after;
    after += STEP_MS;
  } while (offsetOf(format, after) === offset);
  while (after - before > 1000) {
    const middle = wholeSecond((before + after) / 2);
    if (offsetOf(format, middle) === offset) before = middle;
    else after = middle;
  }
  return { from, until: after, offset, next: { at: after, offset: offsetOf(format, after) } };
}

/** @param ms a whole second */
function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(ms)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return (Date.UTC(year, month - 1, day, hour, minute, second) - ms) / 1000;
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

/** `get.<city or zone>.time.public.v1` */
export function makeTime(places: Places): Service {
  return {
    resource: 'time',
    operation: 'get',
    enabled: true,
    about: TIME_ABOUT,
    answer(params, now) {
      const zone = params.length === 1 ? zoneOfLabel(params[0]!) : null;
      if (zone !== null) return timeIn(zone, undefined, now);
      if (params.length === 1 && isAbbreviation(params[0]!)) return notFoundAnswer(now);
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      // The table has the zones of its places, and no borders: it does not know the zone of coordinates.
      if (place.name === null) return malformedAnswer('place');
      return place.zone === undefined ? notFoundAnswer(now) : timeIn(place.zone, placeText(place), now);
    },
  };
}

function timeIn(zone: string, loc: string | undefined, now: number): Outcome {
  const offset = offsetAt(zone, now);
  const local = Math.floor(now / 1000) * 1000 + offset * 1000;
  const change = nextChange(zone, now);
  const fields = {
    loc,
    zone,
    iso: `${new Date(local).toISOString().slice(0, 19)}${offsetText(offset)}`,
    day: weekday(local),
    off: offset,
    chg: secondText(change?.at),
    chgoff: change?.offset,
  };
  return momentary(fields, now);
}

/** `+05:45`, as ISO 8601 has it. @param seconds east of UTC; of offsets that are in use all are whole minutes */
function offsetText(seconds: number): string {
  const minutes = Math.abs(Math.round(seconds / 60));
  const text = (value: number): string => String(value).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${text(Math.floor(minutes / 60))}:${text(minutes % 60)}`;
}
