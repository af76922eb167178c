import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

const WORKER = { UQRP_WORKERS: '1' };

async function withRecord(): Promise<Uqrp> {
  const server = await startUqrp(WORKER);
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
  server.cli(['namespace', 'public-read', 'acme', 'on']);
  await customer.call('POST', '/records', { record: { key: 'temp.acme.v1', data: 'aGVsbG8=' } });
  await eventually(async () => (await read(server, 'get.temp.acme.v1')).payload === 'hello');
  return server;
}

describe('a server between two states', () => {
  it('does not start beside a view when its SQLite file is gone, until it is told to', async () => {
    let server = await withRecord();
    try {
      await server.stop();
      for (const end of ['', '-wal', '-shm']) {
        rmSync(join(server.dataDir, `uqrp.sqlite${end}`), { force: true });
      }
      for (let start = 1; start <= 2; start++) {
        await assert.rejects(startUqrp(WORKER, server.dataDir), /ended with 1: .*--accept-new-store/s);
      }
      server = await startUqrp(WORKER, server.dataDir, ['--accept-new-store']);
      assert.equal((await read(server, 'get.temp.acme.v1')).rcode, 'REFUSED');
      await server.stop();
      server = await startUqrp(WORKER, server.dataDir);
    } finally {
      await server.remove();
    }
  });

  it('answers on when the files of its view are removed, and has a view again after a restart', async () => {
    let server = await withRecord();
    try {
      const view = join(server.dataDir, 'view');
      rmSync(view, { recursive: true });
      const ready = async (): Promise<boolean> =>
        (await fetch(`http://127.0.0.1:${server.ports.http}/readyz`)).status === 200;
      await eventually(async () => {
        assert.equal((await read(server, 'get.temp.acme.v1')).payload, 'hello');
        assert.ok(await ready());
        // A new file: the first one does not come back.
        return existsSync(join(view, '2.mdb')) || existsSync(join(view, '3.mdb'));
      }, 20_000);
      await server.stop();
      server = await startUqrp(WORKER, server.dataDir);
      assert.equal((await read(server, 'get.temp.acme.v1')).payload, 'hello');
    } finally {
      await server.remove();
    }
  });
});
