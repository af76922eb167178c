import type { Deadline } from '../shared/attempts.ts';
import { Malformed, NotFound, Refused, Unavailable } from './errors.ts';

/** What a transport found at a name. */
export interface TxtAnswer {
  /** The joined character strings of the TXT record, one character for each octet. */
  readonly text: string;
  /** DNS TTL in seconds; null where the transport does not tell it. */
  readonly ttl: number | null;
}

/** Asks for the TXT record of a whole name. @throws ReadError; the reason of the deadline's signal when it aborts */
export type Transport = (name: string, deadline: Deadline) => Promise<TxtAnswer>;

/** The error for a response code. */
export function errorOfRcode(rcode: number, detail: string | null): Error {
  if (rcode === 0 || rcode === 3) return new NotFound();
  if (rcode === 1) return new Malformed(detail);
  if (rcode === 5) return new Refused();
  return new Unavailable(rcode === 2 ? 'SERVFAIL' : `response code ${rcode}`);
}
