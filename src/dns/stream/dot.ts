import { createServer } from 'node:tls';
import { readClientHelloFirst } from '../shared/client-hello.ts';
import {
  closeFailedHandshakes,
  handshakeLimits,
  type TlsListener,
  type TlsListenOptions,
  tlsOptions,
  tlsReloader,
} from '../shared/tls.ts';
import { WRITE_BUFFER_OCTETS } from './reply-buffer.ts';
import { type StreamOptions, serveStreams } from './stream-server.ts';

/** DNS over TLS (RFC 7858, RFC 8310). ALPN and SNI are optional; a peer that sends ALPN must offer `dot`. */
export async function listenDot(options: StreamOptions & TlsListenOptions): Promise<TlsListener> {
  const server = createServer({
    ...tlsOptions(options),
    ALPNProtocols: ['dot'],
    allowHalfOpen: true,
    highWaterMark: WRITE_BUFFER_OCTETS,
  });
  readClientHelloFirst(server);
  closeFailedHandshakes(server);
  const listener = await serveStreams(server, 'dot', options, handshakeLimits(options));
  return { ...listener, reloadTls: tlsReloader(server, options) };
}
