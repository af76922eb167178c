import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { AppError, invalid, notFound, unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import type { SignedIn } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { resourceSchema, type Schema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { BOOLEAN, nameOf, optional, type Reader, required, shape } from '../../protocol/input/shape.ts';
import { findUserWithCounts, lockCustomer } from '../../store/accounts.ts';
import {
  countPasskeys,
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  usePasskey,
} from '../../store/passkeys.ts';
import type { Tx } from '../../store/store.ts';
import { writeAs } from '../accounts/membership.ts';
import { audited, auditFor, byActor } from '../audit/actions.ts';
import type { HasRefusals } from '../audit/refusals.ts';
import type { HasClock, HasIds, HasStore, HasUnit } from '../deps.ts';
import { CHALLENGE_LIFE, type CheckedChallenge, useChallenge } from './challenges.ts';
import {
  ALGORITHMS,
  type ClientData,
  type DiscoveredCredential,
  type HasChallenges,
  type HasRelyingParty,
  readAuthentication,
  readClientData,
  readRegistration,
  relyingParty,
  type VerifiedUse,
  verifyRegistration,
  verifySignIn,
  webauthn,
} from './webauthn.ts';

const NOT_A_REGISTRATION = 'is not a valid registration of a passkey';

/** A registration that can be read, not yet verified. */
interface ReadRegistration {
  readonly response: RegistrationResponseJSON;
  readonly clientData: ClientData;
}

const TEXT = { type: 'string' } as const;

/** Browsers add members: they are ignored, so the schema allows them. */
function credentialSchema(title: string, members: readonly string[]): Schema {
  const properties = Object.fromEntries(members.map((name) => [name, TEXT]));
  return {
    type: 'object',
    description: `\`${title}\` of WebAuthn. Members that are not used are ignored`,
    properties: {
      id: TEXT,
      rawId: TEXT,
      type: { type: 'string', const: 'public-key' },
      response: { type: 'object', properties, required: members },
    },
    required: ['id', 'rawId', 'type', 'response'],
  };
}

const REGISTRATION: Reader<ReadRegistration> = {
  schema: credentialSchema('RegistrationResponseJSON', ['clientDataJSON', 'attestationObject']),
  read(fields, name) {
    const json = fields.object(name);
    if (json === undefined) return undefined;
    const response = readRegistration(json);
    const clientData = response && readClientData(response.response.clientDataJSON);
    if (response !== null && clientData !== null) return { response, clientData };
    fields.fault(name, NOT_A_REGISTRATION);
    return undefined;
  },
};

/** Read by `readAuthentication`: every fault in it is answered like a wrong signature. */
const AUTHENTICATION: Reader<JsonObject> = {
  schema: credentialSchema('AuthenticationResponseJSON', [
    'clientDataJSON',
    'authenticatorData',
    'signature',
    'userHandle',
  ]),
  read: (fields, name) => fields.object(name),
};

export const NEW_PASSKEY = shape('NewPasskey', {
  name: required(nameOf(LIMITS.passkeyName, 'laptop')),
  response: required(REGISTRATION),
});

export const PASSKEY_SIGN_IN = shape('PasskeySignIn', {
  response: required(AUTHENTICATION),
  /** The session comes as a cookie, for pages of this server. */
  cookie: optional(BOOLEAN),
});

type PasskeyResource = ReturnType<typeof passkeyResource>;

export const PASSKEY_SCHEMA = resourceSchema<PasskeyResource>('Passkey', {
  id: UUID,
  name: { type: 'string', examples: ['laptop'] },
  backed_up: { type: 'boolean', description: 'Whether a copy exists, as its authenticator said last' },
  last_used_at: { ...TIME_OR_NULL, description: 'Time of the last sign-in' },
  created_at: TIME,
});

function passkeyResource(row: PasskeyRow) {
  return {
    id: row.id,
    name: row.name,
    backed_up: row.backed_up === 1,
    last_used_at: formatTimeOrNull(row.last_used_at),
    created_at: formatTime(row.created_at),
  };
}

/** Oldest first. */
export async function listOwnPasskeys({ store }: HasStore, actor: SignedIn): Promise<PasskeyResource[]> {
  return (await listPasskeys(store.read, actor.userId)).map(passkeyResource);
}

/** Any passkey may be removed: a code by mail is always a way in. @throws AppError 404 */
export async function deleteOwnPasskey(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
): Promise<void> {
  const { userId } = actor;
  await writeAs(deps, actor, async (tx) => {
    const deleted = await deletePasskey(tx, id, userId);
    if (deleted === null) throw notFound('Passkey');
    await auditFor(tx, userId, byActor(actor), deps.clock(), 'passkey.removed', audited.passkey(deleted));
  });
}

type RegisterDeps = HasStore & HasClock & HasChallenges & HasRelyingParty;

const CHALLENGE_ENDED = 'response has a challenge that was used or has expired';
const OTHER_ORIGIN = 'response comes from a page of another origin';
const REGISTERED = 'response is of a passkey that is registered already';

/**
 * POST /passkeys/options: the options of `navigator.credentials.create()` in their JSON form. Nothing is stored.
 * @throws AppError 422 when the user has no room for another passkey
 */
export async function passkeyCreationOptions(
  deps: RegisterDeps,
  actor: SignedIn,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { userId } = actor;
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
 * @throws AppError 422 for faults, a response that is not valid, a used challenge, too many passkeys
 */
export async function addPasskey(
  deps: RegisterDeps & HasUnit & HasIds,
  actor: SignedIn,
  body: JsonObject,
): Promise<PasskeyResource> {
  const { userId } = actor;
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
  return storePasskey(deps, actor, row, challenge);
}

/** The value of the unit is the answer, also of a repeated POST. */
function storePasskey(
  deps: HasUnit & HasClock,
  actor: SignedIn,
  row: PasskeyRow,
  challenge: CheckedChallenge,
) {
  return deps.unit(actor, async (tx) => {
    requireRoom(await countPasskeys(tx, row.user_id));
    if (!(await useChallenge(tx, challenge, row.user_id, deps.clock()))) throw invalid(CHALLENGE_ENDED);
    if (!(await insertPasskey(tx, row))) throw invalid(REGISTERED);
    await auditFor(tx, row.user_id, byActor(actor), row.created_at, 'passkey.added', audited.passkey(row));
    return passkeyResource(row);
  });
}

function requireRoom(passkeys: number): void {
  if (passkeys >= LIMITS.passkeysPerUser) {
    throw new AppError('quota_exceeded', 'Passkey limit of the account reached');
  }
}

/** What an authenticator stores for the user (WebAuthn §5.4.3): it must not tell who the user is. */
function userHandle(userId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex'));
}

type SignInDeps = HasStore & HasClock & HasChallenges & HasRelyingParty & HasRefusals;

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
  requestId: string,
  begin: (tx: Tx, userId: string) => Promise<T>,
): Promise<T> {
  const response = readAuthentication(json);
  const checked = response === null ? null : await check(deps, response, requestId);
  if (checked === null) throw unauthenticated(NOT_VALID);
  const { passkey, challenge, use } = checked;
  try {
    return await deps.store.write(async (tx) => {
      const now = deps.clock();
      // First, as in the deletion of an account: it deletes passkeys after it.
      if (!(await lockCustomer(tx, passkey.user_id))) throw unauthenticated(NOT_VALID);
      const isFresh = await useChallenge(tx, challenge, passkey.user_id, now);
      // The passkey may have been removed or used since it was read.
      if (!isFresh || !(await usePasskey(tx, passkey.id, { ...use, at: now })))
        throw unauthenticated(NOT_VALID);
      return begin(tx, passkey.user_id);
    });
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === 'authentication_error';
    if (isRefused) deps.refusals.signInFailed({ userId: passkey.user_id }, requestId);
    throw error;
  }
}

async function check(
  deps: SignInDeps,
  response: DiscoveredCredential,
  requestId: string,
): Promise<Checked | null> {
  const clientData = readClientData(response.response.clientDataJSON);
  if (clientData === null || clientData.crossOrigin) return null;
  const challenge = deps.challenges.check(clientData.challenge, { kind: 'sign_in' });
  if (challenge === null) return null;
  const found = await findPasskey(deps.store.read, response.id);
  const passkey = found !== null && isOwner(found, response.response.userHandle) ? found : null;
  // Verified also where there is no passkey: else the time of the answer would tell which credentials are registered.
  const signer = passkey ?? { ...NOBODY, credential_id: response.id };
  const use = await verifySignIn(response, signer, clientData.challenge, relyingParty(deps));
  if (passkey === null) return null;
  if (use === null) deps.refusals.signInFailed({ userId: passkey.user_id }, requestId);
  return use && { passkey, challenge, use };
}

/** WebAuthn §7.2, step 6: the handle must be that of the passkey's user. */
function isOwner(passkey: PasskeyRow, handle: string): boolean {
  return Buffer.from(handle, 'base64url').equals(userHandle(passkey.user_id));
}
