import { createServer } from 'node:net';
import type { Listener } from '../shared/listener.ts';
import { WRITE_BUFFER_OCTETS } from './reply-buffer.ts';
import { type StreamOptions, serveStreams } from './stream-server.ts';

/** DNS over TCP (RFC 7766, RFC 9210): persistent, pipelined, bounded. */
export function listenTcp(options: StreamOptions): Promise<Listener> {
  const server = createServer({ allowHalfOpen: true, highWaterMark: WRITE_BUFFER_OCTETS });
  return serveStreams(server, 'tcp', options, null);
}
