import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type CborValue, cbor } from './cbor.ts';

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** What a faulty or hostile authenticator or page does otherwise. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  /** Merged into the client data. */
  readonly clientData?: object;
  readonly userVerified?: boolean;
  readonly userPresent?: boolean;
  readonly signCount?: number;
  /** Null: none, as of a credential that is not discoverable. */
  readonly userHandle?: string | null;
  readonly credentialId?: Buffer;
  /** Of the attestation. */
  readonly format?: string;
  readonly statement?: ReadonlyMap<string, CborValue>;
  /** A packed attestation that the credential signs itself (WebAuthn §8.2). */
  readonly selfAttested?: boolean;
  /** Added to the credential id in the response alone. */
  readonly otherId?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: options and responses are JSON that the tests look into
type Json = any;

export interface Authenticator {
  /** `navigator.credentials.create()` and `toJSON()` of its result. */
  create(options: Json, deviations?: Deviations): Json;
  /** `navigator.credentials.get()` and `toJSON()` of its result, by the credential that was created last. */
  get(options: Json, deviations?: Deviations): Json;
}

const FLAGS = { userPresent: 1, userVerified: 4, attested: 0x40 };

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

/** An authenticator in software that follows WebAuthn, with one discoverable credential. @param origin of the page */
export function softwareAuthenticator(origin: string, algorithm: Algorithm = 'ES256'): Authenticator {
  const { privateKey, publicKey } = keysOf(algorithm);
  const credential = { id: randomBytes(32), rpId: '', userHandle: '', signCount: 0 };

  const clientDataOf = (type: string, challenge: string, but: Deviations): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: but.type ?? type,
        challenge: but.challenge ?? challenge,
        origin: but.origin ?? origin,
        crossOrigin: false,
        ...but.clientData,
      }),
    );

  const authDataOf = (but: Deviations, attested: Buffer | null): Buffer => {
    credential.signCount += 1;
    const octets = Buffer.alloc(5);
    octets[0] =
      (but.userPresent === false ? 0 : FLAGS.userPresent) |
      (but.userVerified === false ? 0 : FLAGS.userVerified) |
      (attested === null ? 0 : FLAGS.attested);
    octets.writeUInt32BE(but.signCount ?? credential.signCount, 1);
    return Buffer.concat([sha256(but.rpId ?? credential.rpId), octets, attested ?? Buffer.alloc(0)]);
  };

  const signatureOf = (authData: Buffer, clientData: Buffer): Buffer =>
    sign(algorithm === 'EdDSA' ? null : 'sha256', Buffer.concat([authData, sha256(clientData)]), privateKey);

  const wholeOf = (id: string, but: Deviations, response: object): Json => ({
    id: id + (but.otherId ?? ''),
    rawId: id + (but.otherId ?? ''),
    type: 'public-key',
    authenticatorAttachment: 'platform',
    clientExtensionResults: { credProps: { rk: true } },
    response,
  });

  return {
    create(options, but = {}) {
      const id = but.credentialId ?? credential.id;
      Object.assign(credential, { id, rpId: options.rp.id, userHandle: options.user.id });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const key = cbor(coseKey(publicKey, algorithm));
      const authData = authDataOf(but, Buffer.concat([Buffer.alloc(16), length, id, key]));
      const clientData = clientDataOf('webauthn.create', options.challenge, but);
      const self = new Map<string, CborValue>([
        ['alg', -7],
        ['sig', signatureOf(authData, clientData)],
      ]);
      const attestation = new Map<string, CborValue>([
        ['fmt', but.format ?? (but.selfAttested === true ? 'packed' : 'none')],
        ['attStmt', but.statement ?? (but.selfAttested === true ? self : new Map())],
        ['authData', authData],
      ]);
      return wholeOf(encoded(id), but, {
        clientDataJSON: encoded(clientData),
        attestationObject: encoded(cbor(attestation)),
        authenticatorData: encoded(authData),
        publicKey: encoded(publicKey.export({ format: 'der', type: 'spki' })),
        publicKeyAlgorithm: -7,
        transports: ['internal', 'hybrid', 'telepathy'],
      });
    },
    get(options, but = {}) {
      const clientData = clientDataOf('webauthn.get', options.challenge, but);
      const authData = authDataOf(but, null);
      return wholeOf(encoded(but.credentialId ?? credential.id), but, {
        clientDataJSON: encoded(clientData),
        authenticatorData: encoded(authData),
        signature: encoded(signatureOf(authData, clientData)),
        ...(but.userHandle !== null && { userHandle: but.userHandle ?? credential.userHandle }),
      });
    },
  };
}

function keysOf(algorithm: Algorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  return generateKeyPairSync('rsa', { modulusLength: 2048 });
}

/** RFC 9053 §7 and RFC 8230 §4. */
function coseKey(publicKey: KeyObject, algorithm: Algorithm): ReadonlyMap<number, CborValue> {
  const jwk = publicKey.export({ format: 'jwk' });
  const octets = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url');
  if (algorithm === 'RS256')
    return new Map<number, CborValue>([
      [1, 3],
      [3, -257],
      [-1, octets(jwk.n)],
      [-2, octets(jwk.e)],
    ]);
  if (algorithm === 'EdDSA')
    return new Map<number, CborValue>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, octets(jwk.x)],
    ]);
  return new Map<number, CborValue>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, octets(jwk.x)],
    [-3, octets(jwk.y)],
  ]);
}
