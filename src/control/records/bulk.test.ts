import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, type Json, openWorld } from '../../../test/support/http/world.ts';
import { NOT_A_TIME } from '../../base/time.ts';

const items = (count: number, name: string, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ key: `k${from + i}.r.${name}.v1`, data: 'aGk=' }));

apiScenarios('bulk', {
  'with conditions writes all or nothing: what another has changed meanwhile is 412 with its place': async (
    store,
  ) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const { name } = await customer.namespace();
    const foreign = await other.namespace();
    const theirs = await other.record(`x.r.${foreign.name}.v1`);
    const [a, b] = [await customer.record(`a.r.${name}.v1`), await customer.record(`b.r.${name}.v1`)];
    const bulk = (body: object) => customer.post('/records/bulk', body);
    const stale = '2020-01-01T00:00:00.000Z';
    const item = (record: Json, ifUpdatedAt: unknown) => ({
      key: record.key,
      data: 'bmV3',
      if_updated_at: ifUpdatedAt,
    });
    const fresh = { key: `new.r.${name}.v1`, data: 'bmV3', if_updated_at: null };
    const refused = async (body: object, place: string): Promise<void> => {
      const { head } = await store.changes.bounds();
      assertFailure(await bulk(body), 412, 'validation_error', `${place} has changed`);
      assert.equal((await store.changes.bounds()).head, head);
    };
    await refused({ records: [fresh, item(a, a.updated_at), item(b, stale)] }, 'records[2]');
    await refused({ records: [{ ...fresh, if_updated_at: stale }] }, 'records[0]');
    await refused({ records: [item(a, null)] }, 'records[0]');
    await refused({ records: [fresh], delete: [b.key, { key: a.key, if_updated_at: stale }] }, 'delete[1]');
    await refused({ delete: [{ key: fresh.key, if_updated_at: stale }] }, 'delete[0]');
    // What belongs to another is not there.
    await refused({ delete: [{ key: theirs.key, if_updated_at: theirs.updated_at }] }, 'delete[0]');
    const done = await bulk({
      records: [fresh, item(a, a.updated_at)],
      delete: [
        { key: b.key, if_updated_at: b.updated_at },
        { key: `none.r.${name}.v1`, if_updated_at: null },
      ],
    });
    assert.equal(done.status, 200, done.text);
    assert.deepEqual(done.json.deleted, [b.id, null]);
    await refused({ records: [item(a, a.updated_at)] }, 'records[0]');
    // A record that has expired is not there, before the sweeper comes too.
    await customer.record(`e.r.${name}.v1`, { expires_in: 1 });
    world.advance(1_001);
    assert.equal(
      (await bulk({ records: [{ key: `e.r.${name}.v1`, data: '', if_updated_at: null }] })).status,
      200,
    );
    for (const [body, message] of [
      [{ records: [item(a, 5)] }, 'records[0].if_updated_at must be a string'],
      [{ records: [item(a, 'soon')] }, `records[0].if_updated_at ${NOT_A_TIME}`],
      [{ delete: [{ key: a.key }] }, 'delete[0].if_updated_at is required'],
      [{ delete: [a.key, { key: a.key, if_updated_at: null }] }, 'delete[1] occurs twice'],
    ] as const) {
      assertFailure(await bulk(body), 422, 'validation_error', [message]);
    }
    await world.close();
  },

  'two writers that have both seen a record: one writes, the other is told': async (store) => {
    const [world, second] = [await openWorld(store), await openWorld(store)];
    const customer = await world.customer();
    const { name } = await customer.namespace();
    let { updated_at: seen } = await customer.record(`a.r.${name}.v1`);
    for (let round = 0; round < 10; round++) {
      const body = { records: [{ key: `a.r.${name}.v1`, data: '', if_updated_at: seen }] };
      const answers = await Promise.all(
        [world, second].map((one) => one.caller(customer.token).post('/records/bulk', body)),
      );
      assert.equal(
        answers.map(({ status }) => status).reduce((sum, status) => sum + status),
        200 + 412,
      );
      const found = await customer.get(`/records?key=a.r.${name}.v1`);
      seen = found.json[0].updated_at;
    }
    await Promise.all([world.close(), second.close()]);
  },

  'stores, replaces and deletes by key, in the order of the request': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.namespace(), await customer.namespace()];
    const kept = await customer.record(`old.r.${one.name}.v1`, {
      ttl_seconds: 5,
      content_type: 'text/plain',
    });
    const doomed = await customer.record(`doomed.r.${one.name}.v1`);
    const answer = await customer.post('/records/bulk', {
      records: [
        { key: `B.r.${two.name}.v1`, data: 'AAAA' },
        { key: `old.r.${one.name}.v1`, data: 'eW8=', expires_in: 60 },
        { key: `a.r.${one.name}.v2`, data: '', content_type: 'text/html' },
      ],
      delete: [`never.r.${one.name}.v1`, `doomed.r.${one.name}.v1`],
    });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      answer.json.records.map((item: Json) => item.key),
      [`b.r.${two.name}.v1`, `old.r.${one.name}.v1`, `a.r.${one.name}.v2`],
    );
    assert.deepEqual(answer.json.deleted, [null, doomed.id]);
    assert.equal(answer.json.records[1].id, kept.id);
    const replaced = (await customer.get(`/records/${kept.id}`)).json;
    assert.ok(replaced.updated_at > kept.updated_at);
    assert.deepEqual(replaced, {
      ...kept,
      data: 'eW8=',
      content_type: 'application/octet-stream',
      ttl_seconds: 300,
      expires_at: '2026-01-01T00:01:00.000Z',
      updated_at: replaced.updated_at,
    });
    assert.equal((await customer.get('/me')).json.records_count, 3);
    assert.equal((await customer.get(`/namespaces/${one.id}`)).json.records_count, 2);
    assert.equal((await customer.get(`/namespaces/${two.id}`)).json.records_count, 1);
    const changes = (await world.changes()).slice(-4);
    assert.deepEqual(
      changes.map((change) => [change.type, 'key' in change && change.key, change.owner, change.cause]),
      [
        ['record.upserted', `b.r.${two.name}.v1`, customer.id, 'direct'],
        ['record.upserted', `old.r.${one.name}.v1`, customer.id, 'direct'],
        ['record.upserted', `a.r.${one.name}.v2`, customer.id, 'direct'],
        ['record.deleted', `doomed.r.${one.name}.v1`, customer.id, 'direct'],
      ],
    );
    assert.deepEqual(
      changes.map((change) => change.type === 'record.upserted' && change.namespace),
      [two.name, one.name, one.name, false],
    );
    await world.close();
  },

  'takes 1 to 500 items together, all of full size': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const data = Buffer.alloc(2586, 1).toString('base64');
    const full = items(500, name).map((item) => ({ ...item, data, content_type: `a/${'b'.repeat(125)}` }));
    assert.equal((await customer.post('/records/bulk', { records: full })).json.records.length, 500);
    const both = { records: items(499, name, 500), delete: [`k0.r.${name}.v1`] };
    assert.equal((await customer.post('/records/bulk', both)).status, 200);
    const message = ['records and delete must have 1 to 500 items together'];
    for (const body of [
      {},
      { records: [] },
      { records: [], delete: [] },
      { records: items(500, name), delete: [`k0.r.${name}.v1`] },
    ]) {
      assertFailure(await customer.post('/records/bulk', body), 422, 'validation_error', message);
    }
    const many = { records: items(501, name) };
    const tooMany = ['records must have at most 500 items'];
    assertFailure(await customer.post('/records/bulk', many), 422, 'validation_error', tooMany);
    assert.equal((await customer.get('/me')).json.records_count, 998);
    await world.close();
  },

  'every fault is told with its place, and nothing is written': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const { name } = await customer.namespace();
    const foreign = await other.namespace();
    const good = { key: `good.r.${name}.v1`, data: '' };
    for (const [body, ...messages] of [
      [{ records: {} }, 'records must be an array'],
      [{ delete: 'x' }, 'delete must be an array'],
      [{ records: [good], upsert: true }, 'upsert is not a known field'],
      [{ records: [good, 5] }, 'records[1] must be an object'],
      [
        { records: [good, { key: 'x', data: '*', ttl_seconds: '1', id: 'y' }], delete: [7, 'r'] },
        'records[1].id is not a known field',
        'records[1].key must be [<params>.]<resource>.<namespace>.<version>',
        'records[1].data is not strict Base64',
        'records[1].ttl_seconds must be an integer',
        'delete[0] must be a string',
        'delete[1] must be [<params>.]<resource>.<namespace>.<version>',
      ],
      [{ records: [good, { ...good, key: good.key.toUpperCase() }] }, 'records[1].key occurs twice'],
      [{ records: [good], delete: [good.key] }, 'delete[0] occurs twice'],
      [
        { records: [good, { key: `r.${foreign.name}.v1`, data: '' }, { key: 'r.never.v1', data: '' }] },
        'records[1].key has a namespace that does not exist',
        'records[2].key has a namespace that does not exist',
      ],
    ] as readonly (readonly [object, ...string[]])[]) {
      assertFailure(await customer.post('/records/bulk', body), 422, 'validation_error', messages);
    }
    assert.deepEqual((await customer.get('/records')).json, []);
    await world.close();
  },

  "another customer's record is like none": async (store) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const { name } = await owner.namespace();
    const record = await owner.record(`r.${name}.v1`);
    const answer = await other.post('/records/bulk', { delete: [`r.${name}.v1`, 'x.never.v1'] });
    assert.deepEqual([answer.status, answer.json], [200, { records: [], deleted: [null, null] }]);
    assert.equal((await owner.get(`/records/${record.id}`)).status, 200);
    await world.close();
  },

  'the cap counts the difference, atomically': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    const { name } = await customer.namespace();
    await customer.post('/records/bulk', { records: items(500, name) });
    assert.equal((await customer.post('/records/bulk', { records: items(499, name, 500) })).status, 200);
    const two = { records: items(2, name, 999) };
    assertFailure(await customer.post('/records/bulk', two), 422, 'quota_exceeded');
    assert.equal((await customer.get('/me')).json.records_count, 999);
    assert.equal((await customer.post('/records/bulk', { ...two, delete: [`k0.r.${name}.v1`] })).status, 200);
    assert.equal((await customer.get('/me')).json.records_count, 1000);
    // A full account may still replace, and delete.
    assert.equal((await customer.post('/records/bulk', { records: items(500, name, 1) })).status, 200);
    await world.close();
  },

  'records past their expiry are replaced as new and not deleted twice': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const old = await customer.record(`a.r.${name}.v1`, { expires_in: 1, data: 'c2VjcmV0' });
    await customer.record(`b.r.${name}.v1`, { expires_in: 1 });
    world.advance(1000);
    const body = { records: [{ key: `a.r.${name}.v1`, data: '' }], delete: [`b.r.${name}.v1`] };
    const { json } = await customer.post('/records/bulk', body);
    assert.notEqual(json.records[0].id, old.id);
    assert.deepEqual(json.deleted, [null]);
    assert.equal((await customer.get('/me')).json.records_count, 1);
    assert.equal(
      (await customer.get(`/records/${json.records[0].id}`)).json.created_at,
      '2026-01-01T00:00:01.000Z',
    );
    await runLoops(store, () => world.now());
    const changes = (await world.changes()).filter((change) => change.type.startsWith('record.'));
    assert.deepEqual(
      changes.map((change) => [change.type, change.cause, 'data' in change ? change.data : undefined]),
      [
        ['record.upserted', 'direct', null],
        ['record.upserted', 'direct', null],
        ['record.deleted', 'expiry', undefined],
        ['record.deleted', 'expiry', undefined],
        ['record.upserted', 'direct', ''],
      ],
    );
    await world.close();
  },
});
