import type { FastifyInstance } from 'fastify';
import { pageDatasets, readDataset } from '../../datasets/served.ts';
import { documentOf, sendDocument } from '../answers/document.ts';
import { nextLink } from '../answers/links.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { DATASET_OPERATIONS } from '../operations/datasets.ts';
import { refuseParameters } from '../requests/input.ts';

/** Seconds. A version that is retired stays in caches for no longer. */
const MAX_AGE = 60;

/** Without UQRP_DATASETS these routes are not there. */
export function datasetRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/datasets', describe(DATASET_OPERATIONS.list), async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { datasets, limit, next } = await pageDatasets(deps, query);
    if (next !== null)
      reply.header('link', nextLink(deps, request, { ...query, limit: String(limit), cursor: next }));
    return sendDocument(request, reply, documentOf(datasets), MAX_AGE);
  });
  app.get('/datasets/:slug', describe(DATASET_OPERATIONS.get), async (request, reply) => {
    refuseParameters(request);
    const { slug } = request.params as { readonly slug: string };
    return sendDocument(request, reply, documentOf(await readDataset(deps, slug)), MAX_AGE);
  });
}
