import type { Readable } from 'node:stream';
import type { BodyFault, BodyTaker } from './exchange.ts';

/** Reads a body of HTTP/1.1, up to a limit and a deadline. `taker` is called once; after a fault the rest stays unread. */
export function readBody(
  stream: Readable,
  { octets: limit, ms }: { readonly octets: number; readonly ms: number },
  take: BodyTaker,
): void {
  const chunks: Buffer[] = [];
  let octets = 0;
  let settled = false;
  const settle = (result: Uint8Array | BodyFault): void => {
    if (settled) return;
    settled = true;
    clearTimeout(deadline);
    stream.off('data', onData);
    take(result);
  };
  const onData = (chunk: Buffer): void => {
    octets += chunk.length;
    chunks.push(chunk);
    if (octets <= limit) return;
    stream.pause();
    settle('too-large');
  };
  const deadline = setTimeout(() => settle('too-slow'), ms);
  stream.on('data', onData);
  stream.once('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, octets)));
  stream.once('close', () => settle('gone'));
}
