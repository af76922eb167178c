import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '../../base/limits.ts';
import { isJsonObject, isText, type JsonObject } from '../../protocol/input/fields.ts';
import type { PasskeyRow } from '../../store/passkeys.ts';
import type { Challenges } from './challenges.ts';

/**
 * The library of WebAuthn and its parsers of certificates, loaded with the first request about passkeys: 7 MB that a process without passkeys does not
 * need.
 */
export async function webauthn() {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, ...helpers };
}

/** WebAuthn §4: who asks for a passkey. The id is a host name, without scheme and port. */
interface RelyingParty {
  readonly name: string;
  readonly id: string;
  readonly origin: string;
}

export interface HasRelyingParty {
  /** Origin of the pages that use passkeys, without a trailing slash. */
  readonly publicUrl: () => string;
}

export interface HasChallenges {
  readonly challenges: Challenges;
}

/** Shown by the dialogs of browsers. */
const NAME = 'uqrp';

export function relyingParty({ publicUrl }: HasRelyingParty): RelyingParty {
  const { origin, hostname } = new URL(publicUrl());
  return { name: NAME, id: hostname, origin };
}

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

/** COSE algorithms: EdDSA, ES256, RS256. */
export const ALGORITHMS = [-8, -7, -257];

/** A credential whose registration is valid. */
interface NewCredential {
  /** Base64url, without padding. */
  readonly id: string;
  /** COSE key (RFC 9052 §7). */
  readonly publicKey: Uint8Array;
  readonly signCount: number;
  readonly backedUp: boolean;
}

/** @returns null when the response is not valid for this challenge and relying party, or the user was not verified */
export async function verifyRegistration(
  response: RegistrationResponseJSON,
  challenge: string,
  { id, origin }: RelyingParty,
): Promise<NewCredential | null> {
  const library = await webauthn();
  const result = await orNull(async () => {
    // Statements with certificates are refused unread: the library would fetch the revocation lists that they name.
    if (!hasNoCertificates(library, response.response.attestationObject)) return null;
    return library.verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  if (result === null || !result.verified) return null;
  const { credential, credentialBackedUp } = result.registrationInfo;
  const { publicKey, counter } = credential;
  // The id of the response is not signed; the one in the authenticator data counts.
  if (credential.id !== response.id || publicKey.length > LIMITS.passkeyPublicKey) return null;
  return { id: credential.id, publicKey, signCount: counter, backedUp: credentialBackedUp };
}

/** What a valid sign-in says of the credential. */
export interface VerifiedUse {
  readonly signCount: number;
  readonly backedUp: boolean;
}

/** @returns null when the signature is not valid for this passkey, challenge and relying party, see `verifyRegistration` */
export async function verifySignIn(
  response: AuthenticationResponseJSON,
  passkey: Pick<PasskeyRow, 'credential_id' | 'public_key' | 'sign_count'>,
  challenge: string,
  { id, origin }: RelyingParty,
): Promise<VerifiedUse | null> {
  const { verifyAuthenticationResponse } = await webauthn();
  const result = await orNull(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: passkey.credential_id,
        publicKey: Uint8Array.from(passkey.public_key),
        counter: passkey.sign_count,
      },
    }),
  );
  if (result === null || !result.verified) return null;
  const { newCounter, credentialBackedUp } = result.authenticationInfo;
  return { signCount: newCounter, backedUp: credentialBackedUp };
}

/** WebAuthn §8.7 and §8.2 (self attestation): all that a browser passes on when it was asked for no attestation. */
function hasNoCertificates(
  { decodeAttestationObject, isoBase64URL }: Awaited<ReturnType<typeof webauthn>>,
  attestationObject: string,
): boolean {
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
}

/** The library throws an Error for each fault of a response. It reads no database and no network here. */
async function orNull<T>(verify: () => Promise<T | null>): Promise<T | null> {
  try {
    return await verify();
  } catch {
    return null;
  }
}
