/**
 * Flags over HTTP: CPU of an evaluation alone and of 100 together, from memory; memory and CPU of 1,000 quiet streams; time from the answer to a
 * write until the provider for pages has the new value, 50 ms of which are its own.
 *
 *   node bench/flags.ts [requests] [writes]
 */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { EventSource } from 'eventsource';
import { preferThisProcess, residentMegabytes } from '../test/support/process.ts';
import { account, startUqrp, type Uqrp, writeRecords } from '../test/support/server-process.ts';
import { cpuOf } from './lib/cpu.ts';
import { print, quantile, row } from './lib/figures.ts';

const [requests = 20_000, writes = 100] = process.argv.slice(2).map(Number);
const FLAGS = 100;
const STREAMS = 1_000;
/** Of an address and of a namespace: their limits. */
const OF_ADDRESS = 32;
const OF_NAMESPACE = 500;
const QUIET_S = 10;
/** Milliseconds between two writes: events of a namespace come once a second. */
const PACE_MS = 1_100;

interface Namespace {
  readonly name: string;
  readonly token: string;
}

const data = (document: unknown): string => Buffer.from(JSON.stringify(document)).toString('base64');
const FLAG = {
  version: 1,
  variants: { on: true, off: false },
  defaultVariant: 'off',
  targeting: [{ when: [{ attribute: 'country', op: 'in', value: ['de', 'at'] }], variant: 'on' }],
  rollout: { on: 25 },
};

async function load(server: Uqrp, token: string, path: string, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const context = { targetingKey: `user-${left}`, country: 'fr', plan: 'pro' };
      const sent = request({ port: server.ports.http, path, method: 'POST', agent, headers });
      sent.end(JSON.stringify({ context }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      if (response.statusCode !== 200) throw new Error(`evaluation: ${response.statusCode}`);
      response.resume();
      await once(response, 'end');
    }
  };
  const before = cpuOf(server);
  await Promise.all(Array.from({ length: 16 }, client));
  agent.destroy();
  return ((cpuOf(server) - before) / count) * 1e6;
}

async function quietStreams(server: Uqrp, namespaces: readonly Namespace[]): Promise<void> {
  const cores = async (): Promise<number> => {
    const before = cpuOf(server);
    await sleep(QUIET_S * 1000);
    return (cpuOf(server) - before) / QUIET_S;
  };
  const [memory, idle] = [residentMegabytes(server.pid).anon, await cores()];
  const open: { destroy(): void }[] = [];
  for (let i = 0; i < STREAMS; i++) {
    const { token } = namespaces[Math.floor(i / OF_NAMESPACE)]!;
    const sent = get({
      host: '127.0.0.1',
      localAddress: `127.0.1.${1 + Math.floor(i / OF_ADDRESS)}`,
      port: server.ports.http,
      path: '/ofrep/v1/events',
      headers: { authorization: `Bearer ${token}` },
      agent: false,
    });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`stream ${i}: ${response.statusCode}`);
    response.resume().on('error', () => {});
    open.push(sent);
  }
  const busy = await cores();
  const grown = residentMegabytes(server.pid).anon - memory;
  print(`${STREAMS} quiet streams: ${grown.toFixed(1)} MB more (limit 60)`);
  print(`CPU ${(busy * 100).toFixed(2)} % of a core, without them ${(idle * 100).toFixed(2)} %`);
  for (const one of open) one.destroy();
}

async function changes(server: Uqrp, token: string, write: (value: number) => Promise<void>): Promise<void> {
  Object.assign(globalThis, { EventSource });
  const provider = new OFREPWebProvider({
    baseUrl: `http://127.0.0.1:${server.ports.http}`,
    headers: [['Authorization', `Bearer ${token}`]],
    cacheMode: 'disabled',
  });
  await provider.initialize({ targetingKey: 'user' });
  const seen = (): unknown => (provider.flagCache.live as { readonly value?: unknown } | undefined)?.value;
  await sleep(500);
  const times: number[] = [];
  for (let i = 0; i < writes; i++) {
    await write(i);
    const written = performance.now();
    while (seen() !== i) await sleep(1);
    times.push(performance.now() - written);
    await sleep(PACE_MS);
  }
  await provider.onClose?.();
  print(row(['milliseconds', 'p50', 'p99', 'most', 'limit of p99']));
  print(row(['write to provider', quantile(times, 0.5), quantile(times, 0.99), Math.max(...times), '300']));
}

preferThisProcess();
const server = await startUqrp({ UQRP_WORKERS: '1' });
try {
  const owner = account(server);
  const namespaces: Namespace[] = [];
  for (const name of ['bench-one', 'bench-two']) {
    const made = (await owner.call('POST', '/namespaces', { namespace: { name } })).body as { id: string };
    const minted = await owner.call('POST', `/namespaces/${made.id}/query_tokens`, { name: 'web' });
    namespaces.push({ name, token: (minted.body as { token: string }).token });
  }
  const [{ name, token }] = namespaces as [Namespace];
  const put = (key: string, document: unknown): Promise<void> =>
    writeRecords(owner, [{ key: `${key}.flags.${name}.v1`, data: data(document) }]);
  for (let i = 0; i < FLAGS; i++) await put(`flag-${i}`, FLAG);
  const at = '/ofrep/v1/evaluate/flags';
  for (const [what, path, count, limit] of [
    ['one flag', `${at}/flag-1`, requests, 60],
    [`${FLAGS} flags`, at, requests / 4, 300],
  ] as const) {
    await load(server, token, path, count / 4);
    const cpu = await load(server, token, path, count);
    print(`${what}: ${cpu.toFixed(1)} us of CPU (limit ${limit})`);
  }
  await quietStreams(server, namespaces);
  await changes(server, token, (value) =>
    put('live', { version: 1, variants: { v: value }, defaultVariant: 'v' }),
  );
} finally {
  await server.remove();
}
