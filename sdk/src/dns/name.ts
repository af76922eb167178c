/** Query names: `<operation>.[auth-<token>.][<params>.]<resource>.<namespace>.<version>.<zone>` (docs/PROTOCOL.md). */

export type Operation = 'get' | 'info' | 'geoip' | 'manifest' | 'identity';

export interface NameParts {
  /** Default `get`. */
  readonly operation?: Operation | undefined;
  /** Query token, without `auth-`. */
  readonly token?: string | null | undefined;
  readonly params?: readonly string[] | undefined;
  readonly resource: string;
  readonly namespace: string;
  /** `v` and a number. Default `v1`. */
  readonly version?: string | undefined;
}

/** The parts of a name that was parsed. */
export interface ParsedParts {
  readonly operation: Operation;
  readonly token: string | null;
  readonly params: readonly string[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  /** `[<params>.]<resource>.<namespace>.<version>`. */
  readonly key: string;
}

export type ParsedName =
  | { readonly kind: 'query'; readonly query: ParsedParts }
  /** Fewer than four labels: the server answers NODATA. */
  | { readonly kind: 'short' }
  /** The server answers FORMERR. E001: a label; E002: the operation; E003: the version. */
  | { readonly kind: 'malformed'; readonly code: 'E001' | 'E002' | 'E003' };

/** A name that no server would understand. The message holds no part of the name: it may hold a token. */
export class NameError extends RangeError {
  override readonly name = 'NameError';
}

const OPERATIONS: ReadonlySet<string> = new Set<Operation>(['get', 'info', 'geoip', 'manifest', 'identity']);
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const VERSION = /^v[1-9][0-9]*$/;
const COORDINATES = /^-?[0-9]{1,3}(?:d[0-9]+)?_-?[0-9]{1,3}(?:d[0-9]+)?$/;
const AUTH = 'auth-';
const PUBLIC = 'public';
const LABEL_MAX = 63;
const NAME_MAX = 253;
const SHORTEST = 4;

/**
 * The name that asks for the parts, in lower case.
 * @param zone such as `uqrp.net`; without one the result is the part below the zone
 * @throws NameError for parts that make no valid name
 */
export function buildName(parts: NameParts, zone?: string): string {
  const { operation = 'get', token, params = [], resource, namespace, version = 'v1' } = parts;
  const auth = token === undefined || token === null ? [] : [AUTH + token];
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
  if (name.length > NAME_MAX) throw new NameError(`the name is longer than ${NAME_MAX} characters`);
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
  const labels = foldCase(name).split('.');
  const count = labels.length;
  if (name === '' || count < SHORTEST) return { kind: 'short' };
  const [operation = '', first = ''] = labels;
  const [resource = '', namespace = '', version = ''] = labels.slice(count - 3);
  if (!isPlain(namespace) || !isPlain(resource)) return { kind: 'malformed', code: 'E001' };
  if (version.length > LABEL_MAX || !VERSION.test(version)) return { kind: 'malformed', code: 'E003' };
  if (!OPERATIONS.has(operation)) return { kind: 'malformed', code: 'E002' };
  const hasToken = count > SHORTEST && first.startsWith(AUTH);
  if (hasToken && !isLabel(first)) return { kind: 'malformed', code: 'E001' };
  const params = labels.slice(hasToken ? 2 : 1, count - 3);
  const isGood = (param: string): boolean =>
    isPlain(param) || (namespace === PUBLIC && COORDINATES.test(param));
  if (!params.every(isGood)) return { kind: 'malformed', code: 'E001' };
  const key = [...params, resource, namespace, version].join('.');
  const token = hasToken ? first.slice(AUTH.length) : null;
  return {
    kind: 'query',
    query: { operation: operation as Operation, token, params, resource, namespace, version, key },
  };
}

function isLabel(label: string): boolean {
  return label.length <= LABEL_MAX && LABEL.test(label);
}

function isPlain(label: string): boolean {
  return isLabel(label) && !label.startsWith(AUTH);
}

/** ASCII letters only: `toLowerCase` would turn other characters into letters of the grammar. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * A param for text of any kind: as it is when it is a label, else `b32-` and Base32 of its UTF-8. Public services read
 * both; a record's key is compared as written.
 */
export function encodeParam(text: string): string {
  const folded = foldCase(text);
  const isOwn = isPlain(folded) && !/^(?:b32|hex|b64)-/.test(folded);
  if (isOwn) return folded;
  let bits = '';
  for (const octet of new TextEncoder().encode(text)) bits += octet.toString(2).padStart(8, '0');
  let out = 'b32-';
  for (let at = 0; at < bits.length; at += 5) {
    out += BASE32[Number.parseInt(bits.slice(at, at + 5).padEnd(5, '0'), 2)];
  }
  if (!isPlain(out)) throw new NameError('the text does not fit into one label of 63 characters');
  return out;
}
