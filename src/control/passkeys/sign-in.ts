import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { unauthenticated } from '../../base/errors.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import type { Tx } from '../../store/store.ts';
import { findPasskey, type PasskeyRow, usePasskey } from '../../store/tables/passkeys.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { CHALLENGE_LIFE, type CheckedChallenge, useChallenge } from './challenges.ts';
import { userHandle } from './register.ts';
import { type HasChallenges, type HasRelyingParty, relyingParty } from './relying-party.ts';
import { type VerifiedUse, verifySignIn } from './verification.ts';
import { webauthn } from './webauthn.ts';
import { type DiscoveredCredential, readAuthentication, readClientData } from './webauthn-json.ts';

type SignInDeps = HasStore & HasClock & HasChallenges & HasRelyingParty;

/** One text for every fault of a response: it must not tell which passkeys exist. */
const NOT_VALID = 'Passkey is not valid';

/** The base point of P-256 as a COSE key (RFC 9053 §7.1.1). Anybody could sign for it, so a signature by it counts for nothing. */
const NOBODY = {
  public_key: Buffer.from(
    'a5010203262001215820' +
      '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
      '225820' +
      '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
    'hex',
  ),
  sign_count: 0,
} as const;

/** A response that is valid, except that its challenge may have been used. */
interface Checked {
  readonly passkey: PasskeyRow;
  readonly challenge: CheckedChallenge;
  readonly use: VerifiedUse;
}

/**
 * POST /auth/passkeys/options: the options of `navigator.credentials.get()` in their JSON form. They name no passkey, so they
 * are the same for every user, and the authenticator offers those that it has. Nothing is stored.
 */
export async function passkeySignInOptions(
  deps: HasChallenges & HasRelyingParty,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await webauthn();
  return generateAuthenticationOptions({
    rpID: relyingParty(deps).id,
    challenge: deps.challenges.issue({ kind: 'sign_in' }),
    timeout: CHALLENGE_LIFE,
    userVerification: 'required',
  });
}

/**
 * Signs the owner of a passkey in.
 * @param json `AuthenticationResponseJSON` of WebAuthn
 * @param begin begins the session, in the same unit of work that uses the challenge and the sign count
 * @throws AppError 401 for every fault of the response, 429 when the user has signed in too often
 */
export async function signInWithPasskey<T>(
  deps: SignInDeps,
  json: JsonObject,
  begin: (tx: Tx, userId: string) => Promise<T>,
): Promise<T> {
  const response = readAuthentication(json);
  const checked = response === null ? null : await check(deps, response);
  if (checked === null) throw unauthenticated(NOT_VALID);
  const { passkey, challenge, use } = checked;
  return deps.store.write(async (tx) => {
    const now = deps.clock();
    const isFresh = await useChallenge(tx, challenge, passkey.user_id, now);
    // The passkey may have been removed or used since it was read.
    if (!isFresh || !(await usePasskey(tx, passkey.id, { ...use, at: now })))
      throw unauthenticated(NOT_VALID);
    return begin(tx, passkey.user_id);
  });
}

async function check(deps: SignInDeps, response: DiscoveredCredential): Promise<Checked | null> {
  const clientData = readClientData(response.response.clientDataJSON);
  if (clientData === null || clientData.crossOrigin) return null;
  const challenge = deps.challenges.check(clientData.challenge, { kind: 'sign_in' });
  if (challenge === null) return null;
  const found = await findPasskey(deps.store.read, response.id);
  const passkey = found !== null && isOwner(found, response.response.userHandle) ? found : null;
  // Verified also where there is no passkey: else the time of the answer would tell which credentials are registered.
  const signer = passkey ?? { ...NOBODY, credential_id: response.id };
  const use = await verifySignIn(response, signer, clientData.challenge, relyingParty(deps));
  return passkey === null || use === null ? null : { passkey, challenge, use };
}

/** WebAuthn §7.2, step 6: the handle must be that of the passkey's user. */
function isOwner(passkey: PasskeyRow, handle: string): boolean {
  return Buffer.from(handle, 'base64url').equals(userHandle(passkey.user_id));
}
