import type { CallOptions, Http } from '../http/http.ts';

export interface SessionResource {
  readonly id: string;
  /** How it began. */
  readonly method: 'code' | 'passkey' | 'cli';
  /** Whether it is the session of this client. */
  readonly current: boolean;
  readonly created_at: string;
  /** At most a minute behind. */
  readonly last_used_at: string | null;
  readonly expires_at: string;
}

/** The sessions of the signed-in user. */
export class Sessions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Newest first. */
  async list(options: CallOptions = {}): Promise<readonly SessionResource[]> {
    return (await this.#http.json<SessionResource[]>({ method: 'GET', path: '/sessions', ...options })).body;
  }

  /** Ends one session, at once. */
  async end(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/sessions/${encodeURIComponent(id)}`, ...options });
  }

  /** Ends every session, that of this client included. */
  async endAll(options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: '/sessions', ...options });
  }
}
