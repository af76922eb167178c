/**
 * The octets of a last known good file: `UQRPLKG1`, salt 16, nonce 12, AES-256-GCM of JSON
 * `{"saved", "entries": {KEY: {"text", "at"}}}`, with its tag of 16 octets at the end. Times are milliseconds since 1970.
 */

/** An answer that was good. */
export interface KnownEntry {
  /** The envelope, one character for each octet. Encrypted data stays encrypted in it. */
  readonly text: string;
  /** When it was read, milliseconds since 1970. */
  readonly at: number;
}

export interface KnownAnswers {
  /** When the file was made, milliseconds since 1970. */
  readonly saved: number;
  /** By key of the record, in lower case. */
  readonly entries: ReadonlyMap<string, KnownEntry>;
}

/** Octets of a file at most. */
export const KNOWN_GOOD_MAX = 4_194_304;

const MAGIC = new TextEncoder().encode('UQRPLKG1');
const INFO = new TextEncoder().encode('uqrp-lkg-1');
const SALT_AT = MAGIC.length;
const NONCE_AT = SALT_AT + 16;
const SEALED_AT = NONCE_AT + 12;
const TAG = 16;

/** Whether the octets say that they are such a file. */
export function isKnownGood(octets: Uint8Array): boolean {
  return octets.length >= SEALED_AT + TAG && MAGIC.every((octet, at) => octets[at] === octet);
}

/**
 * @param credential the token with which the answers were read: who has another one, or none, cannot open the file
 * @param random salt and nonce, 28 octets. Only a test may choose them
 * @throws RangeError when the result would be too large
 */
export async function sealKnownGood(
  credential: string,
  { saved, entries }: KnownAnswers,
  random: Uint8Array = crypto.getRandomValues(new Uint8Array(SEALED_AT - SALT_AT)),
): Promise<Uint8Array<ArrayBuffer>> {
  const json = new TextEncoder().encode(JSON.stringify({ saved, entries: Object.fromEntries(entries) }));
  const octets = new Uint8Array(SEALED_AT + json.length + TAG);
  if (octets.length > KNOWN_GOOD_MAX) throw new RangeError('the answers are too large for one file');
  octets.set(MAGIC);
  octets.set(random, SALT_AT);
  const { key, parameters } = await cipherOf(credential, octets);
  octets.set(new Uint8Array(await crypto.subtle.encrypt(parameters, key, json)), SEALED_AT);
  return octets;
}

/** Null for a file that is damaged, or was made with another credential. */
export async function openKnownGood(
  credential: string,
  octets: Uint8Array<ArrayBuffer>,
): Promise<KnownAnswers | null> {
  if (!isKnownGood(octets)) return null;
  const { key, parameters } = await cipherOf(credential, octets);
  try {
    const json = await crypto.subtle.decrypt(parameters, key, octets.subarray(SEALED_AT));
    return answersOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json)));
  } catch {
    return null;
  }
}

async function cipherOf(credential: string, octets: Uint8Array<ArrayBuffer>) {
  const salt = octets.subarray(SALT_AT, NONCE_AT);
  const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode(credential), 'HKDF', false, [
    'deriveKey',
  ]);
  const key = await crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt, info: INFO },
    secret,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  );
  const iv = octets.subarray(NONCE_AT, SEALED_AT);
  return { key, parameters: { name: 'AES-GCM', iv, additionalData: octets.subarray(0, NONCE_AT) } };
}

/** Null for JSON of another shape, as a later version may write it. */
function answersOf(value: unknown): KnownAnswers | null {
  const { saved, entries } = (value ?? {}) as { saved?: unknown; entries?: unknown };
  if (typeof saved !== 'number' || typeof entries !== 'object' || entries === null) return null;
  const all = Object.entries(entries as Record<string, Partial<KnownEntry> | null>);
  if (!all.every(([, one]) => typeof one?.text === 'string' && typeof one.at === 'number')) return null;
  return { saved, entries: new Map(all as [string, KnownEntry][]) };
}

/** The newest entries that fit into one file. */
export function thatFit(entries: ReadonlyMap<string, KnownEntry>): ReadonlyMap<string, KnownEntry> {
  const encoder = new TextEncoder();
  // What stands around the entries has less than 100 octets.
  let free = KNOWN_GOOD_MAX - SEALED_AT - TAG - 100;
  const newest = [...entries].sort(([, a], [, b]) => b.at - a.at);
  const fitting = newest.filter((entry) => {
    free -= encoder.encode(JSON.stringify(entry)).length;
    return free >= 0;
  });
  return new Map(fitting);
}
