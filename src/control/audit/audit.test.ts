import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Customer,
  created,
  type Json,
  openWorld,
} from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { type AuditRow, addAuditRows } from '../../store/audit.ts';
import { deleteClosed } from '../namespaces/deletion.ts';
import { customerActor } from '../namespaces/rules.ts';
import { createRecord } from '../records/rules.ts';

const DATA = Buffer.from('hello').toString('base64');

async function rows(customer: Pick<Customer, 'get'>, query = ''): Promise<Json[]> {
  const { status, json } = await customer.get(`/audit${query}`);
  assert.equal(status, 200, JSON.stringify(json));
  // Each customer of these tests has signed in once.
  return query === '' ? json.audit.filter(({ action }: Json) => action !== 'sign_in.done') : json.audit;
}

apiScenarios('Audit log', {
  'a record leaves a row with ETags, request id and place in the feed': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const key = `a.${name}.v1`;
    const made = await customer.post('/records', { record: { key, data: DATA } });
    const changed = await customer.patch(`/records/${made.json.id}`, { record: { ttl_seconds: 9 } });
    const gone = await customer.del(`/records/${made.json.id}`);
    const [deletion, change, creation, ...before] = await rows(customer);
    assert.deepEqual(
      before.map(({ action }) => action),
      ['namespace.created'],
    );
    const shared = {
      at: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'user', id: customer.id, name: customer.email },
      outcome: 'done',
      object: { kind: 'record', id: made.json.id, name: key, namespace: name, count: null },
    };
    const fields = [
      [creation, made, 'record.created', null, made.headers.etag],
      [change, changed, 'record.changed', made.headers.etag, changed.headers.etag],
      [deletion, gone, 'record.deleted', changed.headers.etag, null],
    ] as const;
    for (const [row, answer, action, etag_before, etag_after] of fields) {
      const { id, seq, ...shown } = row;
      assert.match(id, /^[0-9a-f-]{36}$/);
      const request_id = answer.headers['x-request-id'];
      assert.deepEqual(shown, { ...shared, request_id, action, etag_before, etag_after });
      const { json } = await customer.get(`/changes?since=${seq}`);
      const events = [creation, change, deletion].length - [creation, change, deletion].indexOf(row) - 1;
      assert.equal(json.changes.length, events, action);
    }
  },

  'an action that fails leaves no row, nor does a repeated request a second one': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const record = { record: { key: `a.${name}.v1`, data: DATA } };
    const once = { 'idempotency-key': 'one' };
    assert.equal((await customer.send('POST', '/records', record, once)).status, 201);
    assert.equal((await customer.send('POST', '/records', record, once)).status, 201);
    const { id } = (await rows(customer))[0].object;
    assertFailure(await customer.post('/records', record), 422, 'validation_error');
    const stale = { 'if-match': '"stale"' };
    assert.equal((await customer.send('PATCH', `/records/${id}`, record, stale)).status, 422);
    const change = { record: { ttl_seconds: 9 } };
    assert.equal((await customer.send('PATCH', `/records/${id}`, change, stale)).status, 412);
    assert.equal((await customer.send('DELETE', `/records/${id}`, undefined, stale)).status, 412);
    assert.equal((await customer.post('/namespaces', { namespace: { name } })).status, 422);
    const actions = (await rows(customer)).map(({ action }) => action);
    assert.deepEqual(actions, ['record.created', 'namespace.created']);
  },

  'a unit that fails after its row leaves neither': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const actor = (await customerActor(world.deps, customer.email))!;
    const deps: typeof world.deps = {
      ...world.deps,
      unit: (by, work) =>
        store.write(async (tx) => {
          await work(tx, by);
          throw new Error('the disk is full');
        }),
    };
    await assert.rejects(createRecord(deps, actor, { key: `a.${name}.v1`, data: DATA }), /disk is full/);
    assert.equal((await rows(customer)).length, 1);
    assert.deepEqual((await customer.get('/records')).json, []);
    await world.close();
  },

  'filters and pages': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const other = await customer.namespace();
    const key = await customer.key();
    for (let i = 0; i < 5; i++) {
      world.advance(1000);
      await key.post('/records', { record: { key: `r${i}.${name}.v1`, data: DATA } });
    }
    const count = async (query: string): Promise<number> => (await rows(customer, query)).length;
    assert.equal(await count(''), 8);
    assert.equal(await count('?action=record.*'), 5);
    assert.equal(await count('?action=api_key.created'), 1);
    assert.equal(await count('?actor=api_key'), 5);
    assert.equal(await count(`?actor=${key.id}`), 5);
    assert.equal(await count(`?actor=${customer.email.toUpperCase()}`), 3);
    assert.equal(await count(`?namespace=${other.name}`), 1);
    assert.equal(await count(`?key=R3.${name}.v1`), 1);
    assert.equal(await count('?since=2026-01-01T00:00:02Z&until=2026-01-01T00:00:04Z'), 2);
    const all = await rows(customer, '?limit=100');
    const paged: Json[] = [];
    for (let path: string | null = '/audit?limit=3'; path !== null; ) {
      const { json }: Json = await customer.get(path);
      paged.push(...json.audit);
      path = json.meta.next_cursor && `/audit?limit=3&cursor=${json.meta.next_cursor}`;
      assert.equal(json.meta.has_more, path !== null);
    }
    const ids = (list: Json[]) => list.map(({ id }) => id);
    assert.deepEqual(ids(paged), ids(all));
    for (const query of [
      '?action=nothing',
      '?action=nothing.*',
      '?since=x',
      '?cursor=x',
      '?limit=101',
      '?a=1',
    ]) {
      assert.equal((await customer.get(`/audit${query}`)).status, 400, query);
    }
    const { json } = await customer.get('/audit?limit=3');
    assertFailure(
      await customer.get(`/audit?limit=3&action=record.*&cursor=${json.meta.next_cursor}`),
      400,
      'validation_error',
    );
  },

  'an export has every row, filters, and the number of lines as a trailer': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const count = 2 * LIMITS.pageMax + 7;
    const rows = Array.from({ length: count }, (_, i) => ({
      ...(i % 2 === 0 ? { action: 'record.created' } : { action: 'record.changed' }),
      at: world.now() + i,
    }));
    const [some] = await findRows(store.read, 'audit_log', { where: { customer_id: customer.id } });
    await store.write((tx) =>
      addAuditRows(
        tx,
        rows.map((row) => ({ ...some!, ...row }) as AuditRow),
      ),
    );
    const ask = async (query: string) => {
      const response = await world.app.inject({
        url: `/api/v1/audit/export${query}`,
        headers: { authorization: `Bearer ${customer.token}` },
      });
      assert.equal(response.statusCode, 200, response.body);
      assert.equal(response.headers['content-type'], 'application/x-ndjson');
      const lines = response.body.trimEnd().split('\n').filter(Boolean);
      assert.equal(response.trailers['x-row-count'], String(lines.length));
      return lines.map((line): Json => JSON.parse(line));
    };
    const all = await ask('');
    // Beside them: the sign-in and the namespace.
    assert.equal(all.length, count + 2);
    assert.equal(new Set(all.map(({ id }) => id)).size, count + 2);
    assert.ok(all.every(({ at }, i) => i === 0 || at <= all[i - 1].at));
    const [first] = (await customer.get('/audit?limit=1')).json.audit;
    assert.deepEqual({ ...all[0], seq: null }, { ...first, seq: null });
    assert.equal((await ask('?action=record.changed')).length, Math.floor(count / 2));
    assert.deepEqual(await ask(`?key=nothing.${name}.v1`), []);
    assert.equal((await customer.get('/audit/export?limit=1')).status, 400);
    const key = await customer.key();
    assertFailure(await key.get('/audit/export'), 403, 'authorization_error');
    await world.close();
  },

  'a page may have no rows and a next one: it looks through a bounded number': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [some] = await findRows(store.read, 'audit_log', { where: { customer_id: customer.id } });
    const many = Array.from({ length: LIMITS.auditExamined + 1 }, (_, i) => ({
      ...some!,
      at: world.now() + 1 + i,
      action: 'versions.read' as const,
    }));
    await store.write((tx) => addAuditRows(tx, many));
    const first = await customer.get('/audit?action=sign_in.*');
    assert.deepEqual(first.json.audit, []);
    assert.equal(first.json.meta.has_more, true);
    const next = await customer.get(`/audit?action=sign_in.*&cursor=${first.json.meta.next_cursor}`);
    assert.equal(next.json.audit.length, 1);
    assert.deepEqual(next.json.meta, { limit: 50, next_cursor: null, has_more: false });
    await world.close();
  },

  'only owners read it, with a customer token, and only their own': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    await customer.namespace();
    const key = await customer.key();
    assertFailure(await key.get('/audit'), 403, 'authorization_error');
    const other = await world.customer();
    assert.deepEqual(await rows(other), []);
    assert.equal((await world.caller(null).get('/audit')).status, 401);
  },

  'an address as actor finds a key of that name, whether or not there is an account of it (strangers learned of accounts)':
    async (store) => {
      const world = await openWorld(store);
      const [customer, stranger] = [await world.customer(), await world.customer()];
      const { name } = await customer.namespace();
      for (const address of [stranger.email, 'nobody@example.org']) {
        const key = await customer.key(undefined, { name: address });
        await key.post('/records', { record: { key: `${address.split('@')[0]}.${name}.v1`, data: DATA } });
        const found = await rows(customer, `?actor=${address}`);
        assert.deepEqual(
          found.map(({ action, actor }) => [action, actor.name]),
          [['record.created', address]],
        );
      }
      await world.close();
    },

  'the rows go with the account': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    await customer.namespace();
    const count = async () =>
      (await findRows(store.read, 'audit_log', { where: { customer_id: customer.id } })).length;
    assert.ok((await count()) > 0);
    assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
    await deleteClosed({ ...world.deps, signal: new AbortController().signal });
    assert.equal(await count(), 0);
  },

  'a bulk leaves one row': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const records = ['a', 'b', 'c'].map((label) => ({ key: `${label}.${name}.v1`, data: DATA }));
    assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    assert.equal((await customer.post('/records/bulk', { records: [records[0]] })).status, 200);
    const nothing = { delete: [`z.${name}.v1`] };
    assert.equal((await customer.post('/records/bulk', nothing)).status, 200);
    const [one, many] = await rows(customer, '?action=record.bulk');
    assert.deepEqual(many.object, { kind: 'record', id: null, name: null, namespace: name, count: 3 });
    assert.equal(one.object.name, records[0]!.key);
    assert.equal(one.object.count, 1);
    assert.notEqual(one.etag_before, one.etag_after);
    assert.match(one.etag_after, /^"\w+"$/);
    created(await customer.post('/api_keys', { api_key: { name: 'x' } }));
    assert.equal((await rows(customer, '?action=record.bulk')).length, 2);
  },
});
