import type { CallOptions, Http, PostOptions } from './http/http.ts';
import { readLines } from './http/lines.ts';
import type { Listing } from './http/pages.ts';
import type { NamespacePatch, NewQueryToken } from './requests.ts';
import type {
  EndingQueryToken,
  ExportedRecord,
  MintedQueryToken,
  NamespaceResource,
  QueryTokenResource,
  RecordResource,
  UndoResult,
  VersionResource,
} from './resources.ts';
import { type VersionListOptions, versionsAt } from './versions.ts';

export interface ExportOptions extends CallOptions {
  /** As the records were then: only while the namespace keeps history. */
  readonly at?: string | Date | undefined;
}

export class Namespaces {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async list(options: CallOptions = {}): Promise<readonly NamespaceResource[]> {
    return (await this.#http.json<NamespaceResource[]>({ method: 'GET', path: '/namespaces', ...options }))
      .body;
  }

  async get(id: string, options: CallOptions = {}): Promise<NamespaceResource> {
    return (await this.#http.json<NamespaceResource>({ method: 'GET', path: pathOf(id), ...options })).body;
  }

  /** The namespace with this name, or null. */
  async find(name: string, options: CallOptions = {}): Promise<NamespaceResource | null> {
    return (await this.list(options)).find((namespace) => namespace.name === name) ?? null;
  }

  async create(name: string, options: PostOptions = {}): Promise<NamespaceResource> {
    const body = { namespace: { name } };
    const parts = { method: 'POST', path: '/namespaces', body, ...options } as const;
    return (await this.#http.json<NamespaceResource>(parts)).body;
  }

  async update(id: string, change: NamespacePatch, options: CallOptions = {}): Promise<NamespaceResource> {
    const parts = { method: 'PATCH', path: pathOf(id), body: { namespace: change }, ...options } as const;
    return (await this.#http.json<NamespaceResource>(parts)).body;
  }

  /** Deletes its records and query tokens too. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /**
   * The records of the namespace, one at a time, however many there are.
   * @throws ConnectionError when the export breaks off
   */
  async *export(id: string, options: ExportOptions = {}): AsyncGenerator<ExportedRecord, void, undefined> {
    const headers = { accept: 'application/x-ndjson, application/json' };
    const { at, ...call } = options;
    const parts = { method: 'GET', path: `${pathOf(id)}/export`, query: { at }, headers, ...call } as const;
    const response = await this.#http.open(parts);
    for await (const line of readLines(response, options.signal)) yield line as ExportedRecord;
  }

  /** The versions of a key, also of one without a record, newest first; without data. */
  versions(id: string, key: string, options: VersionListOptions = {}): Listing<VersionResource> {
    return versionsAt(this.#http, `${pathOf(id)}/versions`, { key }, options);
  }

  /** Makes a deleted record again, from a version of its key. */
  async restore(
    id: string,
    key: string,
    version: number,
    options: PostOptions = {},
  ): Promise<RecordResource> {
    const parts = {
      method: 'POST',
      path: `${pathOf(id)}/restore`,
      body: { key, version },
      ...options,
    } as const;
    return (await this.#http.json<RecordResource>(parts)).body;
  }

  /** Brings the records of a write back to what they were before it. @param write what `onWritten` of it was called with */
  async undo(id: string, write: string, options: PostOptions = {}): Promise<UndoResult> {
    const parts = { method: 'POST', path: `${pathOf(id)}/undo`, body: { write }, ...options } as const;
    return (await this.#http.json<UndoResult>(parts)).body;
  }

  /** Erases the versions of a key, also of one without a record; a present value stays. */
  async eraseVersions(id: string, key: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `${pathOf(id)}/versions`, query: { key }, ...options });
  }
}

export class QueryTokens {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Without their plaintext. */
  async list(namespaceId: string, options: CallOptions = {}): Promise<readonly QueryTokenResource[]> {
    const path = `${pathOf(namespaceId)}/query_tokens`;
    return (await this.#http.json<QueryTokenResource[]>({ method: 'GET', path, ...options })).body;
  }

  /** Live ones of all namespaces, those that end soonest first. @param filter `limit`: 20 unless given, 100 at most */
  async ending(
    { expiring_before: before, limit }: { readonly expiring_before?: Date; readonly limit?: number } = {},
    options: CallOptions = {},
  ): Promise<readonly EndingQueryToken[]> {
    const query = { expiring_before: before?.toISOString(), limit };
    const answer = await this.#http.json<EndingQueryToken[]>({
      method: 'GET',
      path: '/query_tokens',
      query,
      ...options,
    });
    return answer.body;
  }

  /** The only answer that has the token itself. */
  async mint(
    namespaceId: string,
    token: NewQueryToken,
    options: PostOptions = {},
  ): Promise<MintedQueryToken> {
    const path = `${pathOf(namespaceId)}/query_tokens`;
    return (await this.#http.json<MintedQueryToken>({ method: 'POST', path, body: token, ...options })).body;
  }

  async revoke(namespaceId: string, tokenId: string, options: CallOptions = {}): Promise<void> {
    const path = `${pathOf(namespaceId)}/query_tokens/${encodeURIComponent(tokenId)}`;
    await this.#http.json({ method: 'DELETE', path, ...options });
  }
}

function pathOf(id: string): string {
  return `/namespaces/${encodeURIComponent(id)}`;
}
