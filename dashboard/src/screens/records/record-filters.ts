/** The filters of the list, as they stand in the address. */
import type { RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { foldCase } from '../../../../src/protocol/names/labels.ts';
import { hasTokenLabel } from '../../format/masked-name.ts';

/** As typed: what is no number or time is left out of the question and marked in its field. */
export interface FilterTexts {
  readonly search: string;
  readonly namespace: string;
  readonly resource: string;
  readonly ttlMin: string;
  readonly ttlMax: string;
  readonly after: string;
  readonly before: string;
}

/** Members of the query of the address. */
export const FILTER_NAMES: Readonly<Record<keyof FilterTexts, string>> = {
  search: 'search',
  namespace: 'namespace',
  resource: 'resource',
  ttlMin: 'ttl_min',
  ttlMax: 'ttl_max',
  after: 'created_after',
  before: 'created_before',
};

const FIELDS = Object.keys(FILTER_NAMES) as (keyof FilterTexts)[];
/** What a key, a resource or a namespace can have: the API refuses everything else. */
const SEARCH = /^[A-Za-z0-9.-]{0,253}$/;
const TTL_MAX = 2_147_483_647;

export function filterTexts(query: URLSearchParams): FilterTexts {
  const texts = FIELDS.map((field) => [field, query.get(FILTER_NAMES[field]) ?? '']);
  return Object.fromEntries(texts) as unknown as FilterTexts;
}

export function isGoodFilter(field: keyof FilterTexts, text: string): boolean {
  if (text === '') return true;
  if (field === 'ttlMin' || field === 'ttlMax') return /^[0-9]{1,10}$/.test(text) && Number(text) <= TTL_MAX;
  if (field === 'search') return SEARCH.test(text.trim()) && !hasTokenLabel(text.trim());
  return field === 'after' || field === 'before' ? !Number.isNaN(Date.parse(text)) : true;
}

/** The question to the API. */
export function recordFilter(texts: FilterTexts): RecordFilter {
  const good = (field: keyof FilterTexts): string | undefined =>
    texts[field] !== '' && isGoodFilter(field, texts[field]) ? texts[field] : undefined;
  const numberOf = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : Number(text);
  const timeOf = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : new Date(text).toISOString();
  const filter = {
    namespace: good('namespace'),
    resource: good('resource'),
    q: searchOf(texts),
    ttl_min: numberOf(good('ttlMin')),
    ttl_max: numberOf(good('ttlMax')),
    created_after: timeOf(good('after')),
    created_before: timeOf(good('before')),
  };
  return Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== undefined),
  ) as RecordFilter;
}

type Sort = NonNullable<RecordFilter['sort']>;
const SORTS: readonly Sort[] = ['key', '-key', 'updated_at', '-updated_at'];

/** The order in the address. */
export function orderOf(query: URLSearchParams): Sort {
  return SORTS.find((sort) => sort === query.get('sort')) ?? 'key';
}

/** The order after a click on the head of a column. Keys begin at the first, changes at the last. */
export function sortOnClick(now: Sort, column: string): Sort {
  if (column === 'key') return now === 'key' ? '-key' : 'key';
  return now === '-updated_at' ? 'updated_at' : '-updated_at';
}

function searchOf({ search }: FilterTexts): string | undefined {
  const typed = foldCase(search.trim());
  return typed !== '' && SEARCH.test(typed) ? typed : undefined;
}

/** How many filters are on. */
export function filterCount(texts: FilterTexts): number {
  return FIELDS.filter((field) => texts[field] !== '').length;
}

/** Whether a record that was just written passes the filters that concern its key. */
export function keepsKey(filter: RecordFilter, key: string, namespace: string, resource: string): boolean {
  return (
    (filter.namespace === undefined || foldCase(filter.namespace) === namespace) &&
    (filter.resource === undefined || foldCase(filter.resource) === resource) &&
    (filter.q === undefined || key.startsWith(filter.q) || filter.q === resource || filter.q === namespace)
  );
}
