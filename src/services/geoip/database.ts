import { Reader, type Response } from 'mmdb-lib';
import { isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';

export interface AddressFacts {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly cc?: string;
  readonly region?: string;
  readonly city?: string;
  readonly lat?: number;
  readonly lon?: number;
  readonly tz?: string;
  /** Number of the autonomous system. */
  readonly asn?: number;
  readonly org?: string;
}

export interface AddressDatabase {
  /** `address` is a literal. Returns null when the database has no entry. */
  get(address: string): AddressFacts | null;
  /** Type and build time, from the metadata of the file. */
  readonly type: string;
  readonly builtAt: number;
}

/** Looked up to check that a file is intact. */
const PROBES = ['8.8.8.8', '193.0.6.139', '2001:4860:4860::8888', '2001:67c:2e8:22::c100:68b'];
const COUNTRY = /^[A-Z]{2}$/;

/**
 * Opens a MaxMind DB with field names of MaxMind (nested) or ip-location-db (flat). Throws when the file is of another
 * kind, is damaged, or has no entry for any probe.
 */
export function openDatabase(bytes: Buffer): AddressDatabase {
  const reader = readerOf(bytes);
  const { ipVersion, nodeCount, databaseType, buildEpoch } = reader.metadata;
  const get = (address: string): AddressFacts | null => {
    // An IPv4 tree cannot look up an IPv6 address.
    if (ipVersion === 4 && address.includes(':')) return null;
    const found: unknown = reader.get(address);
    const facts = isJsonObject(found) ? factsOf(found) : {};
    return Object.keys(facts).length === 0 ? null : facts;
  };
  if (!(nodeCount > 0) || !PROBES.some((address) => get(address) !== null)) {
    throw new Error('the database knows nothing of addresses');
  }
  return { get, type: databaseType, builtAt: buildEpoch.getTime() };
}

function readerOf(bytes: Buffer): Reader<Response> {
  try {
    return new Reader<Response>(bytes);
  } catch {
    throw new Error('not a MaxMind DB file');
  }
}

/** The facts in a row, from either naming. Values of an unexpected type are omitted. */
export function factsOf(row: JsonObject): AddressFacts {
  const country = path(row, 'country');
  const location = path(row, 'location');
  const cc = text(row.country_code) ?? text(country.iso_code) ?? text(row.country);
  return defined({
    cc: cc !== undefined && COUNTRY.test(cc) ? cc : undefined,
    region: text(row.state1) ?? english(list(row.subdivisions)) ?? text(row.region),
    city: text(row.city) ?? english(row.city),
    lat: coordinate(row.latitude ?? location.latitude, 90),
    lon: coordinate(row.longitude ?? location.longitude, 180),
    tz: text(row.timezone) ?? text(location.time_zone),
    asn: number(row.autonomous_system_number) ?? asNumber(text(row.asn)),
    org: text(row.autonomous_system_organization) ?? text(row.as_name),
  });
}

function path(row: JsonObject, name: string): JsonObject {
  const value = row[name];
  return isJsonObject(value) ? value : {};
}

/** The first subdivision is the largest. */
function list(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function english(value: unknown): string | undefined {
  return isJsonObject(value) ? text(path(value, 'names').en) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): number | undefined {
  const result = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof result === 'number' && Number.isFinite(result) ? result : undefined;
}

function coordinate(value: unknown, most: number): number | undefined {
  const degrees = number(value);
  // Some files store 32-bit floats: 37.7510986328125 means 37.7511.
  return degrees === undefined || Math.abs(degrees) > most ? undefined : Number(degrees.toFixed(4));
}

function asNumber(value: string | undefined): number | undefined {
  return value === undefined ? undefined : number(value.replace(/^AS/, ''));
}

function defined(facts: { readonly [K in keyof AddressFacts]: AddressFacts[K] | undefined }): AddressFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as AddressFacts;
}
