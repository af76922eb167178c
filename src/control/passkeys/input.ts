import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { LIMITS } from '../../base/limits.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { BOOLEAN, nameOf } from '../../protocol/input/readers.ts';
import type { Schema } from '../../protocol/input/schema.ts';
import { optional, type Reader, required, shape } from '../../protocol/input/shape.ts';
import { type ClientData, readClientData, readRegistration } from './webauthn-json.ts';

export const NOT_A_REGISTRATION = 'is not a valid registration of a passkey';

/** A registration that can be read, not yet verified. */
export interface ReadRegistration {
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
