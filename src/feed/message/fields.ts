/** Octets of messages: fields, and what is compressed. No length is believed before it was compared with its bound. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { FeedRefusedError } from '../ports/refusal.ts';

/** Fields of fixed length, big-endian, with a position. The reader never reads past the end. */

const U64_OCTETS = 8;

export interface FieldReader {
  /** Octets that are left. */
  left(): number;
  u8(): number;
  u16(): number;
  u32(): number;
  /** At most 2^53 - 1. */
  u64(): number;
  /** A view of the message, not a copy. */
  bytes(length: number): Uint8Array;
  /** One character for each octet. */
  latin1(length: number): string;
  /** A length of one octet, then that many printable ASCII characters, at least one. */
  name(): string;
}

/** @throws FeedRefusedError from each function: `size` past the end, `format` for a value out of bounds */
export function fieldReader(message: Uint8Array): FieldReader {
  const view = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  let at = 0;
  function next(length: number): number {
    if (at + length > view.length) throw new FeedRefusedError('size');
    at += length;
    return at - length;
  }
  const latin1 = (length: number): string => {
    const from = next(length);
    return view.toString('latin1', from, from + length);
  };
  return {
    left: () => view.length - at,
    u8: () => view.readUInt8(next(1)),
    u16: () => view.readUInt16BE(next(2)),
    u32: () => view.readUInt32BE(next(4)),
    u64() {
      const value = view.readBigUInt64BE(next(U64_OCTETS));
      if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new FeedRefusedError('format');
      return Number(value);
    },
    bytes(length) {
      const from = next(length);
      return view.subarray(from, from + length);
    },
    latin1,
    name() {
      const text = latin1(view.readUInt8(next(1)));
      if (!NAME.test(text)) throw new FeedRefusedError('format');
      return text;
    },
  };
}

const NAME = /^[\x21-\x7e]{1,64}$/;

export const field = {
  u8: (value: number): Buffer => Buffer.of(value),
  u16(value: number): Buffer {
    const out = Buffer.alloc(2);
    out.writeUInt16BE(value);
    return out;
  },
  u32(value: number): Buffer {
    const out = Buffer.alloc(4);
    out.writeUInt32BE(value);
    return out;
  },
  u64(value: number): Buffer {
    const out = Buffer.alloc(U64_OCTETS);
    out.writeBigUInt64BE(BigInt(value));
    return out;
  },
  /** @throws RangeError unless 1 to 64 printable ASCII characters */
  name(text: string): Buffer {
    if (!NAME.test(text)) throw new RangeError('a name in the feed has 1 to 64 printable ASCII characters');
    return Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
  },
};

/** zstd, with a bound on every length before memory is taken for it. */

/** 1 MB. Without this bound a frame may demand a window of 128 MB of the reader. */
const WINDOW_LOG = 20;
const COMPRESS = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: WINDOW_LOG },
};
const DECOMPRESS = { params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG } };

export function compress(plain: Uint8Array): Uint8Array {
  return zstdCompressSync(plain, COMPRESS);
}

/**
 * @param plainLength that the header states: at most this much memory is taken
 * @throws FeedRefusedError `decompress`, whatever the bytes are
 */
export function decompress(compressed: Uint8Array, plainLength: number): Buffer {
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(compressed, { ...DECOMPRESS, maxOutputLength: plainLength });
  } catch {
    throw new FeedRefusedError('decompress');
  }
  if (plain.length !== plainLength) throw new FeedRefusedError('decompress');
  return plain;
}
