import { nameFromText } from './dns-name.ts';

export interface QueryOptions {
  /** RR type. Default TXT. */
  readonly type?: number | undefined;
  /** DO: the answer has its signatures (RFC 3225). */
  readonly dnssecOk?: boolean | undefined;
  /** CD: a resolver passes on what it could not validate. */
  readonly checkingDisabled?: boolean | undefined;
  /** Default 0 (RFC 8484, section 4.1). */
  readonly id?: number | undefined;
}

const TXT = 16;
const IN = 1;
const OPT = 41;
const UDP_SIZE = 1232;
const EDNS_PADDING = 12;
/** RFC 8467: queries are padded to multiples of 128 octets, so that their length says less about the name. */
const PADDED = 128;
const HEADER = 12;
const OPT_HEAD = 11;
const OPTION_HEAD = 4;

/** A question with EDNS and padding. @throws RangeError for a text that is no name */
export function encodeQuery(name: string, options: QueryOptions = {}): Uint8Array<ArrayBuffer> {
  const { type = TXT, dnssecOk = false, checkingDisabled = false, id = 0 } = options;
  const { wire } = nameFromText(name);
  const bare = HEADER + wire.length + 4 + OPT_HEAD + OPTION_HEAD;
  const padding = (PADDED - (bare % PADDED)) % PADDED;
  const message = new Uint8Array(bare + padding);
  const view = new DataView(message.buffer);
  view.setUint16(0, id);
  // RD, and CD.
  view.setUint16(2, checkingDisabled ? 0x0110 : 0x0100);
  view.setUint16(4, 1);
  view.setUint16(10, 1);
  message.set(wire, HEADER);
  let at = HEADER + wire.length;
  view.setUint16(at, type);
  view.setUint16(at + 2, IN);
  at += 4;
  view.setUint16(at + 1, OPT);
  view.setUint16(at + 3, UDP_SIZE);
  view.setUint16(at + 7, dnssecOk ? 0x8000 : 0);
  view.setUint16(at + 9, OPTION_HEAD + padding);
  view.setUint16(at + 11, EDNS_PADDING);
  view.setUint16(at + 13, padding);
  return message;
}
