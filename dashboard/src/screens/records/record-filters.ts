/** The filters of the list, as they stand in the address. */
import type { RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { foldCase } from '../../../../src/protocol/names/labels.ts';

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
const TTL_MAX = 2_147_483_647;

export function filterTexts(query: URLSearchParams): FilterTexts {
  const texts = FIELDS.map((field) => [field, query.get(FILTER_NAMES[field]) ?? '']);
  return Object.fromEntries(texts) as unknown as FilterTexts;
}

export function isGoodFilter(field: keyof FilterTexts, text: string): boolean {
  if (text === '') return true;
  if (field === 'ttlMin' || field === 'ttlMax') return /^[0-9]{1,10}$/.test(text) && Number(text) <= TTL_MAX;
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
    key_prefix: texts.search === '' ? undefined : foldCase(texts.search.trim()),
    ttl_min: numberOf(good('ttlMin')),
    ttl_max: numberOf(good('ttlMax')),
    created_after: timeOf(good('after')),
    created_before: timeOf(good('before')),
  };
  return Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== undefined),
  ) as RecordFilter;
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
    (filter.key_prefix === undefined || key.startsWith(filter.key_prefix))
  );
}
