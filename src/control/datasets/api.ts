/** What the API says of datasets: the versions that are served. */

import type { FastifyInstance } from 'fastify';
import { notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/text/time.ts';
import { documentOf, nextLink, sendDocument } from '../../http/answers.ts';
import { describe, type Operation } from '../../http/openapi/operation.ts';
import { refuseParameters } from '../../http/request.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import {
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
} from '../../protocol/input/listing-cursor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { servedSlugs } from '../../store/datasets/versions.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasStore } from '../deps.ts';
import { type DatasetVersion, servedVersions } from './versions.ts';

/** A signed manifest, with what was imported under it. */
interface DatasetVersionResource extends SignedManifest {
  readonly items: number;
  readonly windows: number;
  /** Of the items file. */
  readonly octets: number;
  readonly published_at: string;
}

interface DatasetResource {
  readonly slug: string;
  readonly latest: DatasetVersionResource;
  /** Served versions, the highest first. */
  readonly version_numbers: readonly string[];
}

interface DatasetWithVersions extends DatasetResource {
  readonly versions: readonly DatasetVersionResource[];
}

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
  limit: {
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageMax, default: PAGE_DEFAULT },
    description: 'Datasets of a page',
  },
  cursor: { schema: CURSOR_SCHEMA, description: 'The page after, from the header `Link`' },
} as const;

interface DatasetPage {
  readonly datasets: readonly DatasetResource[];
  readonly limit: number;
  /** Null on the last page. */
  readonly next: string | null;
}

/** Datasets by slug. @throws AppError 400 for the parameters */
async function pageDatasets(deps: HasStore, query: QueryParameters): Promise<DatasetPage> {
  const { limit: limitText, cursor } = readParameters(query, Object.keys(DATASET_PARAMETERS));
  const limit = limitText === undefined ? PAGE_DEFAULT : pageLimit(limitText);
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
async function readDataset(deps: HasStore, slug: string): Promise<DatasetWithVersions> {
  const versions = await servedVersions(deps, slug);
  if (versions.length === 0) throw notFound('Dataset');
  return { ...datasetResource(versions), versions: versions.map(versionResource) };
}

/** @param versions at least one, the highest first */
function datasetResource(versions: readonly DatasetVersion[]): DatasetResource {
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

function pageLimit(text: string): number {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LIMITS.pageMax) return limit;
  throw badParameter('limit', `is not a number from 1 to ${LIMITS.pageMax}`);
}

function slugOfCursor(text: string): string {
  const slug = decodeListingCursor(text, LISTING)?.s;
  if (typeof slug === 'string' && slug.length <= LIMITS.datasetSlug) return slug;
  throw badParameter('cursor', 'is not a cursor of this listing');
}

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
