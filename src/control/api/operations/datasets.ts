import { arrayOf } from '../../../core/input/schema.ts';
import { DATASET_PARAMETERS, DATASET_SCHEMA, DATASET_WITH_VERSIONS_SCHEMA } from '../../datasets/served.ts';
import type { Operation } from '../openapi/operation.ts';

const tag = 'Datasets';
const auth = 'none';
const NOT_MODIFIED = {
  description: 'It has one of the tags of `If-None-Match`',
  headers: ['ETag', 'Cache-Control'],
} as const;

export const DATASET_OPERATIONS = {
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
