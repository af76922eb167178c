import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '../../base/limits.ts';
import { isJsonObject, isText, type JsonObject } from '../../protocol/input/fields.ts';

type AuthenticatorTransport = NonNullable<RegistrationResponseJSON['response']['transports']>[number];

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** WebAuthn §5.8.4. Others that an authenticator reports are left out. */
const TRANSPORTS: ReadonlySet<unknown> = new Set<AuthenticatorTransport>([
  'ble',
  'cable',
  'hybrid',
  'internal',
  'nfc',
  'smart-card',
  'usb',
]);

/** What the page told the authenticator (WebAuthn §5.8.1), not yet checked. */
export interface ClientData {
  readonly challenge: string;
  readonly origin: string;
  /** True: the page stood in a frame of another origin. */
  readonly crossOrigin: boolean;
}

/**
 * The members of `RegistrationResponseJSON` that count here. Browsers add others, so unknown ones are ignored.
 * @returns null when one is missing or has another type
 */
export function readRegistration(json: JsonObject): RegistrationResponseJSON | null {
  const response = isJsonObject(json.response) ? json.response : {};
  const { clientDataJSON, attestationObject, transports } = response;
  const id = credentialId(json);
  if (id === null || !isEncoded(clientDataJSON) || !isEncoded(attestationObject)) return null;
  const known = Array.isArray(transports) ? transports.filter(isTransport) : [];
  return {
    id,
    rawId: id,
    type: 'public-key',
    response: { clientDataJSON, attestationObject, transports: [...new Set(known)] },
    clientExtensionResults: {},
  };
}

/** A sign-in with a passkey that names its user. WebAuthn makes the handle optional; without it nobody says whose passkey it is (§7.2, step 6). */
export interface DiscoveredCredential extends AuthenticationResponseJSON {
  readonly response: AuthenticationResponseJSON['response'] & { readonly userHandle: string };
}

/** The members of `AuthenticationResponseJSON` that count here; see `readRegistration`. */
export function readAuthentication(json: JsonObject): DiscoveredCredential | null {
  const response = isJsonObject(json.response) ? json.response : {};
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  const id = credentialId(json);
  const areEncoded = isEncoded(clientDataJSON) && isEncoded(authenticatorData) && isEncoded(signature);
  if (id === null || !areEncoded || !isEncoded(userHandle)) return null;
  return {
    id,
    rawId: id,
    type: 'public-key',
    response: { clientDataJSON, authenticatorData, signature, userHandle },
    clientExtensionResults: {},
  };
}

/** @returns null when the client data is not the JSON that WebAuthn §5.8.1 describes */
export function readClientData(encoded: string): ClientData | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64url'));
    const data: unknown = JSON.parse(text);
    if (!isJsonObject(data) || !isText(data.challenge) || !isText(data.origin)) return null;
    const { challenge, origin, crossOrigin = false, topOrigin } = data;
    return { challenge, origin, crossOrigin: crossOrigin !== false || topOrigin !== undefined };
  } catch {
    return null;
  }
}

/** `id` and `rawId` are the same Base64url text (WebAuthn §5.1). */
function credentialId({ id, rawId, type }: JsonObject): string | null {
  if (!isEncoded(id) || id !== rawId || type !== 'public-key') return null;
  return Buffer.from(id, 'base64url').length <= LIMITS.passkeyCredentialId ? id : null;
}

function isEncoded(value: unknown): value is string {
  return isText(value) && BASE64URL.test(value);
}

function isTransport(value: unknown): value is AuthenticatorTransport {
  return TRANSPORTS.has(value);
}
