/** zstd, with a bound on every length before memory is taken for it. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type FeedRefusal, FeedRefusedError } from './refusal.ts';

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

/**
 * @param malformed the refusal of a text that is no JSON
 * @throws FeedRefusedError `decompress` or `malformed`, whatever the bytes are
 */
export function decompressJson(compressed: Uint8Array, plainLength: number, malformed: FeedRefusal): unknown {
  const plain = decompress(compressed, plainLength);
  try {
    return JSON.parse(plain.toString('utf8'));
  } catch {
    // The parser's message quotes the text.
    throw new FeedRefusedError(malformed);
  }
}
