import type { CallOptions, Http, PostOptions } from '../http/http.ts';
import { createPasskey, type PasskeyCreationOptions, type PasskeyRegistration } from './webauthn.ts';

export interface PasskeyResource {
  readonly id: string;
  readonly name: string;
  /** Whether a copy exists, as its authenticator said last. */
  readonly backed_up: boolean;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** The passkeys of the signed-in user. */
export class Passkeys {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Oldest first. */
  async list(options: CallOptions = {}): Promise<readonly PasskeyResource[]> {
    return (await this.#http.json<PasskeyResource[]>({ method: 'GET', path: '/passkeys', ...options })).body;
  }

  /** For `navigator.credentials.create()`. The challenge works once. */
  async options(options: CallOptions = {}): Promise<PasskeyCreationOptions> {
    const parts = { method: 'POST', path: '/passkeys/options', isKeyless: true, ...options } as const;
    return (await this.#http.json<PasskeyCreationOptions>(parts)).body;
  }

  /** @param response what `toJSON()` of the new credential gives */
  async create(
    name: string,
    response: PasskeyRegistration,
    options: PostOptions = {},
  ): Promise<PasskeyResource> {
    const parts = { method: 'POST', path: '/passkeys', body: { name, response }, ...options } as const;
    return (await this.#http.json<PasskeyResource>(parts)).body;
  }

  /** `options`, the question of the browser, and `create`. @throws TypeError outside of browsers */
  async add(name: string, options: CallOptions = {}): Promise<PasskeyResource> {
    const response = await createPasskey(() => this.options(options), options.signal);
    return await this.create(name, response, options);
  }

  /** You may remove each of them: a code by mail is always a way in. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/passkeys/${encodeURIComponent(id)}`, ...options });
  }
}
