/** RFC 1035 §2.3.4; the text without the trailing dot. */
export const QUERY_NAME_MAX = 253;

const LABEL_MAX = 63;
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const VERSION = /^v[1-9][0-9]*$/;

export const AUTH_PREFIX = 'auth-';

/** Only the operator may write it. */
export const DATASETS_RESOURCE = 'datasets';

export const PUBLIC_NAMESPACE = 'public';

export const PUBLIC_VERSION = 'v1';

const CAPITALS = /[A-Z]/g;

/** ASCII letters to lower case (RFC 4343 §3). `toLowerCase` would turn KELVIN SIGN (U+212A) into an ASCII k. */
export function foldCase(text: string): string {
  return text.replace(CAPITALS, (letter) => letter.toLowerCase());
}

/** Each name as `foldCase`, without those that are then repeated. */
export function folded(names: readonly string[] | undefined): readonly string[] | undefined {
  return names && [...new Set(names.map(foldCase))];
}

const SMALL = /[a-z]/g;

/** ASCII letters to upper case. `toUpperCase` would turn LONG S (U+017F) into an ASCII S. */
export function raiseCase(text: string): string {
  return text.replace(SMALL, (letter) => letter.toUpperCase());
}

/** A label in lower case: 1 to 63 of `[a-z0-9-]`, alphanumeric at both ends. */
export function isLabel(label: string): boolean {
  return label.length <= LABEL_MAX && LABEL.test(label);
}

/** A label in any case, as a client may write it. */
export const LABEL_SCHEMA = {
  type: 'string',
  pattern: '^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$',
} as const;

export function isVersion(label: string): boolean {
  return label.length <= LABEL_MAX && VERSION.test(label);
}
