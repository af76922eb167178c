/** One question of the playground: asks it twice, fetches the zone's keys, and checks what came. */
import {
  type AnswerCheck,
  checkAnswer,
  checkKeys,
  type DnsMessage,
  decodeMessage,
  encodeQuery,
  exchange,
  exchangeJson,
  type KeysCheck,
  nameFromText,
  readDs,
  typeOf,
} from '../../../../sdk/src/dns.ts';

export type TransportChoice = 'POST' | 'GET' | 'JSON';

export interface Asked {
  /** With its token. */
  readonly name: string;
  readonly type: string;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  readonly transport: TransportChoice;
  /** Null: the name is in no zone of this server. */
  readonly zone: string | null;
}

/** What came over the network. */
export interface Arrived {
  readonly asked: Asked;
  readonly query: Uint8Array;
  readonly octets: Uint8Array;
  /** Of the keys of the zone; null where there are none to ask for. */
  readonly keyOctets: Uint8Array | null;
  readonly keyQuery: Uint8Array;
  /** Milliseconds of the first and the second ask. */
  readonly times: readonly [number, number];
  /** With the transport JSON. */
  readonly json: string | null;
}

/** What the octets say. */
export interface Examined {
  /** Null: no DNS message; `fault` says why. */
  readonly message: DnsMessage | null;
  readonly fault: string | null;
  readonly check: AnswerCheck | null;
  readonly keys: KeysCheck | null;
}

const DNSKEY = 'DNSKEY';

/** @throws Unavailable, RangeError for a text that is no name */
export async function askTwice(asked: Asked, origin: string, signal: AbortSignal): Promise<Arrived> {
  const { name, dnssecOk, checkingDisabled, transport, zone } = asked;
  const url = `${origin}/dns-query`;
  const query = encodeQuery(name, { type: typeOf(asked.type) ?? 0, dnssecOk, checkingDisabled });
  const keyQuery = encodeQuery(zone ?? '', { type: typeOf(DNSKEY) ?? 0, dnssecOk: true });
  const keysComing = zone === null ? null : exchange(url, keyQuery, { signal });
  // Its fault is reported where it is awaited, after the question's own.
  keysComing?.catch(() => undefined);
  const method = transport === 'GET' ? 'GET' : 'POST';
  const started = performance.now();
  const octets = await exchange(url, query, { method, signal });
  const first = performance.now() - started;
  await exchange(url, query, { method, signal });
  const second = performance.now() - started - first;
  const json = transport === 'JSON' ? await exchangeJson(`${origin}/resolve`, asked, { signal }) : null;
  const keyOctets = keysComing === null ? null : await keysComing;
  return { asked, query, octets, keyOctets, keyQuery, times: [first, second], json };
}

/**
 * Reads the octets and checks the signatures.
 * @param octets those that came, or changed ones
 * @param trustedDs DS records of the parent zone, as text; empty: none
 */
export async function examine(arrived: Arrived, octets: Uint8Array, trustedDs: string): Promise<Examined> {
  const { asked, keyOctets } = arrived;
  const keys = keyOctets === null ? null : await examineKeys(arrived, keyOctets, trustedDs);
  let message: DnsMessage;
  try {
    message = decodeMessage(octets);
  } catch (error) {
    return { message: null, fault: (error as Error).message, check: null, keys };
  }
  const query = decodeMessage(arrived.query);
  // Without DO nothing is signed, so nothing can be missing.
  const known = keys !== null && asked.dnssecOk ? keys : { zone: nameFromText(''), keys: [] };
  const check = await checkAnswer(message, known, { query, isDirect: true });
  return { message, fault: null, check, keys };
}

/** Null for octets that are no message: nothing is known of the keys then. */
async function examineKeys(
  { asked, keyQuery }: Arrived,
  octets: Uint8Array,
  trustedDs: string,
): Promise<KeysCheck | null> {
  try {
    const ds = trustedDs.trim() === '' ? {} : { ds: readDs(trustedDs) };
    const query = decodeMessage(keyQuery);
    return await checkKeys(decodeMessage(octets), nameFromText(asked.zone ?? ''), {
      query,
      isDirect: true,
      ...ds,
    });
  } catch {
    return null;
  }
}

/** Fields of which a change spoils signatures, the most instructive first. */
const SIGNED_FIELDS = ['characters', 'types', 'publicKey', 'serial', 'target', 'address', 'signature'];

/** A copy with one bit changed in an octet that is signed; without one, in the last octet. */
export function tamper(octets: Uint8Array): { readonly octets: Uint8Array; readonly at: number } {
  const at = placeToChange(octets);
  const changed = Uint8Array.from(octets);
  changed[at] = (changed[at] ?? 0) ^ 0x01;
  return { octets: changed, at };
}

function placeToChange(octets: Uint8Array): number {
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
