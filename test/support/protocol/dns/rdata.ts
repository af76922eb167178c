/** Rdata and options that clients and tests write, and the server does not. */

import { EDNS_OPTION } from '../../../../src/protocol/dns/codes.ts';
import type { EdnsOption } from '../../../../src/protocol/dns/message/edns.ts';
import { concatOctets } from '../../../../src/protocol/dns/octets.ts';
import { txtChunks } from '../../../../src/protocol/dns/rdata/rdata.ts';

/** TXT rdata of octets, or of a text in UTF-8. */
export function txtRdata(value: Uint8Array | string): Uint8Array {
  return txtChunks(typeof value === 'string' ? Buffer.from(value, 'utf8') : value);
}

export function mxRdata(preference: number, exchange: Uint8Array): Uint8Array {
  return concatOctets([u16(preference), exchange]);
}

/** SRV rdata (RFC 2782). */
export function srvRdata(priority: number, weight: number, port: number, target: Uint8Array): Uint8Array {
  return concatOctets([u16(priority), u16(weight), u16(port), target]);
}

/** A COOKIE option: the client's eight octets, then those of the server (RFC 7873 §4). */
export function cookieOption(client: Uint8Array, server: Uint8Array | null): EdnsOption {
  return { code: EDNS_OPTION.COOKIE, data: server === null ? client : concatOctets([client, server]) };
}

/** Padding of so many zero octets (RFC 7830 §3). */
export function paddingOption(octets: number): EdnsOption {
  return { code: EDNS_OPTION.PADDING, data: new Uint8Array(octets) };
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value);
}
