/** The first read of an own record, over the DNS of this server. */
import type { Meta, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { askDns, type DnsAnswer, mayPass, pageReader } from '../records/ask-dns.ts';
import { dropToken, tokenFor } from '../records/page-tokens.ts';

/** A token or record that was just made is known to the node some milliseconds later. */
const TRIES = 20;
const PAUSE_MS = 150;

/** Asks until there is an answer with data, for three seconds at most. @returns the last answer */
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
