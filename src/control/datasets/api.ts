/** What the API says of datasets: the versions that are served. */

import type { FastifyInstance } from 'fastify';
import { notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { documentOf, linkNext, sendDocument } from '../../http/answers.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import { isSlug } from '../../protocol/datasets/query.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { servedSlugs } from '../../store/datasets.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasStore } from '../deps.ts';
import { type DatasetVersion, servedVersions } from './versions.ts';

type DatasetVersionResource = ReturnType<typeof versionResource>;

type DatasetResource = ReturnType<typeof datasetResource>;

type DatasetWithVersions = Awaited<ReturnType<typeof readDataset>>;

const VERSION_NUMBER = { type: 'string', examples: ['1.2.0'] } as const;

const DATASET_VERSION_SCHEMA = resourceSchema<DatasetVersionResource>('DatasetVersion', {
  slug: { type: 'string', examples: ['gtin-demo'] },
  version: VERSION_NUMBER,
  license: { type: 'string', examples: ['CC0-1.0'] },
  provenance: { type: 'string', examples: ['GS1 prefix list, 2026-11'] },
  url: {
    type: 'string',
    description: 'Where the publisher has the items file. Untrusted: `sha256` alone identifies it',
    examples: ['https://data.example.net/gtin-demo-1.2.0.jsonl'],
  },
  sha256: {
    type: 'string',
    description: 'Of the octets of the items file',
    examples: ['0657a849f8c8f70b53af58135f5d2a9c2e14aa6b6167b9df52cdbbb68d1837b9'],
  },
  att: { const: 'attested' },
  attsig: {
    type: 'string',
    description: 'Ed25519 signature in Base64',
    examples: ['nzwY689oLiLH5GHWknJ4a2UIfiiq0HnHm27hUHtlnyE0teemqBbrc6dVw9sSTqVkzUsOBftQCHXExKc75+lWBw=='],
  },
  attkid: { type: 'string', description: 'Id of the key that signed', examples: ['fe9d1da4bd37f37f'] },
  atts: { type: 'integer', description: 'Unix second of the attestation', examples: [1_795_000_000] },
  items: COUNT,
  windows: COUNT,
  octets: { ...COUNT, description: 'Length of the items file' },
  published_at: TIME,
});

const DATASET_PROPERTIES = {
  slug: { type: 'string', examples: ['gtin-demo'] },
  latest: DATASET_VERSION_SCHEMA,
  version_numbers: arrayOf(VERSION_NUMBER, { description: 'Served versions, the highest first' }),
} as const;

const DATASET_SCHEMA = resourceSchema<DatasetResource>('Dataset', DATASET_PROPERTIES);

const DATASET_WITH_VERSIONS_SCHEMA = resourceSchema<DatasetWithVersions>('DatasetWithVersions', {
  ...DATASET_PROPERTIES,
  versions: arrayOf(DATASET_VERSION_SCHEMA, {
    description: 'Manifests of all of them, the highest version first',
  }),
});

const PAGE_DEFAULT = 50;
const LISTING = ['datasets'];

const DATASET_PARAMETERS = {
  limit: limitParameter('Datasets', PAGE_DEFAULT, LIMITS.pageMax),
  cursor: { schema: CURSOR_SCHEMA, description: 'The page after, from the header `Link`' },
} as const;

/** Datasets by slug; `next` is null on the last page. @throws AppError 400 for the parameters */
async function pageDatasets(deps: HasStore, query: QueryParameters) {
  const { limit: limitText, cursor } = readParameters(query, Object.keys(DATASET_PARAMETERS));
  const limit = readLimit(limitText, PAGE_DEFAULT, LIMITS.pageMax);
  const after = cursor === undefined ? '' : slugOfCursor(cursor);
  const slugs = await servedSlugs(deps.store.read, after, limit + 1);
  const datasets: DatasetResource[] = [];
  for (const slug of slugs.slice(0, limit)) {
    const versions = await servedVersions(deps, slug);
    // It may have been retired meanwhile.
    if (versions.length > 0) datasets.push(datasetResource(versions));
  }
  const next = slugs.length > limit ? encodeListingCursor({ s: slugs[limit - 1]! }, LISTING) : null;
  return { datasets, limit, next };
}

/** @throws AppError 404 when no version of it is served */
async function readDataset(deps: HasStore, slug: string) {
  // PostgreSQL refuses a statement with U+0000.
  const versions = isSlug(slug) ? await servedVersions(deps, slug) : [];
  if (versions.length === 0) throw notFound('Dataset');
  return { ...datasetResource(versions), versions: versions.map(versionResource) };
}

/** @param versions at least one, the highest first */
function datasetResource(versions: readonly DatasetVersion[]) {
  const latest = versions[0]!;
  return {
    slug: latest.manifest.slug,
    latest: versionResource(latest),
    version_numbers: versions.map(({ manifest }) => manifest.version),
  };
}

function versionResource({ manifest, items, windows, octets, publishedAt }: DatasetVersion) {
  return { ...manifest, items, windows, octets, published_at: formatTime(publishedAt ?? 0) };
}

function slugOfCursor(text: string): string {
  const slug = decodeListingCursor(text, LISTING)?.s;
  if (typeof slug === 'string' && slug.length <= LIMITS.datasetSlug) return slug;
  throw badParameter('cursor', 'is not a cursor of this listing');
}

const NOT_MODIFIED = {
  description: 'It has one of the tags of `If-None-Match`',
  headers: ['ETag', 'Cache-Control'],
} as const;

const ROUTES = describeRoutes('Datasets', 'none', {
  list: {
    operationId: 'listDatasets',
    summary: 'Lists the datasets that are served, by slug',
    description: 'With the manifest of the latest version. Their facts are read over DNS.',
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
    query: {},
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
});

/** Seconds. A version that is retired stays in caches for no longer. */
const MAX_AGE = 60;

/** Without UQRP_DATASETS these routes are not there. */
export function datasetRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/datasets', ROUTES.list, async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { datasets, limit, next } = await pageDatasets(deps, query);
    linkNext(deps, request, reply, limit, next);
    return sendDocument(request, reply, documentOf(datasets), MAX_AGE);
  });
  app.get('/datasets/:slug', ROUTES.get, async (request, reply) => {
    const { slug } = request.params as { readonly slug: string };
    return sendDocument(request, reply, documentOf(await readDataset(deps, slug)), MAX_AGE);
  });
}
