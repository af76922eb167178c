/** How long the answer of a record is, before it is written: the envelope of docs/PROTOCOL.md, and the message around it. */
import { envelopeHead } from '../../../../src/protocol/query/envelope.ts';

/** The most octets of an answer over UDP (RFC 9715). */
export const UDP_OCTETS = 1232;
const HEADER = 12;
/** Type and class. */
const QUESTION_TAIL = 4;
/** A pointer to the name, type, class, TTL and length of the data. */
const RECORD_HEAD = 12;
const OPT = 11;
const CHUNK = 255;
/** The fixed part of a signature's data, and an ECDSA P-256 signature (RFC 4034, RFC 6605). */
const SIGNATURE = 18 + 64;

/** @param octets of the data */
export function envelopeOctets(
  octets: number,
  encoding: 'b64' | 'plain',
  format: string,
  ttl: number,
): number {
  const head = envelopeHead(encoding, format, ttl).length;
  return head + (encoding === 'plain' ? octets : Math.ceil(octets / 3) * 4);
}

export interface AnswerSize {
  /** Octets of the answer to a question with EDNS. */
  readonly plain: number;
  /** The same with the signature, as validating resolvers ask for it. */
  readonly signed: number;
  readonly fits: 'both' | 'plain' | 'none';
}

/**
 * @param name the whole name asked for, with its token and zone
 * @param envelope octets
 * @param zone that signs
 */
export function answerSize(name: string, envelope: number, zone: string): AnswerSize {
  const text = envelope + Math.ceil(envelope / CHUNK);
  const plain = HEADER + name.length + 2 + QUESTION_TAIL + RECORD_HEAD + text + OPT;
  const signed = plain + RECORD_HEAD + SIGNATURE + zone.length + 2;
  return { plain, signed, fits: signed <= UDP_OCTETS ? 'both' : plain <= UDP_OCTETS ? 'plain' : 'none' };
}
