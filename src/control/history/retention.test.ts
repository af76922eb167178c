import assert from 'node:assert/strict';
import {
  keep,
  keepingNamespace,
  listed,
  prune,
  text,
  usedVersions,
} from '../../../test/support/control/history/versions.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, created, openWorld } from '../../../test/support/http/world.ts';
import { deleteAccount } from '../accounts/rules.ts';
import { sweepExpired } from '../records/expiry.ts';

const DAY = 86_400_000;

apiScenarios('how long versions stay', {
  'no version outlives its expiry, and nothing is kept of an expiry': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const key = `r.${name}.v1`;
    const record = await customer.record(key, { data: text('brief'), expires_in: 10 });
    const answer = await customer.patch(`/records/${record.id}`, {
      record: { data: text('long'), expires_in: 0 },
    });
    world.advance(10_000);
    const path = `/records/${record.id}`;
    const refusals = async (): Promise<void> => {
      assertFailure(await customer.get(`${path}/versions/1`), 422, 'validation_error', [
        'version has expired',
      ]);
      const restore = await customer.post(`${path}/restore`, { version: 1 });
      assertFailure(restore, 422, 'validation_error', ['version has expired']);
      const undo = await customer.post(`/namespaces/${id}/undo`, {
        write: String(answer.headers['x-service-seq']),
      });
      assertFailure(undo, 422, 'validation_error', ['version has expired']);
    };
    await refusals();
    await prune(store, world.now());
    await refusals();
    assert.equal((await customer.get(`${path}/versions`)).json.versions[1].expired, true);

    await customer.patch(path, { record: { expires_in: 5 } });
    world.advance(5_000);
    await sweepExpired(store, world.now(), 500);
    assert.deepEqual(await listed(customer, `/namespaces/${id}/versions?key=${key}`), ['2 write', '1 write']);
    // The number of the value that expired is not given again to a value that another write makes.
    await customer.record(key, { data: text('new') });
    assert.deepEqual(await listed(customer, `/namespaces/${id}/versions?key=${key}`), [
      '4 null',
      '2 write',
      '1 write',
    ]);
    await world.close();
  },

  'number, days and the end of the history erase versions; so do the requests that say so': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer, { versions: 3, days: 2 });
    const record = await customer.record(`r.${name}.v1`);
    const path = `/records/${record.id}`;
    const write = async (): Promise<void> => {
      world.advance(1_000);
      assert.equal((await customer.patch(path, { record: { data: '' } })).status, 200);
    };
    for (let i = 0; i < 5; i++) await write();
    const versions = `${path}/versions`;
    assert.deepEqual(await listed(customer, versions), ['6 null', '5 write', '4 write', '3 write']);
    await keep(customer, id, { versions: 2, days: 2 });
    await prune(store, world.now());
    assert.deepEqual(await listed(customer, versions), ['6 null', '5 write', '4 write']);
    assert.equal(await usedVersions(customer), 2);
    // The version ended just now: two days later it goes, not before.
    await prune(store, world.now() + 2 * DAY - 1);
    assert.deepEqual(await listed(customer, versions), ['6 null', '5 write']);
    await prune(store, world.now() + 2 * DAY);
    assert.deepEqual(await listed(customer, versions), ['6 null']);
    assert.equal(await usedVersions(customer), 0);

    await write();
    assert.equal((await customer.del(versions)).status, 204);
    assert.deepEqual(await listed(customer, versions), ['7 null']);
    await write();
    assert.equal(await usedVersions(customer), 1);
    assert.equal((await customer.del(`${path}?erase=true`)).status, 204);
    assert.deepEqual(await listed(customer, `/namespaces/${id}/versions?key=r.${name}.v1`), []);
    assert.equal(await usedVersions(customer), 0);

    const second = await customer.record(`r.${name}.v1`);
    await customer.patch(`/records/${second.id}`, { record: { data: '' } });
    await keep(customer, id, null);
    await keep(customer, id);
    // Of the history before: its rows go in the background, and nobody sees them.
    assert.deepEqual(await listed(customer, `/records/${second.id}/versions`), ['2 null']);
    await store.scrub();
    await prune(store, world.now());
    const { rows } = await store.read.execute<{ n: number }>(
      'select count(*) as n from histories where ended > 0',
      [],
    );
    assert.equal(Number(rows[0]?.n), 0);
    await world.close();
  },

  'above the number of a customer the oldest go, and no write is refused': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    const { name } = await keepingNamespace(customer, { versions: 100, days: 1 });
    const records = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}.r.${name}.v1`, data: '' }));
    for (let i = 0; i < 11; i++) {
      assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    }
    assert.equal(await usedVersions(customer), 5_000);
    await prune(store, world.now());
    assert.equal(await usedVersions(customer), 5_000);
    await customer.post('/records/bulk', { records: records.slice(0, 300) });
    assert.equal(await usedVersions(customer), 5_300);
    await prune(store, world.now());
    assert.ok((await usedVersions(customer)) <= 5_000);
    assert.ok((await usedVersions(customer)) > 4_400);
    await world.close();
  },

  'an export of a time is the export that was taken then': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const taken: { at: string; lines: string[] }[] = [];
    const lines = (answer: { text: string }): string[] => answer.text.split('\n').filter(Boolean).sort();
    const path = `/namespaces/${id}/export`;
    for (let i = 0; i < 8; i++) {
      const records = Array.from({ length: 30 }, (_, j) => ({
        key: `k${(i * 7 + j * 3) % 50}.r.${name}.v1`,
        data: text(`${i} ${j}`),
      }));
      const doomed = Array.from({ length: 10 }, (_, j) => `k${(i * 11 + j * 5) % 50}.r.${name}.v1`);
      const keys = new Set(records.map((one) => one.key));
      const answer = await customer.post('/records/bulk', {
        records,
        delete: doomed.filter((one) => !keys.has(one)),
      });
      assert.equal(answer.status, 200, answer.text);
      world.advance(500);
      taken.push({ at: new Date(world.now()).toISOString(), lines: lines(await customer.get(path)) });
      world.advance(500);
    }
    for (const { at, lines: wanted } of taken) {
      const answer = await customer.get(`${path}?at=${at}`);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(lines(answer), wanted);
    }
    const early = await customer.get(`${path}?at=2025-12-31T23:59:59Z`);
    assertFailure(early, 422, 'validation_error', [
      'at is before the history begins (2026-01-01T00:00:00.000Z)',
    ]);
    assertFailure(
      await customer.get(`${path}?at=2027-01-01T00:00:00Z`),
      400,
      'validation_error',
      'at is in the future',
    );
    assertFailure(await customer.get(`${path}?at=now`), 400, 'validation_error');
    assertFailure(await customer.get(`${path}?x=1`), 400, 'validation_error');
    // A version that was dropped is missing in the exports of its time, and of all before.
    await customer.del(`/namespaces/${id}/versions?key=k0.r.${name}.v1`);
    assertFailure(await customer.get(`${path}?at=${taken[0]!.at}`), 422, 'validation_error');
    await world.close();
  },

  'a deleted namespace leaves no version': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const record = await customer.record(`r.${name}.v1`);
    await customer.patch(`/records/${record.id}`, { record: { data: '' } });
    const owned = async (): Promise<number> => {
      const sql = `select count(*) as n from histories where customer_id = '${customer.id}'`;
      return Number((await store.read.execute<{ n: number }>(sql, [])).rows[0]?.n);
    };
    assert.equal(await owned(), 1);
    assert.equal((await customer.del(`/namespaces/${id}`)).status, 204);
    await store.scrub();
    await prune(store, world.now());
    assert.equal(await owned(), 0);
    // The name, made again, has no history and no versions.
    const again = created(await customer.post('/namespaces', { namespace: { name } }));
    assert.equal('history' in again, false);
    await keep(customer, again.id);
    assert.deepEqual(await listed(customer, `/namespaces/${again.id}/versions?key=r.${name}.v1`), []);
    await world.close();
  },

  'a deleted account leaves no version, also where its history has ended before': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const namespaces = [await keepingNamespace(customer), await keepingNamespace(customer)];
    for (const { name } of namespaces) {
      const record = await customer.record(`r.${name}.v1`);
      await customer.patch(`/records/${record.id}`, { record: { data: '' } });
    }
    await keep(customer, namespaces[1]!.id, null);
    const left = async (): Promise<number[]> => {
      const histories = `select id from histories where customer_id = '${customer.id}'`;
      const counts = [];
      for (const sql of [`(${histories}) as x`, `record_versions where history_id in (${ids})`]) {
        const { rows } = await store.read.execute<{ n: number }>(`select count(*) as n from ${sql}`, []);
        counts.push(Number(rows[0]?.n));
      }
      return counts;
    };
    const { rows } = await store.read.execute<{ id: number }>(
      `select id from histories where customer_id = '${customer.id}'`,
      [],
    );
    const ids = rows.map(({ id }) => id).join(', ');
    assert.deepEqual(await left(), [2, 4]);
    await deleteAccount(world.deps, customer.email);
    await runLoops(store, () => world.now());
    await store.scrub();
    await prune(store, world.now());
    assert.deepEqual(await left(), [0, 0]);
    await world.close();
  },
});
