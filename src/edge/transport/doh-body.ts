import type { Readable } from 'node:stream';
import { BODY_TOO_LARGE, type DohError } from './doh-route.ts';

const TOO_SLOW: DohError = { kind: 'error', status: 408, error: 'Request timeout' };

/**
 * A request body, whole. It is not read past its limit, nor waited for past its deadline however steadily it drips.
 *
 * @returns the octets, an error to answer with (the rest of the body is then still unread), or null: the peer is gone
 */
export function readBody(
  stream: Readable,
  limitOctets: number,
  deadlineMs: number,
): Promise<Uint8Array | DohError | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let octets = 0;
    const settle = (result: Uint8Array | DohError | null): void => {
      clearTimeout(deadline);
      stream.off('data', onData);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      octets += chunk.length;
      chunks.push(chunk);
      if (octets <= limitOctets) return;
      stream.pause();
      settle(BODY_TOO_LARGE);
    };
    const deadline = setTimeout(() => settle(TOO_SLOW), deadlineMs);
    stream.on('data', onData);
    stream.once('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, octets)));
    stream.once('close', () => settle(null));
  });
}
