/**
 * `tls.createServer` with the TLS settings of our listeners and one listener a socket, which sends back what it reads: the memory that
 * Node and OpenSSL take for a connection. Prints its port. `bare-tls-server.ts CERT KEY`.
 */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { closeFailedHandshakes, tlsOptions } from '../../src/dns/shared/tls.ts';

const [cert, key] = process.argv.slice(2) as [string, string];
const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
const server = createServer({ ...tlsOptions({ tls }), ALPNProtocols: ['dot'] });
closeFailedHandshakes(server);
server.on('secureConnection', (socket: TLSSocket) => {
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => socket.write(chunk));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
