import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, read } from '../e2e/client.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

/** The zones that the server is asked for: two, each with keys of its own. */
export const ZONES = ['uqrp.net', 'uqrp.org'] as const;

/** Payload of the largest record that is accepted: its envelope has 3,500 octets and fits no datagram. */
export const LARGE = 'x'.repeat(2586);
export const SMALL = 's'.repeat(100);

export interface World {
  readonly server: Uqrp;
  readonly customer: Account;
  /** Opens the namespace `acme`, which is private; `open` is public_read. */
  readonly token: string;
  /** The DS records of each zone, as the command line prints them for the parent. */
  ds(zone: string): readonly string[];
  /** Writes a record that ends in so many seconds, and resolves when it can be read. */
  writeBrief(key: string, seconds: number): Promise<void>;
  remove(): Promise<void>;
}

/** A signing server with records to be read. */
export async function startWorld(signing: 'full' | 'split', env: NodeJS.ProcessEnv = {}): Promise<World> {
  const server = await startUqrp({
    UQRP_DNSSEC: signing,
    UQRP_TLDS: 'net,org',
    UQRP_NS: 'ns1=127.0.0.1,ns2=127.0.0.1',
    UQRP_DATASETS: 'on',
    UQRP_DATASETS_ASOF: 'on',
    ...env,
  });
  const customer = account(server);
  await must(customer, '/namespaces', { namespace: { name: 'open' } });
  const { id } = await must(customer, '/namespaces', { namespace: { name: 'acme' } });
  server.cli(['namespace', 'public-read', 'open', 'on']);
  const { token } = await must(customer, `/namespaces/${id}/query_tokens`, { name: 'validators' });
  const write = (key: string, text: string, more: object = {}) =>
    must(customer, '/records', { record: { key, data: Buffer.from(text).toString('base64'), ...more } });
  await write('motd.open.v1', SMALL);
  await write('large.open.v1', LARGE);
  await write('a.b.motd.open.v1', SMALL);
  await write('temp.acme.v1', SMALL);
  await write('large.acme.v1', LARGE);
  await write('late.acme.v1', SMALL);
  publishDataset(server);
  await eventually(async () => (await read(server, `get.auth-${token}.late.acme.v1`)).payload === SMALL);
  return {
    server,
    customer,
    token: token!,
    ds: (zone) => server.cli(['dnssec', 'ds', '--zone', zone]).trim().split('\n'),
    async writeBrief(key, seconds) {
      await write(key, SMALL, { expires_in: seconds });
      await eventually(async () => (await read(server, `get.${key}`)).payload === SMALL);
    },
    remove: () => server.remove(),
  };
}

/** Imports one version, and makes a second key: `manifest.keys` then has two records. */
function publishDataset(server: Uqrp): void {
  const path = (name: string): string => join(server.dataDir, name);
  const manifest = { slug: 'gtin-demo', version: '1.2.0', license: 'CC0-1.0', provenance: 'tests' };
  writeFileSync(path('manifest.json'), JSON.stringify({ ...manifest, url: 'https://example.net/' }));
  const item = { k: '4006381333931', issuer: '', brand: '', cc: 'DE', type: '' };
  const lines = [
    { ...item, from: null, to: '2020-02-29' },
    { ...item, from: '2020-02-29', to: null },
    { ...item, k: '4006381333900', from: '2010-01-01', to: '2024-02-29' },
    { ...item, k: '4006381333900', from: '2999-01-01', to: null },
  ];
  writeFileSync(path('items.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  server.cli(['dataset', 'keygen']);
  writeFileSync(
    path('signed.json'),
    server.cli(['dataset', 'attest', path('manifest.json'), '--items', path('items.jsonl')]),
  );
  server.cli(['dataset', 'import', path('signed.json'), '--items', path('items.jsonl')]);
  server.cli(['dataset', 'keygen']);
}

async function must(as: Account, path: string, body: object): Promise<Record<string, string>> {
  const reply = await as.call('POST', path, body);
  if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status}`);
  return reply.body as Record<string, string>;
}
