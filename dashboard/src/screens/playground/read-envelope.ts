import {
  type DnsMessage,
  type Envelope,
  readEnvelope,
  recordsIn,
  ServiceError,
  txtOf,
} from '../../../../sdk/src/dns.ts';
import { latin1Of } from '../../../../src/protocol/encodings.ts';

export type ReadEnvelope =
  | { readonly kind: 'envelope'; readonly text: string; readonly envelope: Envelope }
  | { readonly kind: 'error'; readonly text: string; readonly code: string; readonly message: string }
  /** A TXT record of another form, such as the manifest of a dataset. */
  | { readonly kind: 'other'; readonly text: string };

/** The envelope in the first TXT record of an answer; null without one. */
export function envelopeOf(message: DnsMessage): ReadEnvelope | null {
  for (const record of recordsIn(message, 'answer')) {
    const txt = txtOf(record);
    if (txt === null) continue;
    const text = latin1Of(txt);
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
