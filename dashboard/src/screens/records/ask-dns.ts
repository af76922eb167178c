/** Reads of this page over DNS: by HTTPS at its own origin, with the SDK's reader. */
import { NotFound, type RawReading, Reader, Refused, Unavailable } from '../../../../sdk/src/dns.ts';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';

const TIMEOUT_MS = 5000;

/** @param meta for the zone of the names */
export function pageReader(meta: Meta): Reader {
  return new Reader({
    doh: `${location.origin}/dns-query`,
    zone: meta.zones[0],
    timeout: TIMEOUT_MS,
    retries: 0,
  });
}

export type DnsAnswer =
  | { readonly kind: 'record'; readonly reading: RawReading; readonly ms: number }
  | { readonly kind: 'nothing' | 'refused'; readonly ms: number }
  /** This server answers no DNS here, or the answer could not be read. */
  | { readonly kind: 'failed'; readonly error: unknown };

/** @param token null: none is sent */
export async function askDns(
  reader: Reader,
  key: string,
  token: string | null,
  signal?: AbortSignal,
): Promise<DnsAnswer> {
  const started = performance.now();
  const ms = (): number => performance.now() - started;
  try {
    const reading = await reader.raw(key, { token, signal });
    return { kind: 'record', reading, ms: ms() };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof NotFound) return { kind: 'nothing', ms: ms() };
    if (error instanceof Refused) return { kind: 'refused', ms: ms() };
    return { kind: 'failed', error };
  }
}

/** Whether a failure may be over with the next question. */
export function mayPass(error: unknown): boolean {
  return error instanceof Unavailable && error.reason !== 'HTTP 404';
}

/** Whether an answer shows a record as it was written. */
export function showsWrite(reading: RawReading, data: Uint8Array, ttl: number): boolean {
  const seen = reading.data;
  return (
    seen !== null &&
    reading.ttlHint === ttl &&
    seen.length === data.length &&
    seen.every((octet, at) => octet === data[at])
  );
}
