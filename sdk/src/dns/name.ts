/** Query names: `<operation>.[auth-<token>.][<params>.]<resource>.<namespace>.<version>.<zone>` (docs/PROTOCOL.md). */
import { encodeBase32 } from '../../../src/protocol/encodings.ts';
import { AUTH_PREFIX, foldCase, isLabel, QUERY_NAME_MAX } from '../../../src/protocol/names/labels.ts';
import {
  type ParsedName,
  parseQueryName,
  type Query,
  type QueryOperation,
} from '../../../src/protocol/names/query-name.ts';

export type { ParsedName, QueryOperation };

/** The parts of a name that was parsed. */
export type ParsedParts = Query;

export interface NameParts {
  /** Default `get`. */
  readonly operation?: QueryOperation | undefined;
  /** Query token, without `auth-`. */
  readonly token?: string | null | undefined;
  readonly params?: readonly string[] | undefined;
  readonly resource: string;
  readonly namespace: string;
  /** `v` and a number. Default `v1`. */
  readonly version?: string | undefined;
}

/** A name that no server would understand. The message holds no part of the name: it may hold a token. */
export class NameError extends RangeError {
  override readonly name = 'NameError';
}

/**
 * The name that asks for the parts, in lower case.
 * @param zone such as `uqrp.net`; without one the result is the part below the zone
 * @throws NameError for parts that make no valid name
 */
export function buildName(parts: NameParts, zone?: string): string {
  const { operation = 'get', token, params = [], resource, namespace, version = 'v1' } = parts;
  const auth = token === undefined || token === null ? [] : [AUTH_PREFIX + token];
  const labels = [operation, ...auth, ...params, resource, namespace, version].map(foldCase);
  for (const label of labels) {
    // A dot would make two labels of one.
    if (label.includes('.')) throw new NameError('a part of the name contains a dot');
  }
  const below = labels.join('.');
  const parsed = parseName(below);
  if (parsed.kind !== 'query')
    throw new NameError(FAULTS[parsed.kind === 'malformed' ? parsed.code : 'E001']);
  // The token must be read as the token, and as nothing else.
  const { query } = parsed;
  if ((query.token === null) !== (auth.length === 0)) throw new NameError(FAULTS.E001);
  const name = zone === undefined ? below : `${below}.${foldCase(zone)}`;
  if (name.length > QUERY_NAME_MAX)
    throw new NameError(`the name is longer than ${QUERY_NAME_MAX} characters`);
  return name;
}

/** The parts of a record's key: `greeting.acme.v1`. @throws NameError */
export function partsOfKey(key: string): NameParts {
  const parsed = parseName(`get.${foldCase(key)}`);
  if (parsed.kind === 'malformed') throw new NameError(FAULTS[parsed.code]);
  if (parsed.kind === 'short') throw new NameError('a key is [<params>.]<resource>.<namespace>.<version>');
  if (parsed.query.token !== null) throw new NameError('a key holds no token');
  const { params, resource, namespace, version } = parsed.query;
  return { params, resource, namespace, version };
}

const FAULTS = {
  E001: 'a part of the name is not 1 to 63 letters, digits and inner hyphens, or begins with auth-',
  E002: 'the operation is none of get, info, geoip, manifest, identity',
  E003: 'the version is not v and a number without leading zeros',
} as const;

/** Parses the part of a name below the zone, as the server does. @param name in any case, without a trailing dot */
export function parseName(name: string): ParsedName {
  return parseQueryName(foldCase(name));
}

/**
 * A param for text of any kind: as it is when it is a label, else `b32-` and Base32 of its UTF-8. Public services read
 * both; a record's key is compared as written.
 */
export function encodeParam(text: string): string {
  const folded = foldCase(text);
  const isPlain = isLabel(folded) && !/^(?:auth|b32|hex|b64)-/.test(folded);
  if (isPlain) return folded;
  const encoded = `b32-${encodeBase32(new TextEncoder().encode(text), 'standard')}`;
  if (!isLabel(encoded)) throw new NameError('the text does not fit into one label of 63 characters');
  return encoded;
}
