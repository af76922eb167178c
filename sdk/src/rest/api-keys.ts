import type { CallOptions, Http, PostOptions } from './http/http.ts';
import type { NewApiKey } from './requests.ts';
import type { ApiKeyResource, CreatedApiKey } from './resources.ts';

/** Takes a customer token: an API key gets 403. */
export class ApiKeys {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async list(options: CallOptions = {}): Promise<readonly ApiKeyResource[]> {
    return (await this.#http.json<ApiKeyResource[]>({ method: 'GET', path: '/api_keys', ...options })).body;
  }

  /** The only answer that has the token. */
  async create(key: NewApiKey, options: PostOptions = {}): Promise<CreatedApiKey> {
    const parts = { method: 'POST', path: '/api_keys', body: { api_key: key }, ...options } as const;
    return (await this.#http.json<CreatedApiKey>(parts)).body;
  }

  /** The server refuses the key from its next request on. */
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/api_keys/${encodeURIComponent(id)}`, ...options });
  }
}
