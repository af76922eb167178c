import type { CallOptions, Http } from './http/http.ts';
import { Listing, nextCursor } from './http/pages.ts';

/** A signed manifest, with what was imported under it. */
export interface DatasetVersion {
  readonly slug: string;
  readonly version: string;
  readonly license: string;
  readonly provenance: string;
  /** Untrusted: `sha256` alone identifies the items file. */
  readonly url: string;
  readonly sha256: string;
  readonly att: 'attested';
  readonly attsig: string;
  readonly attkid: string;
  /** Unix second of the attestation. */
  readonly atts: number;
  readonly items: number;
  readonly windows: number;
  /** Length of the items file. */
  readonly octets: number;
  readonly published_at: string;
}

export interface DatasetResource {
  readonly slug: string;
  readonly latest: DatasetVersion;
  /** Served versions, the highest first. */
  readonly version_numbers: readonly string[];
}

export interface DatasetWithVersions extends DatasetResource {
  readonly versions: readonly DatasetVersion[];
}

export interface DatasetListOptions extends CallOptions {
  /** Datasets for each request, 1 to 100. */
  readonly limit?: number | undefined;
}

/** The dataset registry. A server with the feature `datasets` off answers 404. */
export class Datasets {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** By slug, read in pages while they are iterated. */
  list({ limit, ...call }: DatasetListOptions = {}): Listing<DatasetResource> {
    return new Listing(async (cursor) => {
      const query = { limit, cursor };
      const parts = { method: 'GET', path: '/datasets', query, ...call } as const;
      const { body, headers } = await this.#http.json<DatasetResource[]>(parts);
      return { items: body, next: nextCursor(headers) };
    });
  }

  async get(slug: string, options: CallOptions = {}): Promise<DatasetWithVersions> {
    const path = `/datasets/${encodeURIComponent(slug)}`;
    return (await this.#http.json<DatasetWithVersions>({ method: 'GET', path, ...options })).body;
  }
}
