/** One question of the playground: asks it, and fetches the zone's keys. */
import { encodeQuery, exchange, exchangeJson, typeOf } from '../../../../sdk/src/dns.ts';

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

/** Ten asks are kept. */
export const ASKS_MAX = 10;

/** What came over the network. */
export interface Arrived {
  /** Another one for each ask of this page. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly asked: Asked;
  readonly query: Uint8Array;
  readonly octets: Uint8Array;
  /** Of the keys of the zone; null where there are none to ask for. */
  readonly keyOctets: Uint8Array | null;
  readonly keyQuery: Uint8Array;
  /** Milliseconds of the first and the second ask; the second is null when it was asked once. */
  readonly times: readonly [number, number | null];
  /** With the transport JSON. */
  readonly json: string | null;
}

const DNSKEY = 'DNSKEY';
let lastId = 0;

/**
 * @param isTwice to see what a cache makes of the second one
 * @throws Unavailable, RangeError for a text that is no name
 */
export async function ask(
  asked: Asked,
  origin: string,
  isTwice: boolean,
  signal: AbortSignal,
): Promise<Arrived> {
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
  if (isTwice) await exchange(url, query, { method, signal });
  const second = isTwice ? performance.now() - started - first : null;
  const json = transport === 'JSON' ? await exchangeJson(`${origin}/resolve`, asked, { signal }) : null;
  const keyOctets = keysComing === null ? null : await keysComing;
  lastId += 1;
  return {
    id: lastId,
    at: Date.now(),
    asked,
    query,
    octets,
    keyOctets,
    keyQuery,
    times: [first, second],
    json,
  };
}
