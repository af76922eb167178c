import type { CallOptions, Http, QueryParameters } from './http/http.ts';
import { Listing, type Page } from './http/pages.ts';
import type { VersionResource } from './resources.ts';

export interface VersionListOptions extends CallOptions {
  /** Versions for each request, 1 to 100. Default 50. */
  readonly limit?: number | undefined;
}

interface VersionPageBody {
  readonly versions: readonly VersionResource[];
  readonly meta: { readonly next_cursor: string | null };
}

/** Versions of a record or a key, newest first. @param path of the listing */
export function versionsAt(
  http: Http,
  path: string,
  filter: QueryParameters,
  { limit, ...call }: VersionListOptions,
): Listing<VersionResource> {
  return new Listing(async (cursor): Promise<Page<VersionResource>> => {
    const parts = { method: 'GET', path, query: { ...filter, limit, cursor }, ...call } as const;
    const { body } = await http.json<VersionPageBody>(parts);
    return { items: body.versions, next: body.meta.next_cursor };
  });
}
