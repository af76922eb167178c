import { LIMITS } from '../../base/limits.ts';
import { AUTH_PREFIX } from '../names/labels.ts';
import type { MalformedCause } from '../query/outcome.ts';

export const KEYS_SLUG = 'keys';

/** The params label after that of a manifest asks for its proof; alone it asks for the checkpoint of the transparency log. */
export const LOG_LABEL = 'log';

const VERSION_MARK = '-v-';
const ITEM_MARK = '-k-';
const AS_OF_MARK = '-t-';

const SLUG = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const BIN_KEY = /^[0-9]{6,8}$/;
const GTIN_KEY = /^(?:[0-9]{8}|[0-9]{12,14})$/;
const OTHER_KEY = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

type SlugKind = 'bin' | 'gtin' | 'other';

/** Texts that follow the field's name in a fault. */
const KEY_RULES: Readonly<Record<SlugKind, string>> = {
  bin: 'must be 6 to 8 digits',
  gtin: 'must be 8, 12, 13 or 14 digits',
  other: `must be 1 to ${LIMITS.datasetItemKey} letters, digits or inner hyphens, without ${AS_OF_MARK}`,
};

/** A slug that a query may name, in lower case. */
export function isSlug(text: string): boolean {
  return (
    text.length <= LIMITS.datasetSlug &&
    SLUG.test(text) &&
    !text.includes(VERSION_MARK) &&
    !text.includes(ITEM_MARK)
  );
}

/** Why no dataset may be published under this slug, or null. */
export function slugFault(text: string): string | null {
  if (!isSlug(text)) {
    return `must be 1 to ${LIMITS.datasetSlug} lower-case letters, digits or inner hyphens, without ${VERSION_MARK} and ${ITEM_MARK}`;
  }
  // `x-k` and item `5` make the label `x-k-k-5`, which reads as slug `x` and item `k-5`.
  if (text.endsWith('-k')) return 'must not end in -k';
  if (text === KEYS_SLUG) return 'is reserved';
  return null;
}

/** Whether DNS answers for a slug: a label that begins with `auth-` is the token of a query. An older change or log may have such a slug. */
export function isAskable(slug: string): boolean {
  return !slug.startsWith(AUTH_PREFIX);
}

/** @param key in lower case */
export function isItemKey(slug: string, key: string): boolean {
  const kind = kindOf(slug);
  if (kind === 'bin') return BIN_KEY.test(key);
  if (kind === 'gtin') return GTIN_KEY.test(key);
  return key.length <= LIMITS.datasetItemKey && OTHER_KEY.test(key) && !key.includes(AS_OF_MARK);
}

export function itemKeyRule(slug: string): string {
  return KEY_RULES[kindOf(slug)];
}

function kindOf(slug: string): SlugKind {
  if (slug.startsWith('bin')) return 'bin';
  return slug.startsWith('gtin') ? 'gtin' : 'other';
}

const IN_LABEL = /^[0-9]+d[0-9]+d[0-9]+$/;
const PUBLISHED = /^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)$/;

function versionOfLabel(text: string): string | null {
  return IN_LABEL.test(text) ? text.replaceAll('d', '.') : null;
}

function labelOfVersion(version: string): string {
  return version.replaceAll('.', 'd');
}

/** A version that may be published: without leading zeros, so that equal versions have one spelling (semver 2.0.0 §2). */
export function isPublishedVersion(text: string): boolean {
  return text.length <= LIMITS.datasetVersion && PUBLISHED.test(text);
}

/** Orders published versions: negative when `a` is the lower one. Their parts are below 2^53. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (const [i, part] of left.entries()) {
    const difference = part - right[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** 0001-01-01T00:00:00Z. */
export const EARLIEST = -62_135_596_800;
/** 9999-12-31T23:59:59Z. */
export const LATEST = 253_402_300_799;

const SECONDS = /^[0-9]{1,10}$/;
const SECONDS_OF_400_YEARS = 146_097 * 86_400;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** The start of a UTC day, `0001-01-01` to `9999-12-31`; null for any other text. */
export function parseDay(text: string): number | null {
  if (!DATE.test(text)) return null;
  const year = Number(text.slice(0, 4));
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  if (year === 0 || day === 0 || day > daysOf(year, month)) return null;
  // 400 years on: `Date.UTC` reads the years 0 to 99 as 1900 to 1999. Parsing the text takes several times as long.
  return Date.UTC(year + 400, month - 1, day) / 1000 - SECONDS_OF_400_YEARS;
}

/** 0 for a month that is none. */
function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (MONTH_DAYS[month - 1] ?? 0);
}

/** The part of a label after `-t-`: unix seconds of 1 to 10 digits, or a date. Null for anything else. */
export function parseAsOf(text: string): number | null {
  return SECONDS.test(text) ? Number(text) : parseDay(text);
}

export type DatasetQuery =
  /** `version`: null asks for the latest. */
  | { readonly kind: 'manifest'; readonly slug: string; readonly version: string | null }
  /** `asOf`: unix seconds; null asks for now. */
  | {
      readonly kind: 'identity';
      readonly slug: string;
      readonly item: string;
      readonly asOf: number | null;
    }
  | { readonly kind: 'keys' }
  /** The proof that the transparency log has a version; null asks for the latest. */
  | { readonly kind: 'proof'; readonly slug: string; readonly version: string | null }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'malformed'; readonly cause: MalformedCause };

interface Options {
  /** Whether identity queries may name an instant. Without it `-t-` is malformed. */
  readonly asOf: boolean;
  /** Whether there is a transparency log. Without one a second label is malformed, and `log` is a slug as any other. */
  readonly log: boolean;
}

const malformed = (cause: MalformedCause): DatasetQuery => ({ kind: 'malformed', cause });

/** @param params labels between the operation and `datasets`, in lower case */
export function parseDatasetQuery(
  operation: 'manifest' | 'identity',
  params: readonly string[],
  options: Options,
): DatasetQuery {
  const [label] = params;
  if (label === undefined) return malformed('parameter');
  if (label.length > LIMITS.label) return malformed('label');
  if (options.log && mayNameLog(operation, params))
    return params.length === 1 ? CHECKPOINT : parseProof(label);
  if (params.length > 1) return malformed('label');
  return operation === 'manifest' ? parseManifest(label) : parseIdentity(label, options);
}

const CHECKPOINT: DatasetQuery = { kind: 'checkpoint' };

/** Whether the name asks for a proof or the checkpoint where there is a transparency log. @param params as above */
export function mayNameLog(operation: string, params: readonly string[]): boolean {
  return operation === 'manifest' && params.length <= 2 && params.at(-1) === LOG_LABEL;
}

/** Keys have no proof of their own: `keys` is a slug here, of which no version is served. */
function parseProof(label: string): DatasetQuery {
  const asked = parseManifest(label);
  if (asked.kind === 'keys') return { kind: 'proof', slug: KEYS_SLUG, version: null };
  return asked.kind === 'manifest' ? { ...asked, kind: 'proof' } : asked;
}

function parseManifest(label: string): DatasetQuery {
  // A version contains no mark, so the last mark is the one before the version.
  const [slug, after] = splitAt(label, label.lastIndexOf(VERSION_MARK), VERSION_MARK);
  if (!isSlug(slug)) return malformed('label');
  if (after === null)
    return slug === KEYS_SLUG ? { kind: 'keys' } : { kind: 'manifest', slug, version: null };
  const version = versionOfLabel(after);
  return version === null ? malformed('version') : { kind: 'manifest', slug, version };
}

function parseIdentity(label: string, options: Options): DatasetQuery {
  // A slug does not contain the mark, and an item key may: the first mark is the one after the slug.
  const [slug, after] = splitAt(label, label.indexOf(ITEM_MARK), ITEM_MARK);
  if (!isSlug(slug)) return malformed('label');
  if (after === null) return malformed('item-key');
  const [item, instant] = splitAt(after, after.lastIndexOf(AS_OF_MARK), AS_OF_MARK);
  if (instant !== null && !options.asOf) return malformed('as-of');
  if (!isItemKey(slug, item)) return malformed('item-key');
  if (instant === null) return { kind: 'identity', slug, item, asOf: null };
  const asOf = parseAsOf(instant);
  return asOf === null ? malformed('as-of') : { kind: 'identity', slug, item, asOf };
}

/** The texts around a mark at `index`; null for the second when there is no mark. */
function splitAt(text: string, index: number, mark: string): [string, string | null] {
  return index < 0 ? [text, null] : [text.slice(0, index), text.slice(index + mark.length)];
}

export function manifestLabel(slug: string, version: string | null): string {
  return version === null ? slug : slug + VERSION_MARK + labelOfVersion(version);
}

/** @param asOf unix seconds or a date, as written; null for now */
export function identityLabel(slug: string, item: string, asOf: string | null): string {
  return slug + ITEM_MARK + item + (asOf === null ? '' : AS_OF_MARK + asOf);
}
