/**
 * REST writes on the embedded store: single records over 16 connections, and bulk requests of 500. Every acknowledged
 * write is synced to disk. The load generator and the server share two cores.
 */
import autocannon from 'autocannon';
import { cpuSeconds } from '../test/support/process.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { median, print, row } from './lib/figures.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = Number(process.argv[3] ?? 5);
const CONNECTIONS = 16;
const BULKS = Number(process.argv[4] ?? 40);
const BULK_SIZE = 500;

const server = await startUqrp({ UQRP_WORKERS: '1' });
const customer = account(server);
await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
const data = Buffer.alloc(100, 'x').toString('base64');
let made = 0;

try {
  const singles: number[] = [];
  const bulks: number[] = [];
  const micros: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuSeconds(server.pid);
    const { written, seconds } = await single();
    micros.push(((cpuSeconds(server.pid) - before) / written) * 1e6);
    singles.push(written / seconds);
    bulks.push(await bulk());
  }
  print(`${ROUNDS} rounds; records of 100 bytes`);
  print(row(['', 'median', 'least', 'most', 'limit']));
  print(row(['single writes/s', median(singles), Math.min(...singles), Math.max(...singles), '1500']));
  print(row(['server CPU us/write', median(micros), Math.min(...micros), Math.max(...micros), '']));
  print(row(['bulk records/s', median(bulks), Math.min(...bulks), Math.max(...bulks), '10000']));
} finally {
  await server.remove();
}

async function single(): Promise<{ written: number; seconds: number }> {
  const result = await autocannon({
    url: `${customer.base}/records`,
    connections: CONNECTIONS,
    duration: SECONDS,
    method: 'POST',
    headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
    setupClient(client) {
      const next = (): void =>
        client.setBody(JSON.stringify({ record: { key: `s${made++}.bench.v1`, data } }));
      next();
      client.on('response', next);
    },
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} writes were refused`);
  return { written: result['2xx'], seconds: result.duration };
}

async function bulk(): Promise<number> {
  const startedAt = performance.now();
  for (let i = 0; i < BULKS; i++) {
    const records = Array.from({ length: BULK_SIZE }, () => ({ key: `b${made++}.bench.v1`, data }));
    const { status } = await customer.call('POST', '/records/bulk', { records });
    if (status !== 200 && status !== 201) throw new Error(`bulk write: ${status}`);
  }
  return (BULKS * BULK_SIZE) / ((performance.now() - startedAt) / 1000);
}
