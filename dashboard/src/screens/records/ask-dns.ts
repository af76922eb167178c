/**
 * Reads of this page over DNS: by HTTPS at its own origin, with the SDK's reader. Loaded when something is asked: with what it imports it is a sixth
 * of the scripts of a page.
 */
import { NotFound, Reader, Refused, Unavailable } from '../../../../sdk/src/dns.ts';
import type { Meta, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import type { DnsAnswer } from './dns-answer.ts';
import { dropToken, tokenFor } from './page-tokens.ts';

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

/** A token or record that was just made is known to the node some milliseconds later. */
const TRIES = 20;
const PAUSE_MS = 150;

/** The first read of an own record: asks until there is an answer with data, for three seconds at most. @returns the last answer */
export async function readFirst(meta: Meta, namespace: NamespaceResource, key: string): Promise<DnsAnswer> {
  const reader = pageReader(meta);
  const token = await tokenFor(namespace);
  for (let tries = 1; ; tries++) {
    const answer = await askDns(reader, key, token);
    const isOver = answer.kind === 'record' || (answer.kind === 'failed' && !mayPass(answer.error));
    if (isOver || tries >= TRIES) {
      // A token that is still refused was revoked elsewhere: the next read makes another one.
      if (answer.kind === 'refused' && token !== null) dropToken(token);
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
