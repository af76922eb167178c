import { encodeBase64 } from '../../../src/protocol/encodings.ts';
import { bytesOf } from '../rest/records/value.ts';
import type { NewBulkRecord } from '../rest/requests.ts';
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

/** The record with its data encrypted and signed. @throws TypeError for a value that was given with a content type */
export async function protectRecord(
  options: ProtectOptions,
  record: NewBulkRecord,
  { content_type: type }: { readonly content_type?: string | undefined },
): Promise<NewBulkRecord> {
  if (type !== undefined) throw new TypeError('an encrypted or signed value has no content type of its own');
  const data = encodeBase64(await protectPayload(options, record.key, bytesOf(record)));
  // What is encrypted or signed is no plain text.
  const { encoding: _, ...fields } = record;
  return { ...fields, data, content_type: 'application/octet-stream' };
}
