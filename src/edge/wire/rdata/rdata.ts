/** Rdata of the types we serve: built from values, and read back for rendering. Names in it are never compressed. */

import { concatOctets, copyOctets } from '../octets.ts';
import { WireReader } from '../reader.ts';
import { ipv4FromText, ipv6FromText } from './address.ts';
import { txtChunks } from './txt.ts';

/** SOA rdata as values (RFC 1035 §3.3.13); names in wire form, times in seconds. */
export interface Soa {
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

/** SOA rdata read back, or null. */
export function readSoa(rdata: Uint8Array): Soa | null {
  const reader = new WireReader(rdata);
  const soa: Soa = {
    mname: reader.plainName(),
    rname: reader.plainName(),
    serial: reader.u32(),
    refresh: reader.u32(),
    retry: reader.u32(),
    expire: reader.u32(),
    minimum: reader.u32(),
  };
  return reader.complete ? soa : null;
}

/** Rdata of the types that are one name: NS, CNAME, PTR, DNAME. */
export function nsRdata(name: Uint8Array): Uint8Array {
  return copyOctets(name, 0, name.length);
}

/** A rdata from a dotted quad, or null. */
export function aRdata(text: string): Uint8Array | null {
  return ipv4FromText(text);
}

/** AAAA rdata from any text form of RFC 4291 §2.2, or null; a zone index is no part of an address. */
export function aaaaRdata(text: string): Uint8Array | null {
  return ipv6FromText(text);
}

/** TXT rdata for a value; text is UTF-8. */
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

/** CAA rdata (RFC 8659 §4.1); `tag` and `value` are ASCII. */
export function caaRdata(flags: number, tag: string, value: string): Uint8Array {
  const tagOctets = Buffer.from(tag, 'latin1');
  return concatOctets([Uint8Array.of(flags, tagOctets.length), tagOctets, Buffer.from(value, 'latin1')]);
}

/** HINFO rdata, as in the minimal answer to ANY (RFC 8482 §4.2); at most 255 octets each. */
export function hinfoRdata(cpu: string, os: string): Uint8Array {
  return concatOctets([txtRdata(cpu), txtRdata(os)]);
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value);
}

function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}
