/**
 * Deliveries per second to 100 TLS endpoints on this machine, one of which never answers, and the time from enqueueing
 * to arrival. It runs in its own network namespace, because no webhook reaches a private address.
 *
 *   node bench/webhooks.ts [EVENTS A SECOND] [SECONDS]
 */
import { TIERS } from '../src/base/limits.ts';
import { enterOwnNetwork } from '../test/support/own-network.ts';
import { cpuSeconds, requirePrograms } from '../test/support/process.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { createHook } from '../test/webhooks/hooks.ts';
import { ADDRESSES, startEndpoints } from './lib/endpoints.ts';
import { print, quantile, row } from './lib/figures.ts';

requirePrograms({ nginx: 'nginx-light' });
enterOwnNetwork(Object.values(ADDRESSES));

/** Customers, each with the tier's maximum of webhooks. */
const CUSTOMERS = 5;
const HOOKS = TIERS.team.webhooks;
const HEALTHY = CUSTOMERS * HOOKS - 1;
const NAMESPACE = 'hooks';
const perSecond = Number(process.argv[2] ?? 11);
const seconds = Number(process.argv[3] ?? 40);

const endpoints = await startEndpoints();
const server = await startUqrp({ ...endpoints.env, UQRP_WORKERS: '1' });
const customers = Array.from({ length: CUSTOMERS }, (_, c) =>
  account(server, `bench${c}@example.net`, 'team'),
);
for (const [c, customer] of customers.entries()) {
  await customer.call('POST', '/namespaces', { namespace: { name: `${NAMESPACE}-${c}` } });
  const urls = Array.from({ length: HOOKS }, (_, n) => endpoints.url(c * HOOKS + n));
  if (c === 0) urls[0] = endpoints.silentUrl;
  for (const url of urls) await createHook(customer, url, ['record.upserted']);
}

const events = perSecond * seconds;
const wanted = events * HEALTHY;
const before = cpuSeconds(server.pid);
const beganAt = performance.now();
for (let i = 0; i < events; i++) {
  const due = beganAt + (i * 1000) / perSecond;
  await pause(Math.max(0, due - performance.now()));
  const data = Buffer.alloc(100, 'x').toString('base64');
  const writes = customers.map((customer, c) =>
    customer.call('POST', '/records', { record: { key: `r${i}.${NAMESPACE}-${c}.v1`, data } }),
  );
  for (const { status } of await Promise.all(writes)) {
    if (status !== 201) throw new Error(`a write was answered ${status}`);
  }
}
const writtenAt = Date.now();
let arrivals = endpoints.arrivals();
while (arrivals.length < wanted && Date.now() - writtenAt < 60_000) {
  await pause(1000);
  arrivals = endpoints.arrivals();
}
const cpu = cpuSeconds(server.pid) - before;
const times = arrivals.map(({ id, at }) => at - enqueuedAt(id));
const at = arrivals.map((arrival) => arrival.at);
const span = (Math.max(...at) - Math.min(...at)) / 1000;
print(`${HEALTHY} endpoints that answer, one that does not; ${perSecond} events/s each for ${seconds} s`);
print(row(['arrived', String(arrivals.length), 'of', String(wanted)]));
print(row(['deliveries/s', arrivals.length / span]));
print(row(['enqueued to arrived, ms', 'p50', 'p99', 'most']));
print(row(['', quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)]));
print(row(['server CPU us/delivery', (cpu / arrivals.length) * 1e6]));
await server.remove();
await endpoints.close();

/** UUIDs of version 7 begin with their time in milliseconds since the epoch (RFC 9562 §5.7). */
function enqueuedAt(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
