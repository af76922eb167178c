import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client } from 'pg';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import { type Answer, assertFailure, newName, openWorld } from '../../../test/support/http/world.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { isSomethingBlocked } from '../../../test/support/store/stepped.ts';
import { formatTime } from '../../base/time.ts';
import { eraseSuperseded } from '../../store/log/change-log.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { advanceCursor } from '../../store/webhooks/fan-out.ts';
import { deleteClosed } from '../namespaces/deletion.ts';
import { sweepExpired } from './expiry.ts';

const MINUTE = 60_000;
const NO_HISTORY_END = new AbortController().signal;

const statuses = (...all: readonly Answer[]): string => all.map(({ status }) => status).join(' ');

/** The same of requests that are alike. */
const sorted = (...all: readonly Answer[]): number[] => all.map(({ status }) => status).sort((a, b) => a - b);

/** As upkeep does once the fan-out has told of everything. */
async function eraseAll(store: Store): Promise<void> {
  const { head } = await store.changes.bounds();
  await store.write((tx) => advanceCursor(tx, head));
  while ((await store.write((tx) => eraseSuperseded(tx, 500))) === 500);
}

/** Payloads of the log that a later change of their key replaced or deleted. */
const LEFT = `select seq, key from change_log as old where data is not null
  and exists (select 1 from change_log as later where later.key = old.key and later.seq > old.seq)`;

async function assertErased(store: Store): Promise<void> {
  await eraseAll(store);
  assert.deepEqual(await query(store.read, LEFT), []);
}

raceScenarios('writes of records at once', {
  'of two creations of one key one is done': async ({ world, race }) => {
    const { token, ...customer } = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const body = { record: { key: `${newName()}.${name}.v1`, data: 'aGk=' } };
      return {
        left: (at) => at.caller(token).post('/records', body),
        right: (at) => at.caller(token).post('/records', body),
        check: (...both) => assert.deepEqual(sorted(...both), [201, 422]),
      };
    });
  },

  'an expired key that is created again is swept once': async ({ world, store, advance, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const key = `${newName()}.${name}.v1`;
      await customer.record(key, { expires_at: formatTime(world.now() + 1000) });
      advance(1000);
      return {
        left: (at) => at.caller(customer.token).post('/records', { record: { key, data: '' } }),
        right: (at) => sweepExpired(at.deps.store, at.now(), 10),
        async check(made) {
          assert.equal(made.status, 201, made.text);
          const rows = await findRows(store.read, 'records', { columns: ['id'], where: { key } });
          assert.deepEqual(rows, [{ id: made.json.id }]);
        },
      };
    });
  },

  'a record whose time is extended before its end is not swept': async ({ world, store, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const key = `${newName()}.${name}.v1`;
      const end = world.now() + MINUTE;
      const { id } = await customer.record(key, { expires_at: formatTime(end) });
      const later = { record: { expires_at: formatTime(end + MINUTE) } };
      return {
        left: (at) => at.caller(customer.token).patch(`/records/${id}`, later),
        // The clock of the process that sweeps is ahead.
        right: (at) => sweepExpired(at.deps.store, end, 10),
        async check({ status }, swept) {
          const rows = await findRows(store.read, 'records', { where: { id } });
          assert.deepEqual([status, swept, rows.length], status === 200 ? [200, 0, 1] : [404, 1, 0]);
        },
      };
    });
  },

  'a deletion and a change leave nothing, in the log either': async ({ world, store, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const { id } = await customer.record(`${newName()}.${name}.v1`);
      return {
        left: (at) => at.caller(customer.token).patch(`/records/${id}`, { record: { data: 'Ynll' } }),
        right: (at) => at.caller(customer.token).del(`/records/${id}`),
        async check(patched, { status }) {
          assert.equal(status, 204);
          assert.ok([200, 404].includes(patched.status), patched.text);
          assertFailure(await customer.get(`/records/${id}`), 404, 'not_found');
          await assertErased(store);
        },
      };
    });
  },

  'of two changes under one entity tag one is done': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const { id } = await customer.record(`${newName()}.${name}.v1`);
      const { headers } = await customer.get(`/records/${id}`);
      const tag = { 'if-match': String(headers.etag) };
      const [one, other] = ['b25l', 'b3RoZXI='];
      const patch = (data: string) => ({ record: { data } });
      return {
        left: (at) => at.caller(customer.token).send('PATCH', `/records/${id}`, patch(one), tag),
        right: (at) => at.caller(customer.token).send('PATCH', `/records/${id}`, patch(other), tag),
        async check(left, right) {
          assert.deepEqual(sorted(left, right), [200, 412]);
          const { json } = await customer.get(`/records/${id}`);
          assert.equal(json.data, left.status === 200 ? one : other);
        },
      };
    });
  },

  'a change under an entity tag and a deletion under it: one is done': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const { id } = await customer.record(`${newName()}.${name}.v1`);
      const { headers } = await customer.get(`/records/${id}`);
      const tag = { 'if-match': String(headers.etag) };
      const path = `/records/${id}`;
      return {
        left: (at) => at.caller(customer.token).send('PATCH', path, { record: { data: 'Ynll' } }, tag),
        right: (at) => at.caller(customer.token).send('DELETE', path, undefined, tag),
        check(patched, deleted) {
          const both = statuses(patched, deleted);
          assert.ok(['200 412', '404 204'].includes(both), both);
        },
      };
    });
  },

  'two bulk writes that meet are one after the other': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const [a, b] = [`${newName()}.${name}.v1`, `${newName()}.${name}.v1`];
      await customer.record(b);
      const swap = (made: string, gone: string) => ({
        records: [{ key: made, data: 'aGk=' }],
        delete: [gone],
      });
      return {
        left: (at) => at.caller(customer.token).post('/records/bulk', swap(a, b)),
        right: (at) => at.caller(customer.token).post('/records/bulk', swap(b, a)),
        async check(left, right) {
          assert.equal(statuses(left, right), '200 200');
          const { json } = await customer.get(`/records?namespace=${name}`);
          const keys = json.map(({ key }: { readonly key: string }) => key);
          assert.equal(keys.includes(a) !== keys.includes(b), true);
        },
      };
    });
  },

  'a bulk write and a creation of one key make one record': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const record = { key: `${newName()}.${name}.v1`, data: 'aGk=' };
      return {
        left: (at) => at.caller(customer.token).post('/records/bulk', { records: [record] }),
        right: (at) => at.caller(customer.token).post('/records', { record }),
        async check(bulk, made) {
          assert.equal(bulk.status, 200);
          assert.ok([201, 422].includes(made.status), made.text);
          if (made.status === 201) assert.equal(made.json.id, bulk.json.records[0].id);
        },
      };
    });
  },

  'a bulk write under a condition and a change: one is done': async ({ world, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const key = `${newName()}.${name}.v1`;
      const { id, updated_at } = await customer.record(key);
      const bulk = { records: [{ key, data: 'YnVsaw==', if_updated_at: updated_at }] };
      return {
        left: (at) => at.caller(customer.token).post('/records/bulk', bulk),
        right: (at) => at.caller(customer.token).patch(`/records/${id}`, { record: { data: 'b25l' } }),
        async check(written, patched) {
          assert.equal(patched.status, 200);
          assert.ok([200, 412].includes(written.status), written.text);
          // A change after the bulk write replaces it.
          assert.equal((await customer.get(`/records/${id}`)).json.data, 'b25l');
        },
      };
    });
  },

  'a namespace that is deleted takes every record along': async ({ world, store, race }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      await customer.record(`${newName()}.${name}.v1`);
      const body = { record: { key: `${newName()}.${name}.v1`, data: 'aGk=' } };
      return {
        left: (at) => at.caller(customer.token).post('/records', body),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        async check(made, { status }) {
          assert.equal(status, 204);
          assert.ok([201, 422].includes(made.status), made.text);
          await deleteClosed({ store, clock: world.now, signal: NO_HISTORY_END });
          const rows = await findRows(store.read, 'records', { where: { namespace_id: id } });
          assert.deepEqual(rows, []);
          assert.equal((await customer.get('/me')).json.records_count, 0);
        },
      };
    });
  },

  'a namespace that is deleted takes a change of its record along, out of the log too': async ({
    world,
    store,
    race,
  }) => {
    const customer = await world.customer();
    await race(async () => {
      const { id, name } = await customer.namespace();
      const made = await customer.record(`${newName()}.${name}.v1`);
      const body = { record: { data: 'Ynll' } };
      return {
        left: (at) => at.caller(customer.token).patch(`/records/${made.id}`, body),
        right: (at) => at.caller(customer.token).del(`/namespaces/${id}`),
        async check(patched, { status }) {
          assert.equal(status, 204);
          assert.ok([200, 404].includes(patched.status), patched.text);
          await deleteClosed({ store, clock: world.now, signal: NO_HISTORY_END });
          await assertErased(store);
        },
      };
    });
  },

  'an erasure beside a change leaves the last payload alone': async ({ world, store, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const { id } = await customer.record(`${newName()}.${name}.v1`);
      await customer.patch(`/records/${id}`, { record: { data: 'b25l' } });
      return {
        left: (at) => at.caller(customer.token).patch(`/records/${id}`, { record: { data: 'dHdv' } }),
        right: (at) => eraseAll(at.deps.store),
        async check({ status }) {
          assert.equal(status, 200);
          await assertErased(store);
        },
      };
    });
  },

  'two sweeps and two erasures do each thing once': async ({ world, store, advance, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const keys = [1, 2, 3].map(() => `${newName()}.${name}.v1`);
      for (const key of keys) await customer.record(key, { expires_at: formatTime(world.now() + 1000) });
      advance(1000);
      return {
        left: async (at) => sweepExpired(at.deps.store, at.now(), 2),
        right: async (at) => sweepExpired(at.deps.store, at.now(), 10),
        async check(left, right) {
          assert.equal(left + right, 3);
          await assertErased(store);
        },
      };
    });
    await race(async () => ({
      left: (at) => eraseAll(at.deps.store),
      right: (at) => eraseAll(at.deps.store),
      check: (left, right) => assert.deepEqual([left, right], [undefined, undefined]),
    }));
  },
});

describe('a bulk write on PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  it('holds its namespaces before its records: a change that holds the namespace does not wait for it', async () => {
    const database = await postgresDatabase();
    const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
    const patch = new Client({ connectionString: database.url });
    await patch.connect();
    try {
      const world = await openWorld(store);
      const customer = await world.customer();
      const { id, name } = await customer.namespace();
      const record = await customer.record(`a.${name}.v1`);
      // As a change of one record begins.
      await patch.query('begin');
      await patch.query('select 1 from namespaces where id = $1 for share', [id]);
      const body = {
        records: [`a.${name}.v1`, `b.${name}.v1`].map((key) => ({ key, data: 'aGk=' })),
      };
      const bulk = customer.post('/records/bulk', body);
      while (!(await isSomethingBlocked(store.read)));
      await patch.query('select 1 from records where id = $1 for no key update nowait', [record.id]);
      await patch.query('commit');
      assert.equal((await bulk).status, 200);
      await world.close();
    } finally {
      await patch.end();
      await store.close();
      await database.drop();
    }
  });
});
