import assert from 'node:assert/strict';
import { ACCEPTED, REFUSED, REFUSED_KEYS } from '../../../test/support/control/records/record-tables.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, created, openWorld, ZONE_LENGTH } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';

const FIELDS = [
  'id',
  'key',
  'resource',
  'namespace',
  'version',
  'data',
  'content_type',
  'ttl_seconds',
  'expires_at',
  'created_at',
  'updated_at',
];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Key room with a token in front: 253 less `get.`, `auth-` and 56 letters, two dots and the zone. */
const KEY_MAX = LIMITS.queryName - 4 - 61 - 1 - 1 - ZONE_LENGTH;

/** A valid key of `length` letters in namespace `ns`. */
function longKey(ns: string, length: number): string {
  const tail = `r.${ns}.v1`;
  let head = '';
  while (head.length + tail.length < length) {
    const room = length - head.length - tail.length;
    head = `${'a'.repeat(Math.min(room === 65 ? 62 : 63, room - 1))}.${head}`;
  }
  return head + tail;
}

apiScenarios('records', {
  'a record is created, fetched, changed and deleted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const answer = await customer.post('/records', {
      record: { key: `A.B.${name.toUpperCase()}.V1`, data: 'aGk=', content_type: 'text/plain' },
    });
    const record = created(answer);
    assert.deepEqual(Object.keys(record), FIELDS);
    assert.match(record.id, UUID);
    const at = '2026-01-01T00:00:00.000Z';
    assert.deepEqual(
      { ...record, id: null },
      {
        id: null,
        key: `a.b.${name}.v1`,
        resource: 'b',
        namespace: name,
        version: 'v1',
        data: 'aGk=',
        content_type: 'text/plain',
        ttl_seconds: 300,
        expires_at: null,
        created_at: at,
        updated_at: at,
      },
    );
    assert.deepEqual((await customer.get(`/records/${record.id}`)).json, record);
    assert.deepEqual((await customer.get(`/records/${record.id.toUpperCase()}`)).json, record);

    world.advance(1500);
    const patched = await customer.patch(`/records/${record.id}`, { record: { data: 'eW8=' } });
    assert.equal(patched.status, 200);
    assert.deepEqual(patched.json, { ...record, data: 'eW8=', updated_at: '2026-01-01T00:00:01.500Z' });

    const deleted = await customer.del(`/records/${record.id}`);
    assert.equal(deleted.status, 204);
    assert.equal(deleted.text, '');
    assert.equal(deleted.headers['content-type'], undefined);
    assertFailure(await customer.get(`/records/${record.id}`), 404, 'not_found', 'Record not found');
    assertFailure(await customer.del(`/records/${record.id}`), 404, 'not_found', 'Record not found');
    assertFailure(await customer.patch(`/records/${record.id}`, { record: { data: '' } }), 404, 'not_found');
    assert.equal((await customer.get('/me')).json.records_count, 0);
    await world.close();
  },

  'every accepted field': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    for (const [i, [label, fields, expected]] of ACCEPTED.entries()) {
      const record = await customer.record(`k${i}.r.${name}.v1`, fields);
      const seen = Object.fromEntries(Object.keys(expected).map((field) => [field, record[field]]));
      assert.deepEqual(seen, expected, label);
      assert.deepEqual((await customer.get(`/records/${record.id}`)).json, record, label);
    }
    for (const key of [
      longKey(name, KEY_MAX),
      `r.${name}.v${'9'.repeat(62)}`,
      `${'a'.repeat(63)}.${name}.v1`,
    ]) {
      assert.equal((await customer.record(key)).key, key);
    }
    await world.close();
  },

  'every refused field, with all faults at once': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const base = { key: `r.${name}.v1`, data: 'aGk=' };
    for (const [fields, ...messages] of REFUSED) {
      const answer = await customer.post('/records', { record: { ...base, ...fields } });
      assertFailure(answer, 422, 'validation_error', messages);
    }
    for (const [key, message] of [
      ...REFUSED_KEYS,
      [longKey(name, KEY_MAX + 1), `key is longer than ${KEY_MAX} characters`],
      [
        `r.${name}.v${'9'.repeat(63)}`,
        'key has a label that is not 1 to 63 letters, digits or inner hyphens',
      ],
    ] as const) {
      const record = { ...base, key: key.replace('NS', name) };
      assertFailure(await customer.post('/records', { record }), 422, 'validation_error', [message]);
    }
    assert.deepEqual((await customer.get('/records')).json, []);
    assert.equal((await customer.get('/me')).json.records_count, 0);
    await world.close();
  },

  'a key is taken once, whatever its case, and is free again after a delete': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const record = await customer.record(`r.${name}.v1`);
    const again = { record: { key: `R.${name}.v1`, data: '' } };
    const taken = ['Key has already been taken'];
    assertFailure(await customer.post('/records', again), 422, 'validation_error', taken);
    assert.equal((await customer.get('/me')).json.records_count, 1);
    await customer.del(`/records/${record.id}`);
    assert.notEqual(created(await customer.post('/records', again)).id, record.id);
    await world.close();
  },

  'PATCH changes only what is supplied, and its time always advances': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const record = await customer.record(`r.${name}.v1`, { content_type: 'text/plain', ttl_seconds: 5 });
    let before = record;
    for (const [fields, expected] of [
      [{ ttl_seconds: 9 }, { ttl_seconds: 9 }],
      [{ data: 'AAAA' }, { data: 'AAAA' }],
      [{ expires_in: 60 }, { expires_at: '2026-01-01T00:01:00.000Z' }],
      [{ ttl_seconds: 0 }, { ttl_seconds: 0 }],
      [{ expires_in: 0 }, { expires_at: null }],
      [{ expires_at: '2026-01-02T00:00:00Z' }, { expires_at: '2026-01-02T00:00:00.000Z' }],
      [
        { expires_at: null, data: '' },
        { expires_at: null, data: '' },
      ],
    ] as const) {
      const answer = await customer.patch(`/records/${record.id}`, { record: fields });
      assert.equal(answer.status, 200, answer.text);
      // The clock stands still: the record's own time moves all the same.
      assert.ok(answer.json.updated_at > before.updated_at);
      assert.deepEqual(answer.json, { ...before, ...expected, updated_at: answer.json.updated_at });
      before = answer.json;
    }
    for (const [fields, ...messages] of [
      [{ key: `x.${name}.v1` }, 'key cannot be changed'],
      [{ content_type: 'text/html' }, 'content_type cannot be changed'],
      [{ data: 'x' }, 'data is not strict Base64'],
      [{ ttl_seconds: '1' }, 'ttl_seconds must be an integer'],
      [{ expires_in: 1, expires_at: null }, 'expires_in and expires_at must not be given together'],
      [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at must be in the future'],
      [{}, 'record must have one of data, encoding, ttl_seconds, expires_in, expires_at'],
    ] as const) {
      const answer = await customer.patch(`/records/${record.id}`, { record: fields });
      assertFailure(answer, 422, 'validation_error', messages);
    }
    assert.deepEqual((await customer.get(`/records/${record.id}`)).json, before);
    await world.close();
  },

  'a record past its expiry is gone before it is erased': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id: namespaceId, name } = await customer.namespace();
    const record = await customer.record(`r.${name}.v1`, { expires_in: 10 });
    world.advance(9_999);
    assert.equal((await customer.get(`/records/${record.id}`)).status, 200);
    world.advance(1);
    assertFailure(await customer.get(`/records/${record.id}`), 404, 'not_found');
    assertFailure(
      await customer.patch(`/records/${record.id}`, { record: { expires_in: 0 } }),
      404,
      'not_found',
    );
    assertFailure(await customer.del(`/records/${record.id}`), 404, 'not_found');
    assert.deepEqual((await customer.get('/records')).json, []);
    assert.deepEqual((await customer.get('/records?limit=5')).json, []);

    const next = await customer.record(`r.${name}.v1`, { data: 'eW8=' });
    assert.notEqual(next.id, record.id);
    assert.equal((await customer.get('/me')).json.records_count, 1);
    // Of the namespace too (R01): deleting it would subtract too much from the account.
    assert.equal((await customer.get(`/namespaces/${namespaceId}`)).json.records_count, 1);
    await runLoops(store, () => world.now());
    const changes = (await world.changes()).filter((change) => change.type.startsWith('record.'));
    assert.deepEqual(
      changes.map(({ type, cause, ...rest }) => [type, cause, 'data' in rest ? rest.data : undefined]),
      [
        ['record.upserted', 'direct', null],
        ['record.deleted', 'expiry', undefined],
        ['record.upserted', 'direct', 'eW8='],
      ],
    );
    await world.close();
  },

  'other customers meet only 404': async (store) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const { name } = await owner.namespace();
    const record = await owner.record(`r.${name}.v1`);
    const path = `/records/${record.id}`;
    assertFailure(await other.get(path), 404, 'not_found', 'Record not found');
    assertFailure(await other.patch(path, { record: { data: '' } }), 404, 'not_found', 'Record not found');
    assertFailure(await other.del(path), 404, 'not_found', 'Record not found');
    assert.deepEqual((await other.get('/records')).json, []);
    const body = { record: { key: `x.${name}.v1`, data: '' } };
    assertFailure(await other.post('/records', body), 422, 'validation_error', [
      'key has a namespace that does not exist',
    ]);
    assert.deepEqual((await owner.get(path)).json, record);
    await world.close();
  },
});
