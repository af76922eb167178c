import { encryptPayload, type WriteTime } from './encrypted.ts';
import { readKeyFile } from './key-file.ts';
import { readSigningKey, signPayload } from './signed.ts';

export interface ProtectOptions {
  /** The text of a key file: the value is encrypted with its first key. */
  readonly encryptTo?: string | undefined;
  /** A signing key as PEM (PKCS 8): the value is signed, after it is encrypted. */
  readonly signWith?: string | undefined;
}

/** The data to store. @throws TypeError for a key that is none, RangeError for a value that is too long for it */
export async function protectPayload(
  { encryptTo, signWith }: ProtectOptions,
  recordKey: string,
  data: Uint8Array<ArrayBuffer>,
  write: WriteTime = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const [first] = encryptTo === undefined ? [] : await readKeyFile(encryptTo);
  const inner = first === undefined ? data : await encryptPayload(first, recordKey, data, write);
  return signWith === undefined
    ? inner
    : await signPayload(await readSigningKey(signWith), recordKey, inner, write);
}
