/**
 * Time from a REST write to its answer. After the response to an update, the script queries the name over UDP until the
 * new value comes. It measures from the start of the request and from the response.
 *
 *   node bench/write-to-answer.ts [writes]
 *
 * With `nodes`: time until a client knows that its write is on all nodes, `GET /propagation?wait=30`, from the response to the write on. A control
 * process, `nats-server`, and two nodes, of which one is far from the broker: every octet takes so many milliseconds each way.
 *
 *   node bench/write-to-answer.ts nodes [writes] [milliseconds] [sqlite|postgres]
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { distantPort } from './lib/distant-port.ts';
import { print, quantile, row } from './lib/figures.ts';

/** Between two writes of a quiet feed: the second after a report is over. */
const QUIET_MS = 1_300;
/** Writes a second of another customer. */
const BUSY_RATE = 20;

const [first, ...rest] = process.argv.slice(2);
if (first === 'nodes')
  await writesToNodes(Number(rest[0] ?? 30), Number(rest[1] ?? 20), rest[2] === 'postgres');
else await writesToAnswers(Number(first ?? 1000));

function report(
  title: string,
  rows: Readonly<Record<string, readonly [times: number[], limit?: number]>>,
): void {
  print(`${title}, milliseconds`);
  print(row(['', 'p50', 'p99', 'most', 'p99 limit']));
  for (const [name, [all, limit]] of Object.entries(rows))
    print(row([name, quantile(all, 0.5), quantile(all, 0.99), Math.max(...all), limit ?? '']));
}

async function writesToAnswers(writes: number): Promise<void> {
  const server = await startUqrp();
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
  server.cli(['namespace', 'public-read', 'bench', 'on']);
  const socket = createSocket('udp4');
  socket.connect(server.ports.dns, '127.0.0.1');
  await once(socket, 'connect');
  const ask = async (id: number): Promise<string> => {
    const qname = nameFromText('get.value.bench.v1.uqrp.net')!;
    const query = encodeQuery(qname, 16, { id: id & 0xffff, rd: false, edns: null });
    const reply = once(socket, 'message') as Promise<[Buffer]>;
    socket.send(query);
    return (await reply)[0].toString('latin1');
  };

  try {
    const { body } = await customer.call('POST', '/records', {
      record: { key: 'value.bench.v1', data: 'AAAA', content_type: 'text/plain' },
    });
    const { id } = body as { id: string };
    const fromRequest: number[] = [];
    const fromResponse: number[] = [];
    for (let i = 0; i < writes; i++) {
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
    report(`${writes} writes`, {
      'request to answer': [fromRequest, 20],
      'response to answer': [fromResponse],
    });
  } finally {
    socket.close();
    await server.remove();
  }
}

async function writesToNodes(writes: number, distanceMs: number, isPostgres: boolean): Promise<void> {
  // Support of tests that says at the end how many ran.
  const { startManyNodes } = await import('../test/support/feed/many-nodes.ts');
  const { postgresDatabase } = await import('../test/support/store/postgres.ts');
  const database = isPostgres ? await postgresDatabase() : null;
  const store =
    database === null
      ? {}
      : { UQRP_DATABASE_URL: database.url, UQRP_SECRET: 'a secret of more than 32 characters' };
  const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
  const far = await distantPort(Number(world.broker.address.split(':').at(-1)), distanceMs);

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
      for (let n = 0; n < writes; n++) {
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
    report(`${writes} writes, a node at ${distanceMs} ms, response to known on all nodes`, {
      'quiet feed': [quiet, 500],
      [`${BUSY_RATE} other writes a second`]: [underWrites, 1200],
    });
  } finally {
    await world.close();
    far.close();
    await database?.drop();
  }
}
