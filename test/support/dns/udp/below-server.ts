/** A server below the sockets with the least rights. It prints a line when it is attached; argument: the socket of the loader. */
import { listenUdpBatch, loadUdpAddon } from '../../../../src/dns/udp/batch-listener.ts';
import { echo, setting } from '../fakes.ts';

await listenUdpBatch(
  {
    ...setting('10.77.1.1'),
    handler: {
      hot(request, length, _transport, out) {
        out.set(echo(request.subarray(0, length)));
        return length;
      },
      slow: () => null,
      nameShare: () => 0,
      isSpent: () => false,
    },
    port: 5453,
    reusePort: true,
    below: {
      interfaces: ['xs'],
      queue: 0,
      mode: 'auto',
      loader: process.argv[2]!,
      onRequests() {},
      onChange: (change) => void process.stdout.write(`${JSON.stringify(change)}\n`),
    },
  },
  loadUdpAddon()!,
);
