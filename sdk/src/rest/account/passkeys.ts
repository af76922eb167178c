import type { CallOptions, Http, PostOptions } from '../http/http.ts';

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

/** For `PublicKeyCredential.parseCreationOptionsFromJSON()`. */
export interface PasskeyCreationOptions {
  challenge: string;
  rp: { id: string; name: string };
  user: { id: string; name: string; displayName: string };
  pubKeyCredParams: { type: 'public-key'; alg: number }[];
  /** Milliseconds. */
  timeout: number;
  excludeCredentials: { type: 'public-key'; id: string; transports?: string[] }[];
  authenticatorSelection: {
    residentKey: 'required';
    requireResidentKey: boolean;
    userVerification: 'required';
  };
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON()`. */
export interface PasskeyRequestOptions {
  challenge: string;
  rpId: string;
  /** Milliseconds. */
  timeout: number;
  userVerification: 'required';
}

interface Credential<Response> {
  readonly id: string;
  readonly rawId: string;
  readonly type: 'public-key';
  readonly response: Response;
}

/** `RegistrationResponseJSON`: what `toJSON()` of a new credential gives. */
export type PasskeyRegistration = Credential<{
  readonly clientDataJSON: string;
  readonly attestationObject: string;
}>;

/** `AuthenticationResponseJSON`: what `toJSON()` of a credential gives. */
export type PasskeyAssertion = Credential<{
  readonly clientDataJSON: string;
  readonly authenticatorData: string;
  readonly signature: string;
  readonly userHandle: string;
}>;

/** What the package uses of a browser: the types of browsers are not there on other runtimes. */
interface Browser {
  readonly navigator?: {
    readonly credentials?: {
      create(options: Ceremony): Promise<{ toJSON(): unknown } | null>;
      get(options: Ceremony): Promise<{ toJSON(): unknown } | null>;
    };
  };
  readonly PublicKeyCredential?: {
    parseCreationOptionsFromJSON?(options: PasskeyCreationOptions): unknown;
    parseRequestOptionsFromJSON?(options: PasskeyRequestOptions): unknown;
  };
}

interface Ceremony {
  readonly publicKey: unknown;
  readonly signal?: AbortSignal;
}

/** Asks the browser for a new passkey. @throws TypeError where passkeys are not supported; the browser's DOMException */
export async function createPasskey(
  options: () => Promise<PasskeyCreationOptions>,
  signal: AbortSignal | undefined,
): Promise<PasskeyRegistration> {
  const { navigator, PublicKeyCredential: form } = globalThis as Browser;
  const credentials = navigator?.credentials;
  if (credentials === undefined || form?.parseCreationOptionsFromJSON === undefined) throw unsupported();
  const publicKey = form.parseCreationOptionsFromJSON(await options());
  const made = await credentials.create({ publicKey, ...(signal && { signal }) });
  return jsonOf(made) as PasskeyRegistration;
}

/** Asks the browser for a signature. @throws as `createPasskey` */
export async function assertPasskey(
  options: () => Promise<PasskeyRequestOptions>,
  signal: AbortSignal | undefined,
): Promise<PasskeyAssertion> {
  const { navigator, PublicKeyCredential: form } = globalThis as Browser;
  const credentials = navigator?.credentials;
  if (credentials === undefined || form?.parseRequestOptionsFromJSON === undefined) throw unsupported();
  const publicKey = form.parseRequestOptionsFromJSON(await options());
  const made = await credentials.get({ publicKey, ...(signal && { signal }) });
  return jsonOf(made) as PasskeyAssertion;
}

function jsonOf(credential: { toJSON(): unknown } | null): unknown {
  if (credential === null) throw new TypeError('the browser gave no passkey');
  return credential.toJSON();
}

function unsupported(): TypeError {
  return new TypeError('passkeys need a browser with PublicKeyCredential.parseCreationOptionsFromJSON()');
}
