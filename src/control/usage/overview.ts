/** What a start page shows, in one answer: `GET /overview`. */
import type { Actor } from '../../http/actor.ts';
import { type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { resourceSchema } from '../../protocol/input/schema.ts';
import type { HasClock, HasStore } from '../deps.ts';
import {
  COUNTS_SCHEMA,
  type HasCountTurns,
  parseCounts,
  type QueryCounts,
  readQueryCounts,
  readWindow,
  WINDOW_PARAMETER,
} from '../query-log/steps.ts';
import {
  type HasBilling,
  readUsage,
  USAGE_SCHEMA,
  type UsageResource,
  type WritesResource,
} from './rules.ts';

interface OverviewResource {
  readonly usage: UsageResource;
  /** By status. */
  readonly queries: QueryCounts;
  readonly resources: QueryCounts;
}

export const OVERVIEW_PARAMETERS = { window: WINDOW_PARAMETER } as const;

export const OVERVIEW_SCHEMA = resourceSchema<OverviewResource>('Overview', {
  usage: USAGE_SCHEMA,
  queries: COUNTS_SCHEMA,
  resources: COUNTS_SCHEMA,
});

/** @throws AppError 400 for the parameters */
export async function readOverview(
  deps: HasStore & HasClock & HasBilling & HasCountTurns,
  actor: Actor,
  query: QueryParameters,
  writes: WritesResource | null,
): Promise<OverviewResource> {
  const window = readWindow(readParameters(query, Object.keys(OVERVIEW_PARAMETERS)).window);
  return {
    usage: await readUsage(deps, actor, { writes, byDay: false }),
    queries: await readQueryCounts(deps, actor, parseCounts({ window })),
    resources: await readQueryCounts(deps, actor, parseCounts({ window, group: 'resource' })),
  };
}
