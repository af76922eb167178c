/** In a network of its own: starts a server and, while it runs, others one after the other, where few ports are free. Prints the ports of each. */
import { writeFileSync } from 'node:fs';
import { enterOwnNetwork } from './own-network.ts';
import { startUqrp, type Uqrp } from './server-process.ts';

const LATER = 8;
/** A server has four; clients need some. */
const PORTS = '40000 40015';

enterOwnNetwork([]);
writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', PORTS);
const print = ({ ports }: Uqrp): boolean => process.stdout.write(`${JSON.stringify(ports)}\n`);
const first = await startUqrp({ UQRP_WORKERS: '2' });
print(first);
for (let i = 0; i < LATER; i++) {
  const later = await startUqrp({ UQRP_WORKERS: '1' });
  print(later);
  await later.remove();
}
await first.remove();
