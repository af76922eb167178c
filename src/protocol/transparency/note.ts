/**
 * Signed notes and verifier keys as text (C2SP signed-note v1.0.0), and what their signatures sign. Nothing is hashed or verified here, so
 * that browsers read it too; `signatures.ts` does that with Node.
 */
import { concatOctets } from '../dns/octets.ts';
import { decodeBase64, encodeBase64, encodeHex } from '../encodings.ts';

/** Octets of a note, and of every other text here. Sixteen of the largest signatures that are known fit. */
export const NOTE_OCTETS = 131_072;
/** Signature lines of a note. Verifiers must accept 16. */
export const NOTE_SIGNATURES = 64;

/** Ed25519 over the text of the note: how a log signs. */
export const LOG_KEY = 0x01;
/** Ed25519 over a time and the text (C2SP tlog-cosignature v1.0.1): how a witness signs. */
export const COSIGNER_KEY = 0x04;

const KEY_OCTETS = 32;
const KEY_ID_OCTETS = 4;
const TIME_OCTETS = 8;
const SIGNATURE_OCTETS = 64;
/** The last unix second that a `Date` holds: a later one is no time of a witness, and whoever shows it would fail. */
const TIME_MAX = 8_640_000_000_000;

export interface VerifierKey {
  /** Of a log: its origin. */
  readonly name: string;
  /** Eight lower-case hexadecimal letters. */
  readonly id: string;
  /** `LOG_KEY`, `COSIGNER_KEY`, or one that we do not know. */
  readonly type: number;
  readonly publicKey: Uint8Array;
}

export interface NoteSignature {
  readonly name: string;
  readonly keyId: string;
  /** Without the key id. A cosignature begins with its time. */
  readonly octets: Uint8Array;
  /** As it was written, without the line feed. */
  readonly line: string;
}

export interface SignedNote {
  /** With its last line feed: what is signed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** What Ed25519 signs of a note, and the signature that must fit. */
export interface SignedOctets {
  readonly message: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
  /** Unix second of a cosignature; null of a log's signature. */
  readonly time: number | null;
}

/** A name without white space and plus signs (signed-note, Format). */
const KEY_NAME = /^[^\p{White_Space}\p{Cc}\p{Cs}+]+$/u;
const VERIFIER_KEY = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/;
const SIGNATURE_LINE = /^— ([^ ]+) ([^ ]+)$/;
/** A control character other than a line feed, or half a surrogate. */
const NO_TEXT = /[^\n\u0020-\ud7ff\ue000-\u{10ffff}]/u;

const encoder = new TextEncoder();

/** Null where the key is malformed. Its id is not compared with its hash. */
export function parseVerifierKey(text: string): VerifierKey | null {
  const [, name = '', id = '', base64 = ''] = VERIFIER_KEY.exec(text) ?? [];
  const octets = decodeBase64(base64);
  const type = octets?.[0];
  if (!isKeyName(name) || !octets || type === undefined || octets.length < 2) return null;
  if ((type === LOG_KEY || type === COSIGNER_KEY) && octets.length !== 1 + KEY_OCTETS) return null;
  return { name, id, type, publicKey: octets.slice(1) };
}

export function printVerifierKey({ name, id, type, publicKey }: VerifierKey): string {
  return `${name}+${id}+${encodeBase64(concatOctets([Uint8Array.of(type), publicKey]))}`;
}

/** The id of a key is the first four octets of the SHA-256 of this. */
export function keyIdInput({ name, type, publicKey }: Omit<VerifierKey, 'id'>): Uint8Array<ArrayBuffer> {
  return copied(concatOctets([encoder.encode(`${name}\n`), Uint8Array.of(type), publicKey]));
}

export function keyIdOfHash(sha256: Uint8Array): string {
  return encodeHex(sha256.subarray(0, KEY_ID_OCTETS));
}

export function isKeyName(name: string): boolean {
  return KEY_NAME.test(name);
}

/** Null where the note is malformed. Its signatures are not verified, and may be of any type. */
export function parseNote(note: string): SignedNote | null {
  if (!isNoteText(note)) return null;
  const end = note.lastIndexOf('\n\n');
  const signatures = end < 0 ? null : parseSignatureLines(note.slice(end + 2));
  return signatures && { text: note.slice(0, end + 1), signatures };
}

/** What a witness answers: lines that each end in a line feed. Null where one is malformed, or none is there. */
export function parseSignatureLines(lines: string): readonly NoteSignature[] | null {
  if (!isNoteText(lines) || !lines.endsWith('\n')) return null;
  const signatures = lines.slice(0, -1).split('\n').map(readSignatureLine);
  if (signatures.length > NOTE_SIGNATURES) return null;
  return signatures.every((signature) => signature !== null) ? signatures : null;
}

export function printNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map(({ line }) => `${line}\n`).join('')}`;
}

/** @param octets the signature, of a cosignature after its time */
export function noteSignature({ name, id }: VerifierKey, octets: Uint8Array): NoteSignature {
  const keyId = Uint8Array.from(id.match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
  const line = `— ${name} ${encodeBase64(concatOctets([keyId, octets]))}`;
  return { name, keyId: id, octets: copied(octets), line };
}

/** Null where the signature cannot be one of this type of key. */
export function signedOctets(text: string, type: number, octets: Uint8Array): SignedOctets | null {
  if (type === LOG_KEY && octets.length === SIGNATURE_OCTETS) {
    return { message: encoder.encode(text), signature: copied(octets), time: null };
  }
  if (type !== COSIGNER_KEY || octets.length !== TIME_OCTETS + SIGNATURE_OCTETS) return null;
  const time = octets.subarray(0, TIME_OCTETS).reduce((value, octet) => value * 256 + octet, 0);
  if (time > TIME_MAX) return null;
  return {
    message: encoder.encode(cosignedText(text, time)),
    signature: copied(octets.subarray(TIME_OCTETS)),
    time,
  };
}

/** @param time unix second */
export function cosignedText(text: string, time: number): string {
  return `cosignature/v1\ntime ${time}\n${text}`;
}

/** The first octets of a cosignature. @param time unix second */
export function encodeTime(time: number): Uint8Array {
  const octets = new Uint8Array(TIME_OCTETS);
  new DataView(octets.buffer).setBigUint64(0, BigInt(time));
  return octets;
}

/** UTF-8 without a control character but line feeds, within the bounds. */
export function isNoteText(text: string): boolean {
  if (text.length > NOTE_OCTETS || NO_TEXT.test(text)) return false;
  return encoder.encode(text).length <= NOTE_OCTETS;
}

function readSignatureLine(line: string): NoteSignature | null {
  const [, name = '', base64 = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const octets = decodeBase64(base64);
  if (!isKeyName(name) || !octets || octets.length <= KEY_ID_OCTETS) return null;
  return { name, keyId: keyIdOfHash(octets), octets: octets.slice(KEY_ID_OCTETS), line };
}

/** Octets of their own: WebCrypto refuses those that share memory. */
function copied(octets: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(octets);
}
