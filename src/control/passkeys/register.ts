import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { countPasskeys, insertPasskey, listPasskeys, type PasskeyRow } from '../../store/tables/passkeys.ts';
import { findUserWithCounts } from '../../store/tables/users.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasClock, HasIds, HasStore } from '../accounts/deps.ts';
import { holdCustomer } from '../accounts/hold-customer.ts';
import { CHALLENGE_LIFE, type CheckedChallenge, useChallenge } from './challenges.ts';
import { NEW_PASSKEY, NOT_A_REGISTRATION } from './input.ts';
import { type PasskeyResource, passkeyResource, userIdOf } from './passkeys.ts';
import { type HasChallenges, type HasRelyingParty, relyingParty } from './relying-party.ts';
import { ALGORITHMS, verifyRegistration } from './verification.ts';
import { webauthn } from './webauthn.ts';

type RegisterDeps = HasStore & HasClock & HasChallenges & HasRelyingParty;

const CHALLENGE_ENDED = 'response has a challenge that was used or has expired';
const OTHER_ORIGIN = 'response comes from a page of another origin';
const REGISTERED = 'response is of a passkey that is registered already';

/**
 * POST /passkeys/options: the options of `navigator.credentials.create()` in their JSON form. Nothing is stored.
 * @throws AppError 403 for an API key, 422 when the user has no room for another passkey
 */
export async function passkeyCreationOptions(
  deps: RegisterDeps,
  actor: Actor,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const userId = userIdOf(actor);
  const user = await findUserWithCounts(deps.store.read, userId, actor.customerId);
  if (user === null) throw notFound('User');
  const passkeys = await listPasskeys(deps.store.read, userId);
  requireRoom(passkeys.length);
  const { name, id } = relyingParty(deps);
  const { generateRegistrationOptions } = await webauthn();
  return generateRegistrationOptions({
    rpName: name,
    rpID: id,
    userID: userHandle(userId),
    userName: user.email,
    userDisplayName: user.email,
    challenge: deps.challenges.issue({ kind: 'add', userId }),
    timeout: CHALLENGE_LIFE,
    attestationType: 'none',
    excludeCredentials: passkeys.map((passkey) => ({
      id: passkey.credential_id,
      transports: JSON.parse(passkey.transports),
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/**
 * POST /passkeys.
 * @throws AppError 403 for an API key; 422 for faults, a response that is not valid, a used challenge, too many passkeys
 */
export async function addPasskey(
  deps: RegisterDeps & HasIds,
  actor: Actor,
  body: JsonObject,
): Promise<PasskeyResource> {
  const userId = userIdOf(actor);
  const { name, response: read } = NEW_PASSKEY.parse(body, {});
  const { response, clientData } = read;
  const challenge = deps.challenges.check(clientData.challenge, { kind: 'add', userId });
  if (challenge === null) throw invalid(CHALLENGE_ENDED);
  const party = relyingParty(deps);
  if (clientData.origin !== party.origin || clientData.crossOrigin) throw invalid(OTHER_ORIGIN);
  const credential = await verifyRegistration(response, clientData.challenge, party);
  if (credential === null) throw invalid(`response ${NOT_A_REGISTRATION}`);
  const row: PasskeyRow = {
    id: deps.newId(),
    user_id: userId,
    name,
    credential_id: credential.id,
    public_key: credential.publicKey,
    sign_count: credential.signCount,
    transports: JSON.stringify(response.response.transports ?? []),
    backed_up: credential.backedUp ? 1 : 0,
    last_used_at: null,
    created_at: deps.clock(),
  };
  return storePasskey(deps, row, challenge);
}

/** The value of the unit is the answer, also of a repeated POST. */
function storePasskey(
  deps: RegisterDeps,
  row: PasskeyRow,
  challenge: CheckedChallenge,
): Promise<PasskeyResource> {
  return deps.store.write(async (tx) => {
    // A user's own customer has the user's id: its row holds up what else the user adds.
    await holdCustomer(tx, row.user_id);
    requireRoom(await countPasskeys(tx, row.user_id));
    if (!(await useChallenge(tx, challenge, row.user_id, deps.clock()))) throw invalid(CHALLENGE_ENDED);
    if (!(await insertPasskey(tx, row))) throw invalid(REGISTERED);
    return passkeyResource(row);
  });
}

function requireRoom(passkeys: number): void {
  if (passkeys >= LIMITS.passkeysPerUser) {
    throw new AppError('quota_exceeded', 'Passkey limit of the account reached');
  }
}

/** What an authenticator stores for the user (WebAuthn §5.4.3): it must not tell who the user is. */
export function userHandle(userId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex'));
}
