import {
  type DnsMessage,
  type Envelope,
  rdataOf,
  readEnvelope,
  recordsIn,
  ServiceError,
} from '../../../../sdk/src/dns.ts';

export type ReadEnvelope =
  | { readonly kind: 'envelope'; readonly text: string; readonly envelope: Envelope }
  | { readonly kind: 'error'; readonly text: string; readonly code: string; readonly message: string }
  /** A TXT record of another form, such as the manifest of a dataset. */
  | { readonly kind: 'other'; readonly text: string };

/** The envelope in the first TXT record of an answer; null without one. */
export function envelopeOf(message: DnsMessage): ReadEnvelope | null {
  for (const record of recordsIn(message, 'answer')) {
    const txt = rdataOf(record, 'TXT');
    if (txt === null) continue;
    const text = txt.characters.map((octets) => String.fromCharCode(...octets)).join('');
    try {
      return { kind: 'envelope', text, envelope: readEnvelope(text) };
    } catch (error) {
      if (error instanceof ServiceError)
        return { kind: 'error', text, code: error.code, message: error.message };
      return { kind: 'other', text };
    }
  }
  return null;
}

/** The data as text; null for octets that are no UTF-8. */
export function dataText(data: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data);
  } catch {
    return null;
  }
}
