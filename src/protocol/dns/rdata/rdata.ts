/** Rdata of the types that the server sends. Names in it are never compressed. */
import { parseIpv4, parseIpv6 } from '../../../base/network/address.ts';
import { concatOctets, copyOctets } from '../octets.ts';
import { WireReader } from '../reader.ts';

/** SOA rdata (RFC 1035 §3.3.13); names in wire form, times in seconds. */
interface Soa {
  readonly mname: Uint8Array;
  readonly rname: Uint8Array;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  /** TTL of negative answers (RFC 2308 §4). */
  readonly minimum: number;
}

export function soaRdata(soa: Soa): Uint8Array {
  const { mname, rname, serial, refresh, retry, expire, minimum } = soa;
  return concatOctets([mname, rname, u32(serial), u32(refresh), u32(retry), u32(expire), u32(minimum)]);
}

/** Rdata that is one name: NS, CNAME, PTR, DNAME. */
export function nsRdata(name: Uint8Array): Uint8Array {
  return copyOctets(name, 0, name.length);
}

export function aRdata(text: string): Uint8Array | null {
  return parseIpv4(text);
}

/** AAAA rdata from a text form of RFC 4291 §2.2, or null. A zone index is invalid. */
export function aaaaRdata(text: string): Uint8Array | null {
  return parseIpv6(text);
}

/** HINFO rdata (RFC 8482 §4.2); each string has at most 255 octets. */
export function hinfoRdata(cpu: string, os: string): Uint8Array {
  return concatOctets([txtChunks(Buffer.from(cpu)), txtChunks(Buffer.from(os))]);
}

function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

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
