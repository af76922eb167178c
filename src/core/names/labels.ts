import { LIMITS } from '../limits.ts';

const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const VERSION = /^v[1-9][0-9]*$/;

/** First bytes of the label that carries a query token. */
export const AUTH_PREFIX = 'auth-';

/** Operator-reserved resource. */
export const DATASETS_RESOURCE = 'datasets';

export const PUBLIC_NAMESPACE = 'public';

/** The only version of the namespace `public`. */
export const PUBLIC_VERSION = 'v1';

const CAPITALS = /[A-Z]/g;

/**
 * Folds the ASCII letters of a text to lower case, as DNS does (RFC 4343 §3), and leaves every other character as it is:
 * `toLowerCase` would turn KELVIN SIGN (U+212A) into an ASCII k.
 */
export function foldCase(text: string): string {
  return text.replace(CAPITALS, (letter) => letter.toLowerCase());
}

const SMALL = /[a-z]/g;

/** As `foldCase`, to capitals: `toUpperCase` would turn LATIN SMALL LETTER LONG S (U+017F) into an ASCII S. */
export function raiseCase(text: string): string {
  return text.replace(SMALL, (letter) => letter.toUpperCase());
}

/** One label of a query name or key, already in lower case: 1 to 63 of `[a-z0-9-]`, alphanumeric at both ends. */
export function isLabel(label: string): boolean {
  return label.length <= LIMITS.label && LABEL.test(label);
}

/** A resource version in its canonical spelling, lower case. */
export function isVersion(label: string): boolean {
  return label.length <= LIMITS.label && VERSION.test(label);
}
