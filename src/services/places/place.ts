import { domainToUnicode } from 'node:url';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { decimal, malformedAnswer, notFoundAnswer } from '../answers.ts';
import { parseIpLabel } from '../geoip.ts';

/** Credit in the `attribution` of every service that takes a location. */
export const PLACES_CREDIT = 'places from GeoNames (https://www.geonames.org), CC BY 4.0';

export interface Place {
  /** Degrees, north positive, -90 to 90. */
  readonly lat: number;
  /** Degrees, east positive, -180 to 180. */
  readonly lon: number;
  /** Null for coordinates. */
  readonly name: string | null;
  /** ISO 3166-1 alpha-2 in upper case, null for coordinates. */
  readonly country: string | null;
  /** Name of its IANA time zone; absent for coordinates. */
  readonly zone?: string;
}

export interface Places {
  /**
   * Finds the most populous place, or null. `name`: any script and case, words joined by hyphens or spaces; a suffix
   * `-<country>` or `-<region>` selects one of several.
   */
  find(name: string): Place | null;
}

/** `missing` and `malformed` are FORMERR, `unknown` is E004. */
type LocationFault = 'missing' | 'malformed' | 'unknown';

const COORDINATES = /^(-?[0-9]{1,3}(?:d[0-9]+)?)_(-?[0-9]{1,3}(?:d[0-9]+)?)$/;
const ACE_LABEL = /^xn--[a-z0-9-]+$/i;
const LAT_MAX = 90;
const LON_MAX = 180;

/** Words for the location of the client. Queries with them are rejected, because no answer depends on the client. */
const ASKER: ReadonlySet<string> = new Set([
  'asker',
  'auto',
  'auto-ip',
  'autoip',
  'caller',
  'client',
  'client-ip',
  'current',
  'current-location',
  'here',
  'home',
  'ip',
  'local',
  'me',
  'my-ip',
  'my-location',
  'myip',
  'mylocation',
  'myself',
  'near-me',
  'nearby',
  'requester',
  'self',
  'source',
  'source-ip',
  'whoami',
]);

/**
 * Parses the location from decoded labels: exactly one, a city or `<lat>_<lon>`. A missing one, a word of `ASKER` and
 * an IP address are malformed.
 */
export function parseLocation(params: readonly string[], places: Places): Place | LocationFault {
  const label = params[0] === undefined ? undefined : unicodeLabel(params[0]);
  if (label === undefined) return 'missing';
  if (params.length > 1) return 'malformed';
  const pair = COORDINATES.exec(label);
  if (pair !== null) return coordinates(pair[1]!, pair[2]!);
  // Only coordinates contain `_`.
  if (label.includes('_')) return 'malformed';
  if (ASKER.has(label.toLowerCase()) || parseIpLabel(label) !== null) return 'malformed';
  return places.find(label) ?? 'unknown';
}

/** `münchen` of `xn--mnchen-3ya`, which a resolver's tools make of it. Another label, and one that is no Punycode, unchanged. */
function unicodeLabel(label: string): string {
  return (ACE_LABEL.test(label) && domainToUnicode(label)) || label;
}

function coordinates(latText: string, lonText: string): Place | 'malformed' {
  const lat = degrees(latText);
  const lon = degrees(lonText);
  if (Math.abs(lat) > LAT_MAX || Math.abs(lon) > LON_MAX) return 'malformed';
  return { lat, lon, name: null, country: null };
}

/** Distinguishes places of the same name: `Paris, FR`. Coordinates are as in a label: `-33.86_151.2`. */
export function placeText({ name, country, lat, lon }: Place): string {
  if (name === null) return `${decimal(lat)}_${decimal(lon)}`;
  return country === null ? name : `${name}, ${country}`;
}

/** `-33d86` is -33.86; zero has no sign. */
function degrees(text: string): number {
  return Number(text.replace('d', '.')) + 0;
}

export function isLocationFault(found: Place | LocationFault): found is LocationFault {
  return typeof found === 'string';
}

export function locationFault(fault: LocationFault, now: number): Outcome {
  if (fault === 'unknown') return notFoundAnswer(now);
  return malformedAnswer(fault === 'missing' ? 'parameter' : 'place');
}
