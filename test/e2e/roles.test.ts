import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import { account, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually, read } from './client.ts';

const PLAIN = fileURLToPath(new URL('../fixtures/attest/plain/', import.meta.url));
const NAMES = ['one', 'two'];

/** Where control keeps its data. */
const ENGINES = [
  { engine: 'SQLite', missing: () => null, open: async () => ({ env: {}, drop: async () => {} }) },
  {
    engine: 'PostgreSQL',
    missing: postgresMissing,
    async open() {
      const database = await postgresDatabase();
      const env = {
        UQRP_DATABASE_URL: database.url,
        UQRP_SECRET: 'a secret of more than 32 characters',
      };
      return { env, drop: () => database.drop() };
    },
  },
] as const;

for (const engineCase of ENGINES) {
  const { engine, missing } = engineCase;
  describe(`a control process over ${engine} and two edge nodes over a broker`, {
    skip: natsMissing() ?? missing() ?? false,
  }, () => {
    it('answers on both nodes what was written, and hears what they answered', async () => {
      const { env, drop } = await engineCase.open();
      const world = await startManyNodes({ UQRP_DATASETS: 'on', UQRP_DNSSEC: 'off' });
      try {
        const control = await world.start({ ...world.controlEnv, ...env });
        const nodes: Uqrp[] = [];
        for (const name of NAMES) nodes.push(await world.start(await world.nodeEnv(name)));
        const customer = account(control);
        await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
        control.cli(['namespace', 'public-read', 'acme', 'on']);
        const record = { key: 'temp.acme.v1', data: 'aGVsbG8=' };
        assert.equal((await customer.call('POST', '/records', { record })).status, 201);
        const here = `http://127.0.0.1:${control.ports.http}`;
        for (const path of ['/dns-query?dns=', '/resolve?name=a', '/schema']) {
          const answer = await fetch(`${here}${path}`, { headers: { accept: 'text/html' } });
          assert.deepEqual(
            [answer.status, ((await answer.json()) as { code: string }).code],
            [404, 'not_found'],
          );
        }
        for (const node of nodes) {
          await eventually(async () => (await read(node, 'get.temp.acme.v1')).payload === 'hello');
          const base = `http://127.0.0.1:${node.ports.http}`;
          assert.equal((await fetch(`${base}/readyz`)).status, 200);
          assert.equal((await fetch(`${base}/api/v1/records`)).status, 404, 'an edge node has no API');
          assert.equal(existsSync(join(node.dataDir, 'uqrp.sqlite')), false, 'an edge opens no store');
          assert.equal(existsSync(join(node.dataDir, 'secret')), false, 'an edge has no secret');
        }
        const items = join(PLAIN, 'items.jsonl');
        const signed = join(control.dataDir, 'signed.json');
        control.cli(['dataset', 'keygen']);
        writeFileSync(
          signed,
          control.cli(['dataset', 'attest', join(PLAIN, 'manifest.json'), '--items', items]),
        );
        control.cli(['dataset', 'import', signed, '--items', items]);
        for (const node of nodes) {
          for (const name of ['manifest.gtin-demo', 'manifest.keys', 'identity.gtin-demo-k-4006381333931']) {
            const isThere = async () => (await read(node, `${name}.datasets.public.v1`)).ttl === 3600;
            await eventually(isThere);
          }
        }
      } finally {
        await world.close();
        await drop();
      }
    });
  });
}
