import type { CallOptions, Http, PostOptions } from './http/http.ts';
import { readLines } from './http/lines.ts';
import type { NamespacePatch, NewQueryToken } from './requests.ts';
import type { ExportedRecord, MintedQueryToken, NamespaceResource, QueryTokenResource } from './resources.ts';

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
  async *export(id: string, options: CallOptions = {}): AsyncGenerator<ExportedRecord, void, undefined> {
    const headers = { accept: 'application/x-ndjson, application/json' };
    const parts = { method: 'GET', path: `${pathOf(id)}/export`, headers, ...options } as const;
    const response = await this.#http.open(parts);
    for await (const line of readLines(response, options.signal)) yield line as ExportedRecord;
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
