import type { Server, Socket } from 'node:net';

/**
 * Octets handed to TLS at once. Node reads encrypted octets into a buffer that it keeps for as long as the connection lives: of 64 KiB
 * when the kernel's octets come first, of 1 KiB when it is handed less than that. A read that fills it adds one of 16 KiB.
 */
const PIECE_OCTETS = 1000;

/**
 * Gives a connection to TLS with the first octets of its ClientHello, in small pieces: an idle connection takes 12 KiB less
 * (docs/adr/0054-small-read-buffers-of-tls.md). A connection that sends nothing has no TLS state.
 *
 * @param server made by `tls.createServer`, before other listeners of 'connection' are added
 */
export function readClientHelloFirst(server: Server): void {
  const [startTls] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (startTls === undefined) throw new TypeError('the server has no listener that starts TLS');
  server.off('connection', startTls);
  server.on('connection', (socket: Socket) => {
    const destroy = (): void => void socket.destroy();
    // 'close' follows. Without this listener a reset by the peer would end the process.
    socket.on('error', destroy);
    // At the peer's FIN it is emitted too, with nothing to read.
    socket.once('readable', () => {
      if (socket.destroyed || socket.readableLength === 0) return destroy();
      readInPieces(socket);
      startTls.call(server, socket);
      // TLS has its own listener now, which reports the error.
      socket.off('error', destroy);
    });
  });
}

/** TLS calls `read` until it returns null, then reads the handle itself. */
function readInPieces(socket: Socket): void {
  const read = Reflect.get(socket, 'read') as (this: Socket, octets?: number) => Buffer | null;
  socket.read = function readPiece(octets = Math.min(PIECE_OCTETS, socket.readableLength)) {
    // A destroyed TLS socket has no handle that could take another piece.
    const piece = socket.destroyed ? null : read.call(socket, octets);
    // Not `delete`: an object with a deleted property takes 1.5 KB more. Not at null: `read(0)` may come before TLS reads.
    if (socket.destroyed || socket.readableLength === 0) socket.read = read;
    return piece;
  };
}
