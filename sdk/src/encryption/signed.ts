/**
 * Signed values: `03 | key id 8 | time 6 | Ed25519 signature 64 | payload`. The signature covers `uqrp-signed-3`, LF, the record's key in lower
 * case, LF, the first 15 octets, and the payload. The key id is the first 8 octets of SHA-256 of the public key.
 */
import { decodeBase64, decodeBase64Url, encodeBase64, encodeHex } from '../../../src/protocol/encodings.ts';
import {
  damaged,
  FORM,
  HEAD_OCTETS,
  headOf,
  idOf,
  joined,
  keyOctets,
  notOfForm,
  RECORD_DATA_MAX,
  SIGNED_OVERHEAD,
  timeAfter,
  timeOf,
  type WriteTime,
} from './encrypted.ts';
import { PayloadError } from './faults.ts';

const OVERHEAD = SIGNED_OVERHEAD;
/** Octets of the longest value that fits into a record when it is signed. */
export const SIGNED_PAYLOAD_MAX = RECORD_DATA_MAX - OVERHEAD;

const KEY_OCTETS = 32;
/** RFC 8410: an Ed25519 public key as SubjectPublicKeyInfo, up to its 32 octets. */
const SPKI_HEAD = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);
const PREFIX = new TextEncoder().encode('uqrp-signed-3\n');
const LF = Uint8Array.of(10);
const ED25519 = 'Ed25519';

export interface PublicKey {
  /** 8 octets in hexadecimal. It stands in each value that the key signs. */
  readonly id: string;
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly verify: CryptoKey;
}

export interface SigningKey {
  readonly public: PublicKey;
  readonly sign: CryptoKey;
}

/** A new key as PEM (PKCS 8), as `openssl genpkey -algorithm ed25519` makes it. */
export async function newSigningKey(): Promise<string> {
  const made = await crypto.subtle.generateKey(ED25519, true, ['sign', 'verify']);
  const { privateKey } = made as { readonly privateKey: CryptoKey };
  return pemOf('PRIVATE KEY', new Uint8Array(await crypto.subtle.exportKey('pkcs8', privateKey)));
}

/** @param pem PKCS 8. @throws TypeError for another text; the message does not quote it */
export async function readSigningKey(pem: string): Promise<SigningKey> {
  const der = octetsOfPem('PRIVATE KEY', pem);
  const key = der === null ? null : await imported('pkcs8', der, ['sign'], true);
  if (key === null) throw new TypeError('no Ed25519 signing key: it is PEM, BEGIN PRIVATE KEY (PKCS 8)');
  const { x = '' } = await crypto.subtle.exportKey('jwk', key);
  return { public: (await publicKeyOf(decodeBase64Url(x)!))!, sign: key };
}

/** @param text PEM (BEGIN PUBLIC KEY), or Base64 of the 32 octets. @throws TypeError for another text */
export async function readPublicKey(text: string): Promise<PublicKey> {
  const spki = octetsOfPem('PUBLIC KEY', text);
  const isSpki = spki !== null && SPKI_HEAD.every((octet, at) => spki[at] === octet);
  const octets = isSpki ? spki.slice(SPKI_HEAD.length) : spki === null ? decodeBase64(text.trim()) : null;
  const key = octets === null ? null : await publicKeyOf(octets);
  if (key === null) throw new TypeError('no Ed25519 public key: it is PEM, or Base64 of 32 octets');
  return key;
}

async function publicKeyOf(octets: Uint8Array<ArrayBuffer>): Promise<PublicKey | null> {
  const verify = octets.length === KEY_OCTETS ? await imported('raw', octets, ['verify'], false) : null;
  if (verify === null) return null;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', octets));
  return { id: encodeHex(digest.subarray(0, 8)), octets, verify };
}

/** Null for octets that are no key. @throws TypeError where the runtime has no Ed25519 */
async function imported(
  format: 'pkcs8' | 'raw',
  octets: Uint8Array<ArrayBuffer>,
  uses: ('sign' | 'verify')[],
  isExtractable: boolean,
): Promise<CryptoKey | null> {
  try {
    return await crypto.subtle.importKey(format, octets, ED25519, isExtractable, uses);
  } catch (error) {
    if ((error as Error).name === 'NotSupportedError') throw new TypeError('this runtime has no Ed25519');
    return null;
  }
}

export function publicKeyPem({ octets }: PublicKey): string {
  return pemOf('PUBLIC KEY', joined(SPKI_HEAD, octets));
}

export function publicKeyBase64({ octets }: PublicKey): string {
  return encodeBase64(octets);
}

function pemOf(label: string, der: Uint8Array): string {
  const lines = encodeBase64(der).match(/.{1,64}/g)!;
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/** The first block of this label; null: there is none. */
function octetsOfPem(label: string, text: string): Uint8Array<ArrayBuffer> | null {
  const body = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`).exec(
    text,
  )?.[1];
  return body === undefined ? null : decodeBase64(body.replace(/\s/g, ''));
}

/** @throws RangeError for more than `SIGNED_PAYLOAD_MAX` octets */
export function signPayload(
  key: SigningKey,
  recordKey: string,
  payload: Uint8Array,
  write: WriteTime = {},
): Promise<Uint8Array<ArrayBuffer>> {
  return signAt(key, recordKey, payload, timeAfter(write));
}

/** With a given time, for published vectors. */
export async function signAt(
  key: SigningKey,
  recordKey: string,
  payload: Uint8Array,
  time: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (payload.length > SIGNED_PAYLOAD_MAX)
    throw new RangeError(`a signed value has at most ${SIGNED_PAYLOAD_MAX} octets`);
  const head = headOf(FORM.signed, key.public.id, time);
  const signature = await crypto.subtle.sign(ED25519, key.sign, signedOctets(recordKey, head, payload));
  return joined(head, new Uint8Array(signature), payload);
}

/** The payload of a signed value, and when it was signed. @throws PayloadError */
export async function verifyPayload(
  keys: readonly PublicKey[],
  recordKey: string,
  octets: Uint8Array,
): Promise<{ readonly payload: Uint8Array<ArrayBuffer>; readonly time: number }> {
  if (octets[0] === FORM.encrypted || octets[0] === FORM.first) throw new PayloadError('plain', 'not signed');
  if (octets[0] !== FORM.signed) throw notOfForm(octets, 'signed');
  if (octets.length < OVERHEAD) throw damaged();
  const id = idOf(octets);
  const key = keys.find((one) => one.id === id);
  if (key === undefined)
    throw new PayloadError('no_key', `signed with key ${id}, which is none of those given`, id);
  const payload = Uint8Array.from(octets.subarray(OVERHEAD));
  const isValid = await crypto.subtle.verify(
    ED25519,
    key.verify,
    Uint8Array.from(octets.subarray(HEAD_OCTETS, OVERHEAD)),
    signedOctets(recordKey, octets.subarray(0, HEAD_OCTETS), payload),
  );
  if (!isValid) throw damaged();
  return { payload, time: timeOf(octets) };
}

/** What a signed value holds, without a check of its signature; null: it is not signed. */
export function unverifiedPayload(octets: Uint8Array): Uint8Array | null {
  return octets[0] === FORM.signed ? octets.subarray(OVERHEAD) : null;
}

function signedOctets(recordKey: string, head: Uint8Array, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined(PREFIX, keyOctets(recordKey), LF, head, payload);
}
