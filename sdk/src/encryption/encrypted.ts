/**
 * Encrypted values: `02 | key id 8 | time 6 | nonce 12 | AES-256-GCM ciphertext and tag`. The associated data are the first 15 octets and the
 * record's key in lower case, so no value passes for that of another record.
 */
import { encodeHex } from '../../../src/protocol/encodings.ts';
import { foldCase } from '../../../src/protocol/names/labels.ts';
import { PayloadError } from './faults.ts';
import type { EncryptionKey } from './key-file.ts';

export const FORM = { first: 1, encrypted: 2, signed: 3 } as const;

/** Form, key id, time. */
export const HEAD_OCTETS = 15;
const ID_AT = 1;
const TIME_AT = 9;
const NONCE_OCTETS = 12;
const TAG_OCTETS = 16;
const OVERHEAD = HEAD_OCTETS + NONCE_OCTETS + TAG_OCTETS;
/** Of a signed value: its head, and the signature. */
export const SIGNED_OVERHEAD = HEAD_OCTETS + 64;
/** Octets of a record's data. */
export const RECORD_DATA_MAX = 2586;
/** Octets of the longest value that fits into a record when it is encrypted. */
export const ENCRYPTED_PLAINTEXT_MAX = RECORD_DATA_MAX - OVERHEAD;

/** Milliseconds that 6 octets hold: until the year 10889. */
const TIME_MAX = 2 ** 48 - 1;

export interface OpenedPayload {
  readonly data: Uint8Array<ArrayBuffer>;
  /** When it was written, by the writer's clock, in milliseconds; null: plain, or of the first form, which has no time. */
  readonly time: number | null;
  /** Of the key that encrypted it, in hexadecimal; null: plain. */
  readonly keyId: string | null;
}

export interface WriteTime {
  /** Time of the value that this one replaces: the new one is later, also when this clock is behind. */
  readonly after?: number | null | undefined;
}

/** Time of a new value. */
export function timeAfter({ after }: WriteTime): number {
  return Math.max(Date.now(), (after ?? -1) + 1);
}

/**
 * @param recordKey such as `db.env.shop.v1`, in any case
 * @throws RangeError for more than `ENCRYPTED_PLAINTEXT_MAX` octets
 */
export function encryptPayload(
  key: EncryptionKey,
  recordKey: string,
  plain: Uint8Array,
  write: WriteTime = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_OCTETS));
  return encryptAt(key, recordKey, plain, timeAfter(write), nonce);
}

/** For published vectors: a nonce must never be used twice under one key. */
export async function encryptAt(
  key: EncryptionKey,
  recordKey: string,
  plain: Uint8Array,
  time: number,
  nonce: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (plain.length > ENCRYPTED_PLAINTEXT_MAX)
    throw new RangeError(`an encrypted value has at most ${ENCRYPTED_PLAINTEXT_MAX} octets`);
  const head = headOf(FORM.encrypted, key.id, time);
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv: nonce, additionalData: joined(head, keyOctets(recordKey)) },
    key.aes,
    Uint8Array.from(plain),
  );
  return joined(head, nonce, new Uint8Array(sealed));
}

/** @throws PayloadError. @param keyFile name of the key file, for the message of a missing key */
export async function decryptPayload(
  keys: readonly EncryptionKey[],
  recordKey: string,
  octets: Uint8Array,
  keyFile = 'the key file',
): Promise<OpenedPayload> {
  const form = octets[0];
  if (form === FORM.first) return await decryptFirstForm(keys, recordKey, octets);
  if (form === FORM.signed)
    throw new PayloadError('unknown_form', 'unknown form: signed, give the public key that checks it');
  if (form !== FORM.encrypted) throw notOfForm(octets, 'encrypted');
  if (octets.length < OVERHEAD) throw damaged();
  const id = idOf(octets);
  const known = keys.find((key) => key.id === id);
  if (known === undefined)
    throw new PayloadError('no_key', `encrypted with key ${id}, which ${keyFile} does not have`, id);
  const head = Uint8Array.from(octets.subarray(0, HEAD_OCTETS));
  const data = await decrypted(known.aes, joined(head, keyOctets(recordKey)), octets.subarray(HEAD_OCTETS));
  if (data === null) throw damaged();
  return { data, time: timeOf(octets), keyId: id };
}

/** `01 | nonce 12 | ciphertext and tag`, over the record's key alone. It does not say which key: each is tried. */
async function decryptFirstForm(
  keys: readonly EncryptionKey[],
  recordKey: string,
  octets: Uint8Array,
): Promise<OpenedPayload> {
  for (const { id, aesOfFirstForm } of keys) {
    const data = await decrypted(aesOfFirstForm, keyOctets(recordKey), octets.subarray(1));
    if (data !== null) return { data, time: null, keyId: id };
  }
  throw damaged();
}

/** @param rest nonce, ciphertext, tag */
async function decrypted(
  key: CryptoKey,
  additionalData: Uint8Array<ArrayBuffer>,
  rest: Uint8Array,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (rest.length < NONCE_OCTETS + TAG_OCTETS) return null;
  const iv = Uint8Array.from(rest.subarray(0, NONCE_OCTETS));
  const algorithm = { name: 'AES-GCM', iv, additionalData };
  try {
    return new Uint8Array(
      await crypto.subtle.decrypt(algorithm, key, Uint8Array.from(rest.subarray(NONCE_OCTETS))),
    );
  } catch {
    return null;
  }
}

/**
 * Time of writing of an encrypted or signed value, in milliseconds, which nobody has verified; null for others. For the values of a file that is
 * itself protected, such as that of the last known good values.
 */
export function envelopeTime(octets: Uint8Array): number | null {
  const [form] = octets;
  const isEncrypted = form === FORM.encrypted && octets.length >= OVERHEAD;
  const isSigned = form === FORM.signed && octets.length >= SIGNED_OVERHEAD;
  return isEncrypted || isSigned ? timeOf(octets) : null;
}

export function timeOf(octets: Uint8Array): number {
  return octets.subarray(TIME_AT, HEAD_OCTETS).reduce((time, octet) => time * 256 + octet, 0);
}

export function idOf(octets: Uint8Array): string {
  return encodeHex(octets.subarray(ID_AT, TIME_AT));
}

/** @throws RangeError for a time that 6 octets do not hold */
export function headOf(form: number, id: string, time: number): Uint8Array<ArrayBuffer> {
  if (!Number.isSafeInteger(time) || time < 0 || time > TIME_MAX)
    throw new RangeError('the time of a value is a number of milliseconds from 1970 on');
  const head = new Uint8Array(HEAD_OCTETS);
  const view = new DataView(head.buffer);
  view.setUint8(0, form);
  view.setBigUint64(ID_AT, BigInt(`0x${id}`));
  view.setUint16(TIME_AT, Math.floor(time / 2 ** 32));
  view.setUint32(TIME_AT + 2, time % 2 ** 32);
  return head;
}

/** The record's key as it is authenticated. */
export function keyOctets(recordKey: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(foldCase(recordKey));
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function damaged(): PayloadError {
  return new PayloadError('damaged', 'not this record, or damaged');
}

/** Text is a value that nobody encrypted or signed. Other octets may be an envelope of a later version, or one that was damaged. */
export function notOfForm(octets: Uint8Array, what: 'encrypted' | 'signed'): PayloadError {
  return isText(octets)
    ? new PayloadError('plain', `not ${what}`)
    : new PayloadError('unknown_form', 'unknown form');
}

/** UTF-8 without control characters other than tab, line feed and carriage return. */
function isText(octets: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(octets);
    return !/[^\P{Cc}\t\n\r]/u.test(text);
  } catch {
    return false;
  }
}
