/** The transparency log on a node of a feed: control, a broker, two witnesses and nodes, each a process of its own. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { askTxt } from '../../src/cli/actions/query.ts';
import { checkOverDns, readManifestName } from '../../src/cli/actions/verify-published.ts';
import { RCODE } from '../../src/protocol/dns/codes.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import type { TrustPolicy } from '../../src/protocol/transparency/policy.ts';
import { checkNote, readPolicy } from '../../src/protocol/transparency/signatures.ts';
import { CLI, runCli, startCommand } from '../support/command.ts';
import { type NatsServer, natsMissing, runNats } from '../support/feed/bus/nats-server.ts';
import { type FeedFolder, makeFeed } from '../support/feed/feed-folder.ts';
import { freePort } from '../support/free-port.ts';
import { stop } from '../support/process.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

const PLAIN = fileURLToPath(new URL('../fixtures/attest/plain/', import.meta.url));
const ITEMS = join(PLAIN, 'items.jsonl');
const ORIGIN = 'api.example.net/log';
/** Milliseconds until what was published must be on a node. */
const ARRIVES_MS = 30_000;

interface Witness {
  readonly child: ChildProcess;
  readonly vkey: string;
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
}

async function startWitness(folder: string, name: string): Promise<Witness> {
  const env = { UQRP_DATA_DIR: join(folder, name) };
  mkdirSync(env.UQRP_DATA_DIR);
  const made = await runCli(['witness', 'init', `witness.example.org/${name}`], env);
  assert.equal(made.code, 0, made.errors);
  const child = startCommand(
    process.execPath,
    [CLI, 'witness', 'serve', '--listen', '127.0.0.1:0', '--json'],
    env,
  );
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  const { vkey, url } = JSON.parse(line.toString()) as { vkey: string; url: string };
  return { child, vkey, url, env };
}

describe('the transparency log on nodes of a feed', { skip: natsMissing() ?? false }, () => {
  let folder: string;
  let broker: NatsServer;
  let feed: FeedFolder;
  let control: Uqrp;
  let settings: NodeJS.ProcessEnv;
  let policy: TrustPolicy;
  const witnesses: Witness[] = [];
  const nodes = new Map<string, Uqrp>();
  const shared = (): NodeJS.ProcessEnv => ({
    UQRP_FEED_URL: `nats://${broker.address}`,
    UQRP_DNSSEC: 'off',
    UQRP_WORKERS: '1',
    UQRP_DATASETS: 'on',
  });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-log-nodes-'));
    const address = `127.0.0.1:${await freePort()}`;
    feed = await makeFeed(join(folder, 'feed'), address);
    for (const name of ['fra1', 'ams1']) await feed.addNode(name);
    broker = await runNats(feed.config, address, folder);
    for (const name of ['w1', 'w2']) witnesses.push(await startWitness(folder, name));
    const file = join(folder, 'policy.txt');
    const lines = witnesses.map(({ vkey, url }, i) => `witness w${i + 1} ${vkey} ${url}`);
    writeFileSync(file, [...lines, 'group both all w1 w2', 'quorum both', ''].join('\n'));
    settings = {
      ...shared(),
      UQRP_ROLE: 'control',
      UQRP_FEED_CREDENTIALS: feed.control,
      UQRP_DATASETS_LOG: 'on',
      UQRP_DATASETS_LOG_POLICY: file,
    };
    control = await startUqrp(settings);
  });
  after(async () => {
    for (const node of nodes.values()) await node.remove();
    await control?.remove();
    for (const { child } of witnesses) await stop(child);
    await broker?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startNode(name: string): Promise<void> {
    const dataDir = join(folder, `node-${name}`);
    const env = { ...shared(), UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: join(folder, `${name}.creds`) };
    nodes.set(name, await startUqrp(env, dataDir));
  }

  const serverOf = (name: string) =>
    ({
      server: { host: '127.0.0.1', port: nodes.get(name)!.ports.dns, ca: null },
      transport: 'udp',
    }) as const;

  /** Code of the fault, or null. */
  async function fault(node: string, label: string): Promise<string | null> {
    const asked = readManifestName(`manifest.${label}.datasets.public.v1.uqrp.net`);
    const result = await checkOverDns(asked, ITEMS, serverOf(node), policy);
    return result.valid ? null : result.code;
  }

  async function logged(node: string, label: string): Promise<void> {
    const end = Date.now() + ARRIVES_MS;
    let found = await fault(node, label);
    while (found !== null && Date.now() < end) {
      await sleep(100);
      found = await fault(node, label);
    }
    assert.equal(found, null, `${node} ${label}`);
  }

  /** Size of the checkpoint that the node answers. */
  async function sizeAt(node: string): Promise<number> {
    const { answer } = await askTxt('manifest.log.datasets.public.v1.uqrp.net', serverOf(node));
    const value = Buffer.from(txtValue(answer[0]!.rdata)!).toString('latin1');
    const note = Buffer.from(value.slice(value.indexOf(';d=') + 3), 'base64').toString('utf8');
    const judged = checkNote(note, policy);
    assert.ok(judged.valid, 'reason' in judged ? judged.reason : '');
    assert.equal(judged.checkpoint.origin, ORIGIN);
    assert.deepEqual(
      judged.cosigners.map(({ name }) => name),
      ['w1', 'w2'],
    );
    return judged.checkpoint.size;
  }

  /** Attests the items under this version, and imports them. */
  function publish(version: string): void {
    const manifest = join(folder, `${version}.json`);
    const stated = { slug: 'gtin-demo', version, license: 'CC0-1.0', provenance: 'test' };
    writeFileSync(manifest, JSON.stringify({ ...stated, url: 'https://example.net/items.jsonl' }));
    writeFileSync(manifest, control.cli(['dataset', 'attest', manifest, '--items', ITEMS]));
    control.cli(['dataset', 'import', manifest, '--items', ITEMS]);
  }

  it('is not there before it begins: a proof is FORMERR, and the checkpoint NODATA', async () => {
    await startNode('fra1');
    control.cli(['dataset', 'keygen']);
    publish('1.0.0');
    const rcode = async (label: string) => {
      const reply = await askTxt(`manifest.${label}.datasets.public.v1.uqrp.net`, serverOf('fra1'));
      return [reply.rcode, reply.answer.length];
    };
    assert.deepEqual(await rcode('gtin-demo.log'), [RCODE.FORMERR, 0]);
    assert.deepEqual(await rcode('log'), [RCODE.NOERROR, 0]);
  });

  it('begins with what is published so far: a node gives proofs that the command verifies', async () => {
    const vkey = control.cli(['log', 'init', ORIGIN]).trim();
    for (const { env } of witnesses) {
      const trusted = await runCli(['witness', 'trust', vkey], env);
      assert.equal(trusted.code, 0, trusted.errors);
    }
    const file = join(folder, 'readers.txt');
    writeFileSync(file, control.cli(['log', 'policy']));
    const read = readPolicy(control.cli(['log', 'policy']));
    if (!read.ok) throw new Error(read.faults[0]);
    policy = read.policy;
    await logged('fra1', 'gtin-demo-v-1d0d0');
    publish('1.1.0');
    await logged('fra1', 'gtin-demo-v-1d1d0');
    const port = `${nodes.get('fra1')!.ports.dns}`;
    const line = ['query', 'manifest.gtin-demo.datasets.public.v1', '--verify', ITEMS, '--log', file];
    const said = await runCli([...line, '--server', '127.0.0.1', '--port', port, '--json'], {});
    assert.equal(said.code, 0, said.errors);
    const { version, log } = JSON.parse(said.out);
    assert.deepEqual([version, log.origin, log.index], ['1.1.0', ORIGIN, 2]);
    assert.equal(await sizeAt('fra1'), 3);
  });

  it('is well, as doctor and the metrics of control say', async () => {
    const env = { ...settings, UQRP_DATA_DIR: control.dataDir };
    const { out } = await runCli(['doctor', '--json'], env);
    const finding = out.split('\n').find((line) => line.includes('transparency log')) ?? '';
    assert.match(finding, /3 entries, 3 published/);
    assert.match(finding, /"ok"/);
    const response = await fetch(`http://127.0.0.1:${control.ports.http}/metrics`);
    const lines = (await response.text()).split('\n');
    for (const line of [
      'uqrp_transparency_entries 3',
      'uqrp_transparency_published_entries 3',
      'uqrp_transparency_state{state="current"} 1',
      'uqrp_transparency_witnesses{state="cosigned"} 2',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it('is there after the node starts again, and on a new node that begins with a snapshot', async () => {
    await nodes.get('fra1')!.stop();
    control.cli(['feed', 'snapshot', '--feed', feed.dir]);
    await startNode('fra1');
    await startNode('ams1');
    for (const node of ['fra1', 'ams1']) {
      for (const label of ['gtin-demo-v-1d0d0', 'gtin-demo-v-1d1d0']) await logged(node, label);
      assert.equal(await sizeAt(node), 3);
    }
  });

  it('has a retirement, and no proof of the retired version any more', async () => {
    control.cli(['dataset', 'retire', 'gtin-demo@1.1.0']);
    for (const node of ['fra1', 'ams1']) {
      const end = Date.now() + ARRIVES_MS;
      while ((await sizeAt(node)) < 4 && Date.now() < end) await sleep(100);
      assert.equal(await sizeAt(node), 4);
      const gone = await askTxt('manifest.gtin-demo-v-1d1d0.log.datasets.public.v1.uqrp.net', serverOf(node));
      assert.deepEqual([gone.rcode, gone.answer.length], [RCODE.NOERROR, 0]);
      await logged(node, 'gtin-demo');
    }
  });
});
