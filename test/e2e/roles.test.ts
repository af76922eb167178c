import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { postgresDatabase, postgresMissing } from '../support/control/store/postgres.ts';
import { account, startUqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

describe('a control process and two edge nodes over one PostgreSQL', {
  skip: postgresMissing() ?? false,
}, () => {
  it('answers on both nodes what was written on the first', async () => {
    const database = await postgresDatabase();
    const shared = {
      UQRP_DATABASE_URL: database.url,
      UQRP_SECRET: 'a secret of more than 32 characters',
      UQRP_WORKERS: '1',
    };
    const control = await startUqrp({ ...shared, UQRP_ROLE: 'control' });
    const nodes = [
      await startUqrp({ ...shared, UQRP_ROLE: 'edge' }),
      await startUqrp({ ...shared, UQRP_ROLE: 'edge' }),
    ];
    try {
      const customer = account(control);
      await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      control.cli(['namespace', 'public-read', 'acme', 'on']);
      const record = { key: 'temp.acme.v1', data: 'aGVsbG8=' };
      assert.equal((await customer.call('POST', '/records', { record })).status, 201);
      for (const node of nodes) {
        await eventually(async () => (await read(node, 'get.temp.acme.v1')).payload === 'hello');
        const base = `http://127.0.0.1:${node.ports.http}`;
        assert.equal((await fetch(`${base}/readyz`)).status, 200);
        assert.equal((await fetch(`${base}/api/v1/records`)).status, 404, 'an edge node has no API');
      }
    } finally {
      for (const server of [...nodes, control]) await server.remove();
      await database.drop();
    }
  });
});
