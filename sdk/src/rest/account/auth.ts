import type { CallOptions, Http } from '../http/http.ts';
import type { UserResource } from '../resources.ts';
import { assertPasskey, type PasskeyAssertion, type PasskeyRequestOptions } from './webauthn.ts';

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

/**
 * `cookie`: the session is a cookie that no script can read, for pages of the server's own origin. Use it with a client
 * that has `credentials: 'same-origin'`.
 */
export interface CookieOptions extends CallOptions {
  readonly cookie: true;
}

/** Sign-in by a mailed code or a passkey. */
export class Auth {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Mails a six-digit code. The answer is the same for known and unknown addresses. */
  async signIn(email: string, options: CallOptions = {}): Promise<void> {
    await this.#post('/auth/sign_in', { email }, options);
  }

  /** The token for `uqrp.withToken`. A wrong or expired code is 401. */
  verify(email: string, code: string, options?: CallOptions): Promise<IssuedToken>;
  verify(email: string, code: string, options: CookieOptions): Promise<CookieSession>;
  verify(email: string, code: string, options: CallOptions = {}): Promise<CookieSession> {
    return this.#session('/auth/verify', { email, code }, options);
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
