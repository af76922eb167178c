import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { changesAfter } from '../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { deleteRows, findRows, firstRow, oneRow, query } from '../../test/support/store/rows.ts';
import { isUniqueViolation } from './engine/engine-errors.ts';
import { rowInsert, statement } from './engine/statement.ts';
import type { Tx } from './store.ts';

/** Units of work: all or nothing, alone, seen at once, neutral in types and errors. */
const LOCK = statement<{ id: string }, { id: string }>('select id from customers where id = :id', {
  lock: 'for update',
});

const ADD = rowInsert('audit_log', {
  customer_id: 'text',
  at: 'bigint',
  id: 'text',
  request_id: 'text',
  count: 'bigint',
  actor_kind: 'text',
  action: 'text',
  outcome: 'text',
});

onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('units of work', () => {
    scenario('a unit that throws leaves nothing behind and rejects with what it threw', async (store) => {
      const home = await settle(store);
      const fault = new Error('changed my mind');
      const unit = store.write(async (tx) => {
        await putRecord(tx, home, 'a');
        throw fault;
      });
      await assert.rejects(unit, (error) => error === fault);
      assert.deepEqual(await findRows(store.read, 'records', { columns: ['id'] }), []);
      assert.deepEqual(await changesAfter(store.changes, 0, 10), []);
      const customer = await oneRow(store.read, 'customers', { columns: ['records_count'] });
      assert.equal(customer.records_count, 0);
    });

    scenario('a unit gives back what its work returns', async (store) => {
      assert.equal(await store.write(async () => 'value'), 'value');
    });

    scenario('what runs with the commit is in the unit, octet for octet', async (store) => {
      const names = [`'; rollback; --`, '\\', "$1 $2 '' \\'", '"', 'ä👩', '', 'a\nb', "E'\\x00'"];
      const values = (name: string): (string | number | null)[] => [
        'c',
        -(2 ** 40),
        name,
        name,
        null,
        'system',
        'record.bulk',
        'done',
      ];
      await store.write(async (tx) => {
        for (const name of names) await tx.insertLast(ADD, values(name));
      });
      const rows = async () => findRows(store.read, 'audit_log', { columns: ['id', 'request_id', 'at'] });
      const stored = (await rows()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      assert.deepEqual(
        stored.map(({ id, request_id, at }) => [id, request_id, at]),
        names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => [name, name, -(2 ** 40)]),
      );
      const home = await settle(store);
      const failing = store.write(async (tx) => {
        await putRecord(tx, home, 'a');
        await tx.insertLast(ADD, values('new'));
        await tx.insertLast(ADD, values('\\'));
      });
      await assert.rejects(failing, (error) => isUniqueViolation(error));
      const rolledBack = store.write(async (tx) => {
        await tx.insertLast(ADD, values('new'));
        throw new Error('no');
      });
      await assert.rejects(rolledBack, /no/);
      const units = ['kept 1', 'undone', 'kept 2'].map((name) =>
        store.write(async (tx) => {
          await tx.insertLast(ADD, values(name));
          if (name === 'undone') throw new Error('undone');
        }),
      );
      const ends = (await Promise.allSettled(units)).map(({ status }) => status);
      assert.deepEqual(ends, ['fulfilled', 'rejected', 'fulfilled']);
      const shared = (await rows())
        .map(({ id }) => id)
        .filter((id) => id.startsWith('kept') || id === 'undone');
      assert.deepEqual(shared.toSorted(), ['kept 1', 'kept 2']);
      for (const id of shared) await store.write((tx) => deleteRows(tx, 'audit_log', { id }));
      assert.equal((await rows()).length, names.length);
      assert.deepEqual(await findRows(store.read, 'records', { columns: ['id'] }), []);
      await store.write((tx) => putRecord(tx, home, 'b'));
    });

    scenario('units that fail take back only themselves', async (store) => {
      const home = await settle(store);
      const units = Array.from({ length: 20 }, (_, index) =>
        store.write(async (tx) => {
          await putRecord(tx, home, `k${index}`);
          if (index % 3 === 0) throw new Error('no');
          return index;
        }),
      );
      const settled = await Promise.allSettled(units);
      const kept = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      assert.deepEqual(
        kept,
        Array.from({ length: 20 }, (_, index) => index).filter((index) => index % 3 !== 0),
      );
      const rows = await findRows(store.read, 'records', { columns: ['key'] });
      assert.deepEqual(
        rows.map((row) => row.key).sort(),
        kept.map((index) => `k${index}.doc.acme.v1`).sort(),
      );
    });

    scenario('a statement that fails takes its unit back, and only that', async (store) => {
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'taken'));
      const [bad, good] = await Promise.allSettled([
        store.write(async (tx) => {
          await putRecord(tx, home, 'other');
          await putRecord(tx, home, 'taken');
        }),
        store.write((tx) => putRecord(tx, home, 'good')),
      ]);
      assert.equal(bad.status, 'rejected');
      assert.equal(good.status, 'fulfilled');
      const keys = await findRows(store.read, 'records', { columns: ['key'], order: 'key' });
      assert.deepEqual(
        keys.map((row) => row.key),
        ['good.doc.acme.v1', 'taken.doc.acme.v1'],
      );
    });

    scenario('a taken unique value is one error on every engine, and quotes no value', async (store) => {
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'secret-key'));
      const again = store.write((tx) => putRecord(tx, home, 'secret-key'));
      await assert.rejects(again, (error) => {
        assert.equal(isUniqueViolation(error), true);
        assert.doesNotMatch(JSON.stringify(error) + String(error), /secret-key/);
        return true;
      });
      const orphan = { ...home, namespaceId: randomUUID() };
      const unit = store.write((tx) => putRecord(tx, orphan, 'b'));
      await assert.rejects(unit, (error) => !isUniqueViolation(error));
    });

    scenario('a handle is dead once its unit is over', async (store) => {
      let leaked: Tx | undefined;
      await store.write(async (tx) => {
        leaked = tx;
      });
      await assert.rejects(async () => findRows(leaked!, 'customers'));
    });

    scenario('the reader sees every acknowledged write', async (store) => {
      const home = await settle(store);
      const writers = Array.from({ length: 40 }, async (_, index) => {
        await store.write((tx) => putRecord(tx, home, `k${index}`));
        const key = `k${index}.doc.acme.v1`;
        const row = await firstRow(store.read, 'records', { columns: ['key'], where: { key } });
        assert.equal(row?.key, key);
      });
      await Promise.all(writers);
    });

    scenario('times beyond 31 bits, numbers and every byte survive the round trip', async (store) => {
      const home = await settle(store);
      const data = Uint8Array.from({ length: 2_586 }, (_, index) => index % 256);
      const late = 253_402_300_799_999;
      await store.write((tx) =>
        putRecord(tx, home, 'a', { data, expires_at: late, ttl_seconds: 2_147_483_647 }),
      );
      await store.write((tx) => putRecord(tx, home, 'empty', { data: new Uint8Array(0) }));
      const rows = await findRows(store.read, 'records', {
        columns: ['data', 'expires_at', 'ttl_seconds'],
        order: 'key',
      });
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [
          { data, expires_at: late, ttl_seconds: 2_147_483_647 },
          { data: new Uint8Array(0), expires_at: null, ttl_seconds: 300 },
        ],
      );
      const total = (
        await query<{ count: number; sum: number }>(
          store.read,
          'select count(*) as count, sum(ttl_seconds) as sum from records',
        )
      )[0];
      assert.deepEqual({ ...total }, { count: 2, sum: 2_147_483_947 });
    });

    scenario('row locks may be asked for on every engine', async (store) => {
      const home = await settle(store);
      const row = await store.write((tx) => LOCK.first(tx, { id: home.customerId }));
      assert.equal(row?.id, home.customerId);
    });

    scenario('a namespace that goes takes its records and tokens along', async (store) => {
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'a'));
      await store.write((tx) => deleteRows(tx, 'namespaces', { id: home.namespaceId }));
      assert.deepEqual(await findRows(store.read, 'records', { columns: ['id'] }), []);
    });

    scenario('a closed store finishes what it accepted and refuses the rest', async (store, open) => {
      const home = await settle(store);
      const other = await open();
      const last = other.write((tx) => putRecord(tx, home, 'last'));
      await other.close();
      await last;
      await assert.rejects(
        other.write(async () => {}),
        /closed/,
      );
      assert.equal((await store.changes.bounds()).head, 1);
    });

    scenario('two stores write to one database at the same time', async (store, open) => {
      const home = await settle(store);
      const other = await open();
      const units = Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? store : other).write((tx) => putRecord(tx, home, `k${index}`)),
      );
      const seqs = await Promise.all(units);
      assert.deepEqual(
        seqs.sort((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
      const customer = await oneRow(other.read, 'customers', { columns: ['records_count'] });
      assert.equal(customer.records_count, 60);
    });

    scenario('stores opened at the same moment migrate once', async (_store, open) => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => open()));
      for (const store of stores)
        assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 1, head: 0 });
    });
  });
});
