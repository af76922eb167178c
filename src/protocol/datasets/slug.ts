import { LIMITS } from '../../base/limits.ts';

export const KEYS_SLUG = 'keys';

export const VERSION_MARK = '-v-';
export const ITEM_MARK = '-k-';
export const AS_OF_MARK = '-t-';

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
