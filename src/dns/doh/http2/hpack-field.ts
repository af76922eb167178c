/** One header field and the rules for it alone (RFC 9113 §8.2, §8.3). */

export const KIND = {
  ignored: 0,
  method: 1,
  scheme: 2,
  authority: 3,
  path: 4,
  contentType: 5,
  contentLength: 6,
  malformed: 7,
} as const;

type Kind = (typeof KIND)[keyof typeof KIND];

export interface HeaderField {
  readonly name: string;
  /** One character per octet. */
  readonly value: string;
  /** Size as the table and the list count it (RFC 7541 §4.1). */
  readonly octets: number;
  readonly kind: Kind;
}

export const FIELD_OVERHEAD = 32;

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [':method', KIND.method],
  [':scheme', KIND.scheme],
  [':authority', KIND.authority],
  [':path', KIND.path],
  ['content-type', KIND.contentType],
  ['content-length', KIND.contentLength],
  // Connection-specific fields are forbidden in HTTP/2 (RFC 9113 §8.2.2).
  ['connection', KIND.malformed],
  ['proxy-connection', KIND.malformed],
  ['keep-alive', KIND.malformed],
  ['transfer-encoding', KIND.malformed],
  ['upgrade', KIND.malformed],
]);

/** A token (RFC 9110 §5.6.2) without capitals. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const FORBIDDEN = /[\0\r\n]/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+\-.]*$/;
/** An absolute path, or the asterisk of OPTIONS, without blanks and controls (RFC 9113 §8.3.1). */
const PATH = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;
const DIGITS = /^[0-9]{1,15}$/;

export function makeField(name: string, value: string): HeaderField {
  return {
    name,
    value,
    octets: name.length + value.length + FIELD_OVERHEAD,
    kind: isValue(value) ? kindOf(name, value) : KIND.malformed,
  };
}

function isValue(value: string): boolean {
  return !FORBIDDEN.test(value) && !isBlank(value, 0) && !isBlank(value, value.length - 1);
}

function isBlank(value: string, at: number): boolean {
  const code = value.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}

function kindOf(name: string, value: string): Kind {
  const kind = KINDS.get(name);
  if (kind !== undefined) return fits(kind, value) ? kind : KIND.malformed;
  if (name === 'te' && value.toLowerCase() !== 'trailers') return KIND.malformed;
  return NAME.test(name) ? KIND.ignored : KIND.malformed;
}

function fits(kind: Kind, value: string): boolean {
  switch (kind) {
    case KIND.method:
      return METHOD.test(value);
    case KIND.scheme:
      return SCHEME.test(value);
    case KIND.path:
      return PATH.test(value);
    case KIND.contentLength:
      return DIGITS.test(value);
    default:
      return true;
  }
}

// The static table of HPACK (RFC 7541, appendix A), and the indexes that replies use.

const ENTRIES: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** There is no entry 0. */
export const STATIC_TABLE: readonly HeaderField[] = ENTRIES.map(([name, value]) => makeField(name, value));

/** The least index with a name; 0: none. */
export function staticIndexOf(name: string): number {
  return ENTRIES.findIndex(([known]) => known === name) + 1;
}

/** The index of a name with a value; 0: none. */
export function staticIndexOfPair(name: string, value: string): number {
  return ENTRIES.findIndex((entry) => entry[0] === name && entry[1] === value) + 1;
}
