/** Reads an answer, and checks it. */
import {
  type AnswerCheck,
  checkAnswer,
  checkKeys,
  type DnsMessage,
  decodeMessage,
  type KeysCheck,
  nameFromText,
  rcodeName,
  readDs,
  typeOf,
} from '../../../../sdk/src/dns.ts';
import type { Arrived } from './asked.ts';

/** What the octets say. */
export interface Examined {
  /** Null: no DNS message; `fault` says why. */
  readonly message: DnsMessage | null;
  readonly fault: string | null;
  readonly check: AnswerCheck | null;
  /** Null also where the server failed to give the keys; `keysFailure` says with which code. */
  readonly keys: KeysCheck | null;
  readonly keysFailure: string | null;
}

/**
 * Reads the octets and checks the signatures.
 * @param octets those that came, or changed ones
 * @param trustedDs DS records of the parent zone, as text; empty: none
 */
export async function examine(arrived: Arrived, octets: Uint8Array, trustedDs: string): Promise<Examined> {
  const { asked, keyOctets } = arrived;
  const { keys, keysFailure } =
    keyOctets === null ? NO_KEYS : await examineKeys(arrived, keyOctets, trustedDs);
  let message: DnsMessage;
  try {
    message = decodeMessage(octets);
  } catch (error) {
    return { message: null, fault: (error as Error).message, check: null, keys, keysFailure };
  }
  // Without the keys nothing of the answer can be checked, which says nothing against it.
  if (keysFailure !== null) return { message, fault: null, check: UNCHECKED, keys, keysFailure };
  const query = decodeMessage(arrived.query);
  // Without DO nothing is signed, so nothing can be missing.
  const known = keys !== null && asked.dnssecOk ? keys : { zone: nameFromText(''), keys: [] };
  const check = await checkAnswer(message, known, { query, isDirect: true });
  return { message, fault: null, check, keys, keysFailure };
}

type ExaminedKeys = Pick<Examined, 'keys' | 'keysFailure'>;
const UNCHECKED: AnswerCheck = { result: 'not_checked', signatures: [], faults: [] };
const NO_KEYS: ExaminedKeys = { keys: null, keysFailure: null };

/** No keys for octets that are no message: nothing is known of them then. */
async function examineKeys(
  { asked, keyQuery }: Arrived,
  octets: Uint8Array,
  trustedDs: string,
): Promise<ExaminedKeys> {
  try {
    const ds = trustedDs.trim() === '' ? {} : { ds: readDs(trustedDs) };
    const message = decodeMessage(octets);
    if (isFailure(message)) return { keys: null, keysFailure: rcodeName(message.rcode) };
    const zone = nameFromText(asked.zone ?? '');
    const query = decodeMessage(keyQuery);
    return { keys: await checkKeys(message, zone, { query, isDirect: true, ...ds }), keysFailure: null };
  } catch {
    return NO_KEYS;
  }
}

/** An error code without any signature: nothing of such a reply can be checked, and nothing in it is proof of a change. */
export function isFailure({ rcode, records }: DnsMessage): boolean {
  return rcode !== 0 && rcode !== NXDOMAIN && !records.some(({ type }) => type === typeOf('RRSIG'));
}

const NXDOMAIN = 3;

/** Fields of which a change spoils signatures, the most instructive first. */
const SIGNED_FIELDS = ['characters', 'types', 'publicKey', 'serial', 'target', 'address', 'signature'];

/** A copy in which each of these octets has its lowest bit changed. */
export function withChanges(octets: Uint8Array, places: ReadonlySet<number>): Uint8Array {
  return octets.map((octet, at) => (places.has(at) ? octet ^ 0x01 : octet));
}

/** The octet whose change shows most: one that is signed; without one, the last. */
export function placeToChange(octets: Uint8Array): number {
  try {
    const { spans } = decodeMessage(octets);
    for (const field of SIGNED_FIELDS) {
      const span = spans.find((one) => one.field === field);
      if (span !== undefined) return span.to - 1;
    }
  } catch {
    // Octets that are no message: any octet will do.
  }
  return octets.length - 1;
}
