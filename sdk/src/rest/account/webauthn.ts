/** The JSON forms of WebAuthn (Level 3, sections 5.1, 5.4 and 5.5), as far as the server uses them. */

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
