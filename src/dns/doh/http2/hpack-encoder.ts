import type { Headers } from '../request.ts';
import { DEFAULT_TABLE_OCTETS, FRAME_OCTETS } from './frames.ts';
import { FIELD_OVERHEAD, STATIC_TABLE, staticIndexOf, staticIndexOfPair } from './hpack-field.ts';

/** First octet of a literal and the width of its index (RFC 7541 §6.2.1, §6.2.2). */
const LITERAL = { indexed: [0x40, 0x3f], plain: [0x00, 0x0f] } as const;
const INDEXED = 0x80;
const INDEXED_PREFIX = 0x7f;
const TEXT_PREFIX = 0x7f;
/** Size update to zero (RFC 7541 §6.3). */
const RESIZE_TO_NOTHING = 0x20;

const STATUS_INDEX = staticIndexOf(':status');
const LENGTH_INDEX = staticIndexOf('content-length');

/** The headers of all replies, in three encodings. */
export interface CommonHeaders {
  /** First reply: adds them to the peer's table. */
  readonly inserting: Buffer;
  /** Later replies: indexes of the peer's table. */
  readonly indexed: Buffer;
  /** For a peer without a table. */
  readonly plain: Buffer;
}

export function commonHeaders(headers: Headers): CommonHeaders {
  const entries = Object.entries(headers);
  const octets = entries.reduce((sum, [name, value]) => sum + name.length + value.length + FIELD_OVERHEAD, 0);
  if (octets > DEFAULT_TABLE_OCTETS) throw new RangeError('the common headers do not fit a table');
  const fields = (kind: keyof typeof LITERAL): Buffer =>
    Buffer.from(entries.flatMap(([name, value]) => literal(kind, name, value)));
  return {
    inserting: fields('indexed'),
    // The newest entry comes right after the static table (RFC 7541 §2.3.3).
    indexed: Buffer.from(
      entries.flatMap((_, i) => integer(INDEXED, INDEXED_PREFIX, STATIC_TABLE.length + entries.length - i)),
    ),
    plain: fields('plain'),
  };
}

/** Buffer of one header block, copied into its frame. */
const scratch = Buffer.allocUnsafeSlow(FRAME_OCTETS);
/** Encoded header objects that repeat. */
const blocks = new WeakMap<Headers, Buffer>();

/** Encodes reply headers. Uses only the common headers of the dynamic table, and none if the peer wants a smaller table. */
export class HpackEncoder {
  /** The last block is `octets[0..length)`, until the next call of any encoder. */
  readonly octets = scratch;
  readonly #common: CommonHeaders;
  #form: keyof CommonHeaders = 'inserting';
  #resize = false;

  constructor(common: CommonHeaders) {
    this.#common = common;
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. The next block confirms a smaller table (RFC 7541 §4.2). */
  limitTable(octets: number): void {
    if (octets >= DEFAULT_TABLE_OCTETS || this.#form === 'plain') return;
    this.#form = 'plain';
    this.#resize = true;
  }

  /** @param contentLength omitted if negative @returns the length @throws RangeError for headers beyond one frame */
  encode(status: number, headers: Headers, contentLength: number): number {
    let at = 0;
    if (this.#resize) scratch[at++] = RESIZE_TO_NOTHING;
    at = putStatus(at, status);
    const common = this.#common[this.#form];
    at += common.copy(scratch, at);
    const block = blockOf(headers);
    if (at + block.length + FIELD_OVERHEAD > FRAME_OCTETS) throw new RangeError('headers exceed a frame');
    at += block.copy(scratch, at);
    this.#resize = false;
    if (this.#form === 'inserting') this.#form = 'indexed';
    return contentLength < 0 ? at : putLength(at, contentLength);
  }
}

function putStatus(at: number, status: number): number {
  const known = STATUS_INDEXES.get(status);
  if (known !== undefined) {
    scratch[at] = INDEXED | known;
    return at + 1;
  }
  scratch[at] = STATUS_INDEX;
  return putDigits(at + 1, status);
}

const STATUS_INDEXES: ReadonlyMap<number, number> = new Map(
  [200, 204, 400, 404, 500].map((status) => [status, staticIndexOfPair(':status', String(status))]),
);

function putLength(at: number, length: number): number {
  // The index exceeds the four bits of its prefix (RFC 7541 §5.1).
  scratch[at] = 0x0f;
  scratch[at + 1] = LENGTH_INDEX - 0x0f;
  return putDigits(at + 2, length);
}

function putDigits(at: number, value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  scratch[at] = digits;
  for (let i = digits, rest = value; i > 0; i--, rest = Math.floor(rest / 10))
    scratch[at + i] = 0x30 + (rest % 10);
  return at + 1 + digits;
}

function blockOf(headers: Headers): Buffer {
  let block = blocks.get(headers);
  if (block === undefined) {
    block = Buffer.from(Object.entries(headers).flatMap(([name, value]) => literal('plain', name, value)));
    blocks.set(headers, block);
  }
  return block;
}

function literal(kind: keyof typeof LITERAL, name: string, value: string): number[] {
  const [pattern, prefix] = LITERAL[kind];
  const index = staticIndexOf(name);
  return [...integer(pattern, prefix, index), ...(index === 0 ? text(name) : []), ...text(value)];
}

function text(value: string): number[] {
  return [...integer(0, TEXT_PREFIX, value.length), ...Buffer.from(value, 'latin1')];
}

function integer(pattern: number, prefix: number, value: number): number[] {
  if (value < prefix) return [pattern | value];
  const octets = [pattern | prefix];
  let rest = value - prefix;
  for (; rest >= 0x80; rest >>= 7) octets.push((rest & 0x7f) | 0x80);
  return [...octets, rest];
}
