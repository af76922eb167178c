/**
 * Time from a REST write to its answer. After the response to an update, the script queries the name over UDP until the
 * new value comes. It measures from the start of the request and from the response.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { print, quantile, row } from './lib/figures.ts';

const WRITES = Number(process.argv[2] ?? 1000);
const server = await startUqrp();
const customer = account(server);
await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
server.cli(['namespace', 'public-read', 'bench', 'on']);
const socket = createSocket('udp4');
socket.connect(server.ports.dns, '127.0.0.1');
await once(socket, 'connect');

try {
  const { body } = await customer.call('POST', '/records', {
    record: { key: 'value.bench.v1', data: 'AAAA', content_type: 'text/plain' },
  });
  const { id } = body as { id: string };
  const fromRequest: number[] = [];
  const fromResponse: number[] = [];
  for (let i = 0; i < WRITES; i++) {
    const data = Buffer.from(`value ${String(i).padStart(8, '0')}`).toString('base64');
    const asked = performance.now();
    const { status } = await customer.call('PATCH', `/records/${id}`, { record: { data } });
    if (status !== 200) throw new Error(`write: ${status}`);
    const acknowledged = performance.now();
    while (!(await ask(i)).includes(data)) {}
    const answered = performance.now();
    fromRequest.push(answered - asked);
    fromResponse.push(answered - acknowledged);
  }
  print(`${WRITES} writes, milliseconds`);
  print(row(['', 'p50', 'p99', 'most']));
  for (const [name, all] of [
    ['request to answer', fromRequest],
    ['response to answer', fromResponse],
  ] as const) {
    print(row([name, quantile(all, 0.5), quantile(all, 0.99), Math.max(...all)]));
  }
  print(row(['limit', '5.00', '20.00', '']));
} finally {
  socket.close();
  await server.remove();
}

async function ask(id: number): Promise<string> {
  const qname = nameFromText('get.value.bench.v1.uqrp.net')!;
  const query = encodeQuery(qname, 16, { id: id & 0xffff, rd: false, edns: null });
  const reply = once(socket, 'message') as Promise<[Buffer]>;
  socket.send(query);
  return (await reply)[0].toString('latin1');
}
