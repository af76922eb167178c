import { latin1Of } from '../../../src/protocol/encodings.ts';
import { decodeMessage, recordsIn } from './message/message.ts';
import { txtOf } from './message/record.ts';

/** What a read needs of a reply. */
export interface Reply {
  readonly rcode: number;
  /** Each the joined character strings of one TXT record, one character for each octet. */
  readonly texts: readonly string[];
  /** Least TTL of the TXT records; null without any. */
  readonly ttl: number | null;
  /** Text of the extended error (RFC 8914). */
  readonly detail: string | null;
}

/** @throws RangeError for octets that are no reply */
export function decodeReply(octets: Uint8Array): Reply {
  const message = decodeMessage(octets);
  if (!message.flags.qr) throw new RangeError('not a reply');
  const found = recordsIn(message, 'answer').flatMap((record) => {
    const txt = txtOf(record);
    return txt === null ? [] : [{ ttl: record.ttl, text: latin1Of(txt) }];
  });
  const errors = message.edns?.extendedErrors.filter(({ text }) => text !== '') ?? [];
  return {
    rcode: message.rcode,
    texts: found.map(({ text }) => text),
    ttl: found.length === 0 ? null : Math.min(...found.map(({ ttl }) => ttl)),
    detail: errors.at(-1)?.text ?? null,
  };
}
