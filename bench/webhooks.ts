/**
 * Deliveries a second to 100 TLS endpoints on this machine, one of which never answers, and how long one takes from the write to
 * its arrival. A whole server in a network of its own; see test/webhooks/README.md.
 *
 *   node bench/webhooks.ts [EVENTS A SECOND] [SECONDS]
 */

import { enterOwnNetwork } from '../test/support/own-network.ts';
import { cpuSeconds } from '../test/support/process.ts';
import { account } from '../test/support/server-process.ts';
import { createHook } from '../test/webhooks/hooks.ts';
import { ADDRESSES, openWorld } from '../test/webhooks/world.ts';
import { print, quantile, row } from './lib/figures.ts';

enterOwnNetwork(ADDRESSES);

const HEALTHY = 99;
const NAMESPACE = 'hooks';
const perSecond = Number(process.argv[2] ?? 11);
const seconds = Number(process.argv[3] ?? 40);

const world = await openWorld(HEALTHY);
const server = await world.start({ UQRP_WORKERS: '1' });
const customer = account(server);
await customer.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });
for (let n = 0; n < HEALTHY; n++) await createHook(customer, world.url('ok', n), ['record.upserted']);
await createHook(customer, world.url('hang', 0), ['record.upserted']);

await world.times();
const events = perSecond * seconds;
const before = cpuSeconds(server.pid);
const beganAt = performance.now();
for (let i = 0; i < events; i++) {
  const due = beganAt + (i * 1000) / perSecond;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  const record = { key: `r${i}.${NAMESPACE}.v1`, data: Buffer.alloc(100, 'x').toString('base64') };
  const { status } = await customer.call('POST', '/records', { record });
  if (status !== 201) throw new Error(`a write was answered ${status}`);
}
const wanted = events * HEALTHY;
const times: number[] = [];
const arrivedAt: number[] = [];
const lastAt = Date.now();
while (times.length < wanted && Date.now() - lastAt < 60_000) {
  const told = await world.times();
  for (let i = 0; i < told.length; i += 2) {
    arrivedAt.push(told[i]!);
    times.push(told[i + 1]!);
  }
  await new Promise((resolve) => setTimeout(resolve, 250));
}
const cpu = cpuSeconds(server.pid) - before;
const span = (Math.max(...arrivedAt) - Math.min(...arrivedAt)) / 1000;
print(`${HEALTHY} endpoints that answer, one that does not; ${perSecond} events/s for ${seconds} s`);
print(row(['arrived', `${times.length}`, 'of', `${wanted}`]));
print(row(['deliveries/s', times.length / span]));
print(row(['write to arrival, ms', 'p50', 'p99', 'most']));
print(row(['', quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)]));
print(row(['server CPU us/delivery', (cpu / times.length) * 1e6]));
await server.remove();
await world.close();
