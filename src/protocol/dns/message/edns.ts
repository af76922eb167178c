import { EDNS_OPTION, RRTYPE } from '../codes.ts';
import { concatOctets, copyOctets, u16At } from '../octets.ts';
import { afterOption, OPTION_HEADER_OCTETS } from '../skim.ts';
import type { MessageWriter } from '../writer.ts';

export interface EdnsOption {
  readonly code: number;
  readonly data: Uint8Array;
}

export interface Edns {
  /** Largest UDP payload that the sender can receive. */
  readonly payload: number;
  readonly version: number;
  /** Upper eight bits of the response code, for `writeOpt`. Decoded messages have them in `rcode`. */
  readonly extendedRcode?: number;
  readonly dnssecOk: boolean;
  readonly options: readonly EdnsOption[];
}

/** DO (RFC 3225 §3). */
export const DNSSEC_OK_FLAG = 0x8000;
/** Shared by all OPT records without options, so that the usual case allocates nothing. */
export const NO_OPTIONS: readonly EdnsOption[] = Object.freeze([]);

const NO_DATA = new Uint8Array(0);
const CLIENT_COOKIE_OCTETS = 8;
const MIN_FULL_COOKIE_OCTETS = 16;
const MAX_FULL_COOKIE_OCTETS = 40;

/** Appends an OPT record (RFC 6891 §6.1). The caller counts it in ARCOUNT. */
export function writeOpt(writer: MessageWriter, edns: Edns): void {
  writer.u8(0);
  writer.u16(RRTYPE.OPT);
  writer.u16(edns.payload);
  writer.u8(edns.extendedRcode ?? 0);
  writer.u8(edns.version);
  writer.u16(edns.dnssecOk ? DNSSEC_OK_FLAG : 0);
  const lengthAt = writer.length;
  writer.u16(0);
  for (const option of edns.options) {
    writer.u16(option.code);
    writer.u16(option.data.length);
    writer.bytes(option.data);
  }
  writer.patch16(lengthAt, writer.length - lengthAt - 2);
}

/** Copies the options in `[offset, end)` (RFC 6891 §6.1.2). Null when a length does not fit. */
export function readOptions(bytes: Uint8Array, offset: number, end: number): readonly EdnsOption[] | null {
  if (offset === end) return NO_OPTIONS;
  const options: EdnsOption[] = [];
  let at = offset;
  while (at < end) {
    const next = afterOption(bytes, at, end);
    if (next < 0) return null;
    const dataAt = at + OPTION_HEADER_OCTETS;
    const data = next === dataAt ? NO_DATA : copyOctets(bytes, dataAt, next);
    options.push({ code: u16At(bytes, at), data });
    at = next;
  }
  return options;
}

export function findOption(options: readonly EdnsOption[], code: number): EdnsOption | null {
  for (const option of options) if (option.code === code) return option;
  return null;
}

/** An extended error (RFC 8914 §2). `infoCode` is a member of `EDE`; the text may be empty. */
export function edeOption(infoCode: number, text: string): EdnsOption {
  const head = Uint8Array.of(infoCode >>> 8, infoCode);
  return { code: EDNS_OPTION.EDE, data: concatOctets([head, Buffer.from(text, 'utf8')]) };
}

/** Decodes an extended error. Null when it is too short (RFC 8914 §2). */
export function readEde(option: EdnsOption): { infoCode: number; text: string } | null {
  if (option.data.length < 2) return null;
  const text = Buffer.from(option.data.subarray(2)).toString('utf8');
  return { infoCode: u16At(option.data, 0), text };
}

/** Octets of padding that bring a message of `length` plus option header to a multiple of `block` (RFC 8467 §4.1). */
export function paddingLength(length: number, block: number): number {
  return (block - ((length + OPTION_HEADER_OCTETS) % block)) % block;
}

/** Whether a COOKIE option has a length that RFC 7873 §4 allows: 8, or 16 to 40. */
export function isCookieLength(octets: number): boolean {
  return (
    octets === CLIENT_COOKIE_OCTETS || (octets >= MIN_FULL_COOKIE_OCTETS && octets <= MAX_FULL_COOKIE_OCTETS)
  );
}
