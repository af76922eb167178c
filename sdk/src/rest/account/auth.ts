import type { CallOptions, Http } from '../http/http.ts';
import type { UserResource } from '../resources.ts';
import { assertPasskey, type PasskeyAssertion, type PasskeyRequestOptions } from './passkeys.ts';

/** A session that began. */
export interface CookieSession {
  readonly expires_at: string;
  readonly user: UserResource;
}

/** A session whose token the program keeps. */
export interface IssuedToken extends CookieSession {
  readonly token: string;
  readonly token_type: 'Bearer';
}

/** The code that was mailed belongs to the flow that asked for it. */
export interface SignInFlow {
  readonly flow: string;
}

/** `flow`: of the `signIn` that asked for the code. Default: of the last one of this client, when it was for the same address. */
export interface VerifyOptions extends CallOptions {
  readonly flow?: string | undefined;
}

/**
 * `cookie`: the session is a cookie that no script can read, for pages of the server's own origin. Use it with a client
 * that has `credentials: 'same-origin'`.
 */
export interface CookieOptions extends VerifyOptions {
  readonly cookie: true;
}

/** Sign-in by a mailed code or a passkey. */
export class Auth {
  readonly #http: Http;
  /** Of the last `signIn`, by its address. */
  #flow = new Map<string, string>();

  constructor(http: Http) {
    this.#http = http;
  }

  /** Mails a six-digit code. The answer is the same for known and unknown addresses. */
  async signIn(email: string, options: CallOptions = {}): Promise<SignInFlow> {
    const answer = await this.#post<SignInFlow>('/auth/sign_in', { email }, options);
    // Servers before flows answer nothing.
    this.#flow = new Map([[email, answer?.flow]]);
    return answer;
  }

  /** The token for `uqrp.withToken`. A wrong or expired code is 401. */
  verify(email: string, code: string, options?: VerifyOptions): Promise<IssuedToken>;
  verify(email: string, code: string, options: CookieOptions): Promise<CookieSession>;
  verify(
    email: string,
    code: string,
    { flow = this.#flow.get(email), ...options }: VerifyOptions = {},
  ): Promise<CookieSession> {
    return this.#session('/auth/verify', { email, code, flow }, options);
  }

  /** For `navigator.credentials.get()`. The challenge works once. */
  passkeyOptions(options: CallOptions = {}): Promise<PasskeyRequestOptions> {
    return this.#post('/auth/passkeys/options', undefined, options);
  }

  /** @param response what `toJSON()` of the credential gives. One that does not sign in is 401 */
  verifyPasskey(response: PasskeyAssertion, options?: CallOptions): Promise<IssuedToken>;
  verifyPasskey(response: PasskeyAssertion, options: CookieOptions): Promise<CookieSession>;
  verifyPasskey(response: PasskeyAssertion, options: CallOptions = {}): Promise<CookieSession> {
    return this.#session('/auth/passkeys/verify', { response }, options);
  }

  /** `passkeyOptions`, the question of the browser, and `verifyPasskey`. @throws TypeError outside of browsers */
  signInWithPasskey(options?: CallOptions): Promise<IssuedToken>;
  signInWithPasskey(options: CookieOptions): Promise<CookieSession>;
  async signInWithPasskey(options: CallOptions = {}): Promise<CookieSession> {
    const { signal } = options;
    const response = await assertPasskey(() => this.passkeyOptions(callOf(options)), signal);
    return await this.verifyPasskey(response, options);
  }

  /** Ends the session of this client, at once. */
  async signOut(options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: '/auth/session', ...options });
  }

  async #session(path: string, body: object, options: CallOptions): Promise<CookieSession> {
    const { cookie } = options as Partial<CookieOptions>;
    return await this.#post(path, cookie === true ? { ...body, cookie } : body, callOf(options));
  }

  async #post<T>(path: string, body: object | undefined, options: CallOptions): Promise<T> {
    const parts = { method: 'POST', path, body, isKeyless: true, ...options } as const;
    return (await this.#http.json<T>(parts)).body;
  }
}

function callOf(options: CallOptions): CallOptions {
  const { cookie: _, ...call } = options as Partial<CookieOptions>;
  return call;
}

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
