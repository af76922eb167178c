/**
 * PostgreSQL fails over to a standby that lacks the last commits, under two control processes and two nodes that had them. The loss is told,
 * nodes and customers come to what the new primary has, and nothing that was lost is taken for what is written in its place.
 * Usage: node test/ci/failover.ts [lost writes]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../support/command.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { createUdpAsker, type UdpAnswer } from '../support/feed/udp-asker.ts';
import { startClusterOn } from '../support/nodes/cluster.ts';
import { untilAll, waitFor } from '../support/nodes/measure.ts';
import { enterOwnNetwork } from '../support/own-network.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { startPostgresPair } from '../support/store/postgres-process.ts';

const missing = natsMissing() ?? postgresMissing();
if (missing !== null) {
  process.stdout.write(`skipped: ${missing}\n`);
  process.exit(0);
}
enterOwnNetwork([]);
process.once('SIGTERM', () => process.exit(1));

/** Of each kind: records made, changed and deleted. */
const EACH = Math.max(1, Math.ceil(Number(process.argv[2] ?? 21) / 3));
const STANDBY_MS = 1_000;
/** From the promotion until every node answers as REST does. */
const AGREE_MS = 30_000;

const began = performance.now();
const faults: string[] = [];
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const numbered = (name: string): string[] => Array.from({ length: EACH }, (_, i) => `${name}-${i}.acme.v1`);
function check(isRight: boolean, what: string): void {
  if (!isRight) faults.push(what);
}

interface Row {
  readonly id: string;
  readonly key: string;
  readonly data: string;
}

interface Delivery {
  readonly id: string;
  readonly seq: number;
  readonly body: string;
}

const databases = await startPostgresPair();
const logs = new Map<string, string>();
const cluster = await startClusterOn({
  database: databases,
  edges: ['ams1', 'fra1'],
  onLog: (name, text) => logs.set(name, (logs.get(name) ?? '') + text),
});
const askers = cluster.edges.map(({ dnsPort }) => createUdpAsker(dnsPort));
const [customer, atSecond] = cluster.customers as [
  (typeof cluster.customers)[0],
  (typeof cluster.customers)[0],
];
try {
  await run();
} finally {
  for (const asker of askers) asker.close();
  await cluster.remove();
}
say(`${seconds(began)} s in all`);
for (const fault of faults) say(`FAULT ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

async function expect<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await customer.call(method, path, body);
  if (answer.status !== status)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as T;
}

async function write(keys: readonly string[], text: (key: string) => string): Promise<void> {
  const records = keys.map((key) => ({ key, data: base64(text(key)) }));
  // One by one: each is a commit and a change of its own.
  for (const record of records) await expect(200, 'POST', '/records/bulk', { records: [record] });
}

async function listed(): Promise<ReadonlyMap<string, Row>> {
  const rows = await expect<Row[]>(200, 'GET', '/records?namespace=acme&limit=500');
  return new Map(rows.map((row) => [row.key, row]));
}

/** With the status line and headers, which `call` does not give. */
function post(path: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  return fetch(customer.base + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function deliveries(server: typeof databases.primary): Promise<Delivery[]> {
  const found = await server.query('select id, seq, body from webhook_deliveries where body is not null');
  return (found as { id: string; seq: string; body: Buffer }[]).map(({ id, seq, body }) => ({
    id,
    seq: Number(seq),
    body: body.toString(),
  }));
}

async function run(): Promise<void> {
  const acme = await expect<{ id: string }>(201, 'POST', '/namespaces', { namespace: { name: 'acme' } });
  const hush = await expect<{ id: string }>(201, 'POST', '/namespaces', { namespace: { name: 'hush' } });
  const open = await runCli(['namespace', 'public-read', 'acme', 'on'], {
    UQRP_DATABASE_URL: databases.url,
    UQRP_SECRET: 'a secret of more than 32 characters',
    UQRP_DATA_DIR: cluster.controls[0]!.dataDir,
  });
  if (open.code !== 0) throw new Error(open.errors);
  // Nobody answers there: its deliveries stay in the database, where their numbers can be compared.
  const webhook = {
    name: 'hook',
    url: 'https://hooks.example.net/',
    events: ['record.upserted', 'record.deleted'],
  };
  await expect(201, 'POST', '/webhooks', { webhook });
  const kept = [...numbered('changed'), ...numbered('deleted')];
  await write(kept, () => 'before');
  await write(['secret.hush.v1'], () => 'hush');
  const tokens = `/namespaces/${hush.id}/query_tokens`;
  const token = await expect<{ id: string; token: string }>(201, 'POST', tokens, { name: 'one' });
  const secret = `get.auth-${token.token}.secret.hush.v1`;
  const isBefore = ({ payload }: UdpAnswer): boolean => payload === 'before';
  for (const key of kept) await untilAll(askers, `get.${key}`, isBefore);
  await untilAll(askers, secret, ({ payload }) => payload === 'hush');
  const { next: early } = await expect<{ next: string }>(200, 'GET', '/changes');
  say(`${seconds(began)} s until the cluster runs`);

  // What the standby never gets.
  await databases.cut();
  const rows = await listed();
  await write([...numbered('made'), ...numbered('changed')], () => 'lost');
  for (const key of numbered('deleted')) await expect(204, 'DELETE', `/records/${rows.get(key)!.id}`);
  await expect(204, 'DELETE', `${tokens}/${token.id}`);
  const once = { key: 'once.acme.v1', data: base64('once') };
  const first = await post('/records', { record: once }, { 'idempotency-key': 'k1' });
  check(first.status === 201, `the request with an idempotency key: ${first.status}`);
  const LOST = 3 * EACH + 2;
  for (const key of [...numbered('made'), ...numbered('changed')])
    await untilAll(askers, `get.${key}`, ({ payload }) => payload === 'lost');
  for (const key of numbered('deleted'))
    await untilAll(askers, `get.${key}`, ({ payload }) => payload === null);
  await untilAll(askers, secret, ({ rcode }) => rcode === 'REFUSED');
  await untilAll(askers, 'get.once.acme.v1', ({ payload }) => payload === 'once');
  const { next: late } = await expect<{ next: string }>(200, 'GET', '/changes');
  const { primary, standby } = databases;
  const told = (): Promise<Delivery[]> => deliveries(primary);
  // The token has no event.
  await waitFor('the fan-out', async () => (await told()).length >= kept.length + 1 + LOST - 1);
  const events = await told();

  // They must not see that the log is shorter: what they have then looks like a part of it.
  for (const edge of cluster.edges) edge.hold(true);
  await primary.kill();
  const dead = performance.now();
  await databases.promote(STANDBY_MS);
  const promoted = performance.now();
  // In one commit, and more than were lost: they get the sequence numbers of the lost ones, and go past them.
  const fresh = [
    ...numbered('new'),
    ...numbered('newer'),
    ...numbered('newest'),
    ...numbered('newest-of-all'),
  ];
  const records = fresh.map((key) => ({ key, data: base64('new') }));
  await waitFor('a write after the promotion', async () => {
    await expect(200, 'POST', '/records/bulk', { records });
    return true;
  });
  for (const edge of cluster.edges) edge.hold(false);
  say(`${seconds(promoted)} s from the promotion until REST took a write`);

  // Every key that ever was, at every node, as REST says.
  const keys = [...numbered('made'), ...kept, ...fresh, 'once.acme.v1'];
  const truth = await listed();
  check(
    numbered('made').every((key) => !truth.has(key)),
    'a lost record is there: the standby had it',
  );
  const isAgreed = async (): Promise<string | null> => {
    for (const key of keys) {
      const data = truth.get(key)?.data ?? null;
      for (const [i, asker] of askers.entries()) {
        // A busy machine may lose a question, or answer it late.
        let answer = await asker.ask(`get.${key}`);
        for (let tries = 1; answer === null && tries < 5; tries++) answer = await asker.ask(`get.${key}`);
        const payload = answer?.payload ?? null;
        if (answer === null || (payload === null ? null : base64(payload)) !== data)
          return `${cluster.edges[i]!.name} answers ${payload} for ${key}`;
      }
    }
    return null;
  };
  let differs: string | null = '';
  while (differs !== null && performance.now() - promoted < AGREE_MS) {
    differs = await isAgreed();
    await sleep(50);
  }
  say(
    `${seconds(promoted)} s from the promotion until both nodes answered as REST does, ${seconds(dead)} s from the loss`,
  );
  check(differs === null, `${seconds(promoted)} s after the promotion ${differs}`);
  await sleep(2_000);
  check((await isAgreed()) === null, 'the nodes do not stay with what REST says');
  // The revocation is lost too: nodes and REST agree, and the operator was told.
  const [listedToken] = await expect<{ revoked_at: string | null }[]>(200, 'GET', tokens);
  check(listedToken?.revoked_at === null, 'the revocation is not lost');
  await untilAll(askers, secret, ({ payload }) => payload === 'hush');

  for (const [who, at] of [
    ['lost', late],
    ['early', early],
  ] as const)
    for (const as of [customer, atSecond]) {
      const { status } = await as.call('GET', `/changes?since=${at}`);
      check(status === 410, `${who} cursor: ${status}, not 410`);
    }
  const again = await post('/records', { record: once }, { 'idempotency-key': 'k1' });
  check(again.status === 201, `the repeated request: ${again.status}`);
  await untilAll(askers, 'get.once.acme.v1', ({ payload }) => payload === 'once');

  await waitFor('the fan-out', async () =>
    (await deliveries(standby)).some(({ body }) => body.includes('once.acme.v1')),
  );
  const now = await deliveries(standby);
  const byId = new Map(events.map((event) => [event.id, event.body]));
  const bySeq = new Map(events.map((event) => [event.seq, event.body]));
  const reused = now.filter(
    ({ id, seq, body }) => (byId.get(id) ?? body) !== body || (bySeq.get(seq) ?? body) !== body,
  );
  check(reused.length === 0, `${reused.length} numbers of events were given to other events`);
  const highest = Math.max(...events.map(({ seq }) => seq));
  const fresher = now.filter(({ body }) => body.includes('"key":"new'));
  check(fresher.length === fresh.length, `${fresher.length} of ${fresh.length} new events are told`);
  check(
    fresher.every(({ seq }) => seq > highest),
    'a receiver ignores new events: their numbers are not higher',
  );

  await tells(LOST, acme.id);
}

/** The log of both control processes, the metric, readiness and the commands. */
async function tells(lost: number, namespace: string): Promise<void> {
  const event = /"event":"store.new_epoch".*?"seq":(?<seq>\d+),"lost":(?<lost>\d+)/;
  for (const { name, httpPort } of cluster.controls) {
    const found = event.exec(logs.get(name) ?? '')?.groups;
    check(found !== undefined, `${name} logged no store.new_epoch`);
    if (found !== undefined) {
      say(`${name} logged store.new_epoch: the log goes on after ${found.seq}, ${found.lost} changes lost`);
      check(Number(found.lost) === lost, `${name} tells of ${found.lost} lost changes, not ${lost}`);
    }
    const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text();
    const at = Number(/^uqrp_log_epoch_timestamp_seconds (\S+)$/m.exec(text)?.[1]);
    check(Math.abs(at - Date.now() / 1_000) < 120, `${name}: uqrp_log_epoch_timestamp_seconds is ${at}`);
    const { status } = await fetch(`http://127.0.0.1:${httpPort}/readyz`);
    check(status === 200, `${name}: /readyz is ${status}`);
  }
  const feed = {
    UQRP_FEED_CREDENTIALS: cluster.feed.control,
    UQRP_FEED_URL: `nats://${cluster.broker.address}`,
  };
  const status = await runCli(['node', 'status', '--json'], feed);
  check(status.code === 0, `uqrp node status: ${status.errors}`);
  const { nodes } = JSON.parse(status.out) as { nodes: { epoch: string; stale: boolean }[] };
  check(nodes.length === 2 && nodes.every(({ stale }) => !stale), `uqrp node status: ${status.out}`);
  check(new Set(nodes.map(({ epoch }) => epoch)).size === 1, 'two nodes have two epochs');
  check(/\.\d+$/.test(nodes[0]?.epoch ?? ''), `the nodes have the epoch of before: ${nodes[0]?.epoch}`);
  say(`${lost} commits were lost; namespace ${namespace.slice(0, 8)} agrees at ${nodes.length} nodes`);
}
