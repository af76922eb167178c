import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCli, settingsFor } from '../support/command.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import { account } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually, read } from './client.ts';

const SECRET = 'a secret of more than 32 characters';

interface Told {
  readonly applied: boolean;
  readonly nodes: readonly { name: string; applied: boolean; ms: number | null; late: boolean }[];
}

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  const skip = natsMissing() ?? (engine === 'PostgreSQL' ? postgresMissing() : null) ?? false;
  describe(`a write that its client waits for, over ${engine} and two nodes`, { skip }, () => {
    it('is in the answers of each node once the server says so; a node that is away is named', async () => {
      const database = engine === 'PostgreSQL' ? await postgresDatabase() : null;
      const store = database === null ? {} : { UQRP_DATABASE_URL: database.url, UQRP_SECRET: SECRET };
      const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
      try {
        const control = await world.start({ ...world.controlEnv, ...store });
        const one = await world.start(await world.nodeEnv('one'));
        const two = await world.start(await world.nodeEnv('two'));
        const customer = account(control);
        await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
        control.cli(['namespace', 'public-read', 'acme', 'on']);
        const api = `http://127.0.0.1:${control.ports.http}/api/v1`;
        const headers = { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' };
        const put = async (data: string): Promise<string> => {
          const body = JSON.stringify({ records: [{ key: 'a.acme.v1', data: btoa(data) }] });
          const answer = await fetch(`${api}/records/bulk`, { method: 'POST', headers, body });
          assert.equal(answer.status, 200);
          return answer.headers.get('x-service-seq')!;
        };
        const ask = async (seq: string, wait: number): Promise<Told> => {
          const answer = await fetch(`${api}/propagation?seq=${seq}&wait=${wait}`, { headers });
          assert.equal(answer.status, 200);
          return (await answer.json()) as Told;
        };
        // Until control has heard of both.
        await eventually(async () => (await ask(await put('first'), 0)).nodes.length === 2);
        for (let n = 0; n < 5; n++) {
          const told = await ask(await put(`value ${n}`), 30);
          assert.equal(told.applied, true);
          assert.deepEqual(
            told.nodes.map(({ name, applied }) => [name, applied]),
            [
              ['one', true],
              ['two', true],
            ],
          );
          for (const node of [one, two])
            assert.equal((await read(node, 'get.a.acme.v1')).payload, `value ${n}`);
        }
        // Quiet: both told when their view got the write that is their last.
        const quiet = await put('quiet');
        await eventually(async () => (await ask(quiet, 0)).nodes.every(({ ms }) => ms !== null));
        const env = {
          ...settingsFor(control.dataDir),
          UQRP_HTTP_PORT: String(control.ports.http),
          UQRP_TOKEN: customer.token,
        };
        const done = await runCli(['put', 'a.acme.v1', 'by command', '--wait', '30s'], env);
        assert.deepEqual([done.code, done.errors], [0, '']);
        assert.match(done.out, /^a\.acme\.v1: 10 bytes stored\none( \d+ ms)?\ntwo( \d+ ms)?\n$/);
        await two.stop();
        // On a busy machine the other one may need more than the second, and the one that is away may be late by then.
        await eventually(async () => {
          const { code, errors } = await runCli(['put', 'a.acme.v1', 'one is away', '--wait', '1s'], env);
          assert.deepEqual([code, errors.includes('two')], [1, true], errors);
          return /^stored, not yet on: two(?: \(late\))?\n$/.test(errors);
        });
        // Once it is late the others are enough for the server; the command still names it.
        const told = await ask(await put('later'), 30);
        assert.deepEqual(
          [told.applied, told.nodes.map(({ applied, late }) => [applied, late])],
          [
            true,
            [
              [true, false],
              [false, true],
            ],
          ],
        );
        const last = await runCli(['put', 'a.acme.v1', 'last', '--wait'], env);
        assert.deepEqual([last.code, last.errors.trim()], [1, 'stored, not yet on: two (late)']);
        assert.match(last.out, /^a\.acme\.v1: 4 bytes stored\none/);
      } finally {
        await world.close();
        await database?.drop();
      }
    });
  });
}
