import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '../../base/limits.ts';
import type { PasskeyRow } from '../../store/tables/passkeys.ts';
import type { RelyingParty } from './relying-party.ts';
import { webauthn } from './webauthn.ts';

/** COSE algorithms: EdDSA, ES256, RS256. */
export const ALGORITHMS = [-8, -7, -257];

/** A credential whose registration is valid. */
export interface NewCredential {
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
