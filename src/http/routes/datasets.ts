import type { FastifyInstance } from 'fastify';
import {
  DATASET_PARAMETERS,
  DATASET_SCHEMA,
  DATASET_WITH_VERSIONS_SCHEMA,
  pageDatasets,
  readDataset,
} from '../../control/datasets/served.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { documentOf, sendDocument } from '../answers/document.ts';
import { nextLink } from '../answers/links.ts';
import type { ApiDeps } from '../deps.ts';
import { describe, type Operation } from '../openapi/operation.ts';
import { refuseParameters } from '../requests/input.ts';

const tag = 'Datasets';
const auth = 'none';
const NOT_MODIFIED = {
  description: 'It has one of the tags of `If-None-Match`',
  headers: ['ETag', 'Cache-Control'],
} as const;

const DATASET_OPERATIONS = {
  list: {
    operationId: 'listDatasets',
    summary: 'Lists the datasets that are served, by slug',
    description: 'With the manifest of the latest version. Their facts are read over DNS.',
    tag,
    auth,
    query: DATASET_PARAMETERS,
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'A page of datasets',
        schema: arrayOf(DATASET_SCHEMA),
        headers: ['ETag', 'Cache-Control', 'Link'],
      },
      304: NOT_MODIFIED,
    },
  },
  get: {
    operationId: 'getDataset',
    summary: 'Reads a dataset with the manifests of its versions',
    tag,
    auth,
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'The dataset',
        schema: DATASET_WITH_VERSIONS_SCHEMA,
        headers: ['ETag', 'Cache-Control'],
      },
      304: NOT_MODIFIED,
    },
  },
} as const satisfies Readonly<Record<string, Operation>>;

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
