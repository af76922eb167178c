/** What a read over DNS gave. */
import type { RawReading } from '../../../../sdk/src/dns.ts';

export type DnsAnswer =
  | { readonly kind: 'record'; readonly reading: RawReading; readonly ms: number }
  | { readonly kind: 'nothing' | 'refused'; readonly ms: number }
  /** This server answers no DNS here, or the answer could not be read. */
  | { readonly kind: 'failed'; readonly error: unknown };

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
