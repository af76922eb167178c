/**
 * The secrets of a node: what it signs answers with, its server cookies and its TLS session tickets. Control makes them; a node
 * makes none, and has no UQRP_SECRET.
 */
import { createHash } from 'node:crypto';

/** A secret that is used in one period. Every node computes the same number of the period from its clock. */
export interface PeriodSecret {
  readonly period: number;
  readonly secret: Uint8Array;
}

/** The signing keys of one zone. */
export interface ZoneSecret {
  /** Lower case, without a trailing dot. */
  readonly zone: string;
  /** Differs when anything differs that matters: signatures that another process made at the same time do not. */
  readonly mark: string;
  /** Nodes that have earlier keys use these from then on: all in the same second. Milliseconds since the epoch, by control's clock. */
  readonly from: number;
  /** JSON of `dns/dnssec/keys/node-key-set.ts`. Secret. */
  readonly document: string;
}

export interface NodeSecrets {
  /** Empty where answers are not signed. */
  readonly zones: readonly ZoneSecret[];
  /** 16 octets a day, see `dns/shared/edns.ts`. */
  readonly cookies: readonly PeriodSecret[];
  /** 48 octets for half a day. */
  readonly tickets: readonly PeriodSecret[];
}

/** Gives a node its secrets. It never makes signing keys. */
export interface NodeKeys {
  /** Those that are in use now. Rejects when there are none: nothing can be served then. */
  read(): Promise<NodeSecrets>;
  /** Whether a start that does not reach the source has the same ones. Absent: no start is without it. */
  readonly isKept?: () => boolean;
}

export const COOKIE_PERIOD_MS = 86_400_000;
export const TICKET_PERIOD_MS = 43_200_000;

/**
 * The secret of a period. Without it, the latest one before: a node that has been without control for a day goes on.
 * @returns null for an empty list
 */
export function secretOf(secrets: readonly PeriodSecret[], period: number): Uint8Array | null {
  const ascending = secrets.toSorted((a, b) => a.period - b.period);
  const found = ascending.findLast((each) => each.period <= period) ?? ascending[0];
  return found?.secret ?? null;
}

/** Differs when anything differs that matters. Tells nothing of the secrets. */
export function secretsMark(secrets: NodeSecrets): string {
  return `${zonesMark(secrets.zones)} ${periodsMark(secrets)}`;
}

/** The same of the signing keys alone: an end of a period changes nothing in them. */
export function zonesMark(zones: readonly ZoneSecret[]): string {
  const hash = createHash('sha256');
  for (const { zone, mark, from } of zones) hash.update(JSON.stringify([zone, mark, from]));
  return hash.digest('base64');
}

/** The same of the secrets that are used in one period each. */
export function periodsMark({ cookies, tickets }: Pick<NodeSecrets, 'cookies' | 'tickets'>): string {
  const hash = createHash('sha256');
  for (const list of [cookies, tickets]) {
    hash.update('\0');
    for (const { period, secret } of list) hash.update(`${period} `).update(secret);
  }
  return hash.digest('base64');
}
