import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { badParameter } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema } from '../../protocol/input/schema.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';
import type { NamespaceRow } from '../../store/namespaces.ts';
import { countByResource, sampleByResource } from '../../store/record-facets.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { inScope } from './listing.ts';

interface Facet {
  readonly name: string;
  readonly records: number;
}

interface Facets {
  readonly records: number;
  readonly estimated: boolean;
  readonly resources: readonly Facet[];
  readonly more_resources: number;
  readonly namespaces: readonly Facet[];
  readonly more_namespaces: number;
}

const FACET_SCHEMA = resourceSchema<Facet>('Facet', {
  name: { type: 'string', description: 'A label', examples: ['dark-mode'] },
  records: COUNT,
});

export const FACETS_SCHEMA = resourceSchema<Facets>('RecordFacets', {
  records: { ...COUNT, description: 'All together' },
  estimated: { type: 'boolean', description: 'The counts by resource are estimated' },
  resources: arrayOf(FACET_SCHEMA, { maxItems: LIMITS.facetValues }),
  more_resources: { ...COUNT, description: 'Resources that were found and are not named' },
  namespaces: arrayOf(FACET_SCHEMA, {
    maxItems: LIMITS.facetValues,
    description: 'Those that have records',
  }),
  more_namespaces: { ...COUNT, description: 'Namespaces with records that are not named' },
});

/** Counts the records that the credential reaches. @throws AppError 400 */
export async function readFacets(
  deps: HasStore & HasClock,
  actor: Actor,
  text: string | undefined,
): Promise<Facets> {
  const namespace = text === undefined ? undefined : foldCase(text);
  if (namespace !== undefined && !isLabel(namespace))
    throw badParameter('namespace', 'is not a namespace name');
  const namespaces = await inScope(deps, actor, { namespace });
  const records = namespaces.reduce((sum, { records_count }) => sum + records_count, 0);
  const estimated = records > LIMITS.facetRows;
  const resources = estimated
    ? await estimate(deps, namespaces, records)
    : await countByResource(
        deps.store.read,
        namespaces.map(({ id }) => id),
        LIMITS.facetRows,
      );
  const owned = new Map(namespaces.map(({ name, records_count }) => [name, records_count]));
  return {
    records,
    estimated,
    resources: largest(resources),
    more_resources: Math.max(0, resources.size - LIMITS.facetValues),
    namespaces: largest(owned),
    more_namespaces: Math.max(0, owned.size - LIMITS.facetValues),
  };
}

/** Each namespace has a part of the sample as large as its part of the records. */
async function estimate(
  { store }: HasStore,
  namespaces: readonly NamespaceRow[],
  records: number,
): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const { id, records_count } of namespaces) {
    const size = Math.ceil((LIMITS.facetRows * records_count) / records);
    const seen = await sampleByResource(store.read, id, size);
    const sampled = [...seen.values()].reduce((sum, count) => sum + count, 0);
    for (const [resource, count] of seen) {
      const scaled = Math.round((count * records_count) / sampled);
      sums.set(resource, (sums.get(resource) ?? 0) + Math.max(1, scaled));
    }
  }
  return sums;
}

/** Of equal ones the first by name. */
function largest(counts: ReadonlyMap<string, number>): Facet[] {
  return [...counts]
    .map(([name, records]) => ({ name, records }))
    .sort((a, b) => b.records - a.records || (a.name < b.name ? -1 : 1))
    .slice(0, LIMITS.facetValues);
}
