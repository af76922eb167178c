import { LIMITS } from '../../base/limits.ts';
import type { MalformedCause } from '../query/malformed.ts';
import { parseAsOf } from './as-of.ts';
import { AS_OF_MARK, ITEM_MARK, isItemKey, isSlug, KEYS_SLUG, VERSION_MARK } from './slug.ts';
import { labelOfVersion, versionOfLabel } from './version.ts';

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
  | { readonly kind: 'malformed'; readonly cause: MalformedCause };

interface Options {
  /** Whether identity queries may name an instant. Without it `-t-` is malformed. */
  readonly asOf: boolean;
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
  if (params.length > 1 || label.length > LIMITS.label) return malformed('label');
  return operation === 'manifest' ? parseManifest(label) : parseIdentity(label, options);
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
