/** Key files: lines `uqrp-key-2 ID BASE64URL [note]`. The first key encrypts, all decrypt. */
import { decodeBase64Url, encodeBase64Url, encodeHex } from '../../../src/protocol/encodings.ts';

/** Characters of a key file: about 800 keys. */
export const KEY_FILE_MAX = 65_536;

const FORM = 'uqrp-key-2';
const SECRET_OCTETS = 32;
const ID_OCTETS = 8;
const DERIVED_BITS = (SECRET_OCTETS + ID_OCTETS) * 8;
const INFO = new TextEncoder().encode('uqrp-encryption-2');

export interface EncryptionKey {
  /** 8 octets in hexadecimal. It stands in each value that the key encrypts. */
  readonly id: string;
  readonly aes: CryptoKey;
  /** The secret itself as an AES key: the first form of encrypted values had it so. */
  readonly aesOfFirstForm: CryptoKey;
}

/** The keys of the text of a key file. @throws TypeError for a line that is no key; the message does not quote it */
export async function readKeyFile(text: string): Promise<readonly [EncryptionKey, ...EncryptionKey[]]> {
  if (text.length > KEY_FILE_MAX)
    throw new TypeError(`the key file has more than ${KEY_FILE_MAX} characters`);
  const lines = text.split('\n').map((line, at) => ({ line: line.trim(), number: at + 1 }));
  const keys = await Promise.all(
    lines.filter(({ line }) => line !== '').map(({ line, number }) => readLine(line, number)),
  );
  const [first, ...others] = keys;
  if (first === undefined) throw new TypeError('the key file has no key');
  return [first, ...others];
}

async function readLine(line: string, number: number): Promise<EncryptionKey> {
  const [form, id, text = ''] = line.split(/[ \t]+/);
  const secret = form === FORM ? decodeBase64Url(text) : null;
  if (secret?.length !== SECRET_OCTETS)
    throw new TypeError(`line ${number} of the key file is not: ${FORM} ID BASE64URL [note]`);
  const key = await keyOf(secret);
  if (key.id !== id) throw new TypeError(`line ${number} of the key file has an id that is not of its key`);
  return key;
}

async function keyOf(secret: Uint8Array<ArrayBuffer>): Promise<EncryptionKey> {
  const { subtle } = crypto;
  const base = await subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']);
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: INFO };
  const derived = new Uint8Array(await subtle.deriveBits(hkdf, base, DERIVED_BITS));
  const aesOf = (octets: Uint8Array<ArrayBuffer>, uses: ('encrypt' | 'decrypt')[]): Promise<CryptoKey> =>
    subtle.importKey('raw', octets, 'AES-GCM', false, uses);
  const [aes, aesOfFirstForm] = await Promise.all([
    aesOf(derived.slice(0, SECRET_OCTETS), ['encrypt', 'decrypt']),
    aesOf(secret, ['decrypt']),
  ]);
  return { id: encodeHex(derived.subarray(SECRET_OCTETS)), aes, aesOfFirstForm };
}

/**
 * A line for a key file, without its end.
 * @param note for people, such as a date; one line
 * @param secret 32 octets of an existing key; default: random
 */
export async function newKeyLine(
  note = '',
  secret: Uint8Array = crypto.getRandomValues(new Uint8Array(SECRET_OCTETS)),
): Promise<string> {
  if (secret.length !== SECRET_OCTETS) throw new TypeError(`a key has ${SECRET_OCTETS} octets`);
  if (/[\r\n]/.test(note)) throw new TypeError('a note is one line');
  const { id } = await keyOf(Uint8Array.from(secret));
  return `${FORM} ${id} ${encodeBase64Url(secret)} ${note}`.trimEnd();
}
