/** TXT rdata (RFC 1035 §3.3.14). A value is the concatenation of all its character strings. */

import { concatOctets } from '../octets.ts';
import { WireReader } from '../reader.ts';

const MAX_STRING_OCTETS = 255;
const NO_STRING = Uint8Array.of(0);

/** TXT rdata for a value, in as few strings as possible. An empty value is one empty string. */
export function txtChunks(value: Uint8Array): Uint8Array {
  if (value.length === 0) return NO_STRING.slice();
  const rdata = new Uint8Array(value.length + Math.ceil(value.length / MAX_STRING_OCTETS));
  let at = 0;
  for (let start = 0; start < value.length; start += MAX_STRING_OCTETS) {
    const string = value.subarray(start, start + MAX_STRING_OCTETS);
    rdata[at] = string.length;
    rdata.set(string, at + 1);
    at += 1 + string.length;
  }
  return rdata;
}

/** The character strings of TXT rdata. Null if there is none or a length does not fit. */
export function txtStrings(rdata: Uint8Array): Uint8Array[] | null {
  const reader = new WireReader(rdata);
  const strings: Uint8Array[] = [];
  while (reader.remaining > 0 && !reader.failed) strings.push(reader.characterString());
  return reader.failed || strings.length === 0 ? null : strings;
}

/** The joined strings of TXT rdata, or null if it is malformed. */
export function txtValue(rdata: Uint8Array): Uint8Array | null {
  const strings = txtStrings(rdata);
  return strings === null ? null : concatOctets(strings);
}
