/**
 * Time until a client knows that its write is on all nodes: `GET /propagation?wait=30`, from the response to the write on. A control process,
 * `nats-server`, and two nodes, of which one is far from the broker: every octet takes so many milliseconds each way.
 *
 * `node bench/write-to-nodes.ts [writes] [milliseconds] [sqlite|postgres]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startManyNodes } from '../test/support/feed/many-nodes.ts';
import { account } from '../test/support/server-process.ts';
import { postgresDatabase } from '../test/support/store/postgres.ts';
import { distantPort } from './lib/distant-port.ts';
import { print, quantile, row } from './lib/figures.ts';

const WRITES = Number(process.argv[2] ?? 30);
const DISTANCE_MS = Number(process.argv[3] ?? 20);
/** Between two writes of a quiet feed: the second after a report is over. */
const QUIET_MS = 1_300;
/** Writes a second of another customer. */
const BUSY_RATE = 20;

const database = process.argv[4] === 'postgres' ? await postgresDatabase() : null;
const store =
  database === null
    ? {}
    : { UQRP_DATABASE_URL: database.url, UQRP_SECRET: 'a secret of more than 32 characters' };
const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
const far = await distantPort(Number(world.broker.address.split(':').at(-1)), DISTANCE_MS);

try {
  const control = await world.start({ ...world.controlEnv, ...store });
  await world.start(await world.nodeEnv('near'));
  await world.start({ ...(await world.nodeEnv('far')), UQRP_FEED_URL: `nats://127.0.0.1:${far.port}` });
  const api = `http://127.0.0.1:${control.ports.http}/api/v1`;
  const [own, other] = [account(control, 'own@example.net'), account(control, 'other@example.net')];
  for (const [customer, name] of [
    [own, 'bench'],
    [other, 'busy'],
  ] as const) {
    await customer.call('POST', '/namespaces', { namespace: { name } });
  }
  const put = async (token: string, key: string, n: number): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ records: [{ key, data: btoa(`value ${n}`) }] });
    const answer = await fetch(`${api}/records/bulk`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`write: ${answer.status}`);
    return answer.headers.get('x-service-seq')!;
  };
  const measure = async (pauseMs: () => number): Promise<number[]> => {
    const times: number[] = [];
    for (let n = 0; n < WRITES; n++) {
      const seq = await put(own.token, 'value.bench.v1', n);
      const began = performance.now();
      const headers = { authorization: `Bearer ${own.token}` };
      const answer = await fetch(`${api}/propagation?seq=${seq}&wait=30`, { headers });
      const told = (await answer.json()) as { applied: boolean; nodes: readonly unknown[] };
      times.push(performance.now() - began);
      if (!told.applied || told.nodes.length !== 2) throw new Error(JSON.stringify(told));
      await sleep(pauseMs());
    }
    return times;
  };
  await sleep(6_000);
  const quiet = await measure(() => QUIET_MS);
  let isBusy = true;
  const busy = (async () => {
    for (let n = 0; isBusy; n++) {
      await put(other.token, `k${n % 100}.busy.v1`, n);
      await sleep(1000 / BUSY_RATE);
    }
  })();
  const underWrites = await measure(() => Math.random() * 1_000);
  isBusy = false;
  await busy;
  print(`${WRITES} writes, a node at ${DISTANCE_MS} ms, response to known on all nodes, milliseconds`);
  print(row(['', 'p50', 'p99', 'most', 'limit']));
  for (const [name, all, limit] of [
    ['quiet feed', quiet, '500'],
    [`${BUSY_RATE} other writes a second`, underWrites, '1200'],
  ] as const) {
    print(row([name, quantile(all, 0.5), quantile(all, 0.99), Math.max(...all), limit]));
  }
} finally {
  await world.close();
  far.close();
  await database?.drop();
}
