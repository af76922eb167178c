import assert from 'node:assert/strict';
import { LIMITS } from '../../../core/limits.ts';
import { assertFailure, created, openWorld, type Scenarios, ZONE_LENGTH } from './world.ts';

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

const bytes = (length: number): string => Buffer.alloc(length, 7).toString('base64');

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

/** Fields beside key and data, and what they become. */
const ACCEPTED: readonly (readonly [string, object, object])[] = [
  [
    'defaults',
    {},
    { content_type: 'application/octet-stream', ttl_seconds: 300, expires_at: null, data: 'aGk=' },
  ],
  ['empty data', { data: '' }, { data: '' }],
  ['largest data', { data: bytes(2586) }, { data: bytes(2586) }],
  ['unpadded length', { data: 'AAAA' }, { data: 'AAAA' }],
  ['ttl 0', { ttl_seconds: 0 }, { ttl_seconds: 0 }],
  ['largest ttl', { ttl_seconds: 2147483647 }, { ttl_seconds: 2147483647 }],
  [
    'content type',
    { content_type: 'text/plain; charset=utf-8' },
    { content_type: 'text/plain; charset=utf-8' },
  ],
  [
    'longest content type',
    { content_type: `a/${'b'.repeat(125)}` },
    { content_type: `a/${'b'.repeat(125)}` },
  ],
  ['expires_in', { expires_in: 1 }, { expires_at: '2026-01-01T00:00:01.000Z' }],
  ['expires_in 0 is permanent', { expires_in: 0 }, { expires_at: null }],
  ['expires_at', { expires_at: '2026-01-01T01:00:00.5+01:00' }, { expires_at: '2026-01-01T00:00:00.500Z' }],
  ['expires_at null is permanent', { expires_at: null }, { expires_at: null }],
  ['latest expiry', { expires_at: '9999-12-31T23:59:59.999Z' }, { expires_at: '9999-12-31T23:59:59.999Z' }],
];

/** Fields beside a valid key and data, and every message that they bring. `undefined` takes a field away. */
const REFUSED: readonly (readonly [Record<string, unknown>, ...string[]])[] = [
  [{ data: undefined }, 'Data is required'],
  [{ data: null }, 'Data must be a string'],
  [{ data: 5 }, 'Data must be a string'],
  [{ data: 'aGk' }, 'Data is not strict Base64'],
  [{ data: 'aGk=\n' }, 'Data is not strict Base64'],
  [{ data: 'aGl=' }, 'Data is not strict Base64'],
  [{ data: 'a-_=' }, 'Data is not strict Base64'],
  [{ data: bytes(2587) }, 'Data is longer than 2586 bytes'],
  [{ data: bytes(40_000) }, 'Data is longer than 2586 bytes'],
  [{ key: undefined }, 'Key is required'],
  [{ key: 7 }, 'Key must be a string'],
  [{ ttl_seconds: '60' }, 'Ttl_seconds must be an integer'],
  [{ ttl_seconds: null }, 'Ttl_seconds must be an integer'],
  [{ ttl_seconds: 1.5 }, 'Ttl_seconds must be an integer'],
  [{ ttl_seconds: -1 }, 'Ttl_seconds must be between 0 and 2147483647'],
  [{ ttl_seconds: 2147483648 }, 'Ttl_seconds must be between 0 and 2147483647'],
  [{ content_type: 1 }, 'Content_type must be a string'],
  [{ content_type: '' }, 'Content_type is not a media type'],
  [{ content_type: 'text' }, 'Content_type is not a media type'],
  [{ content_type: 'text/plain\u0000' }, 'Content_type is not a media type'],
  [{ content_type: `a/${'b'.repeat(126)}` }, 'Content_type must have at most 127 characters'],
  [{ expires_in: -1 }, 'Expires_in must be between 0 and 251635075199'],
  [{ expires_in: 251635075200 }, 'Expires_in must be between 0 and 251635075199'],
  [{ expires_in: '5' }, 'Expires_in must be an integer'],
  [{ expires_in: null }, 'Expires_in must be an integer'],
  [{ expires_in: 5, expires_at: null }, 'Expires_in and expires_at must not be given together'],
  [{ expires_at: '2026-01-01T00:00:00Z' }, 'Expires_at must be in the future'],
  [{ expires_at: '2025-12-31T23:59:59Z' }, 'Expires_at must be in the future'],
  [{ expires_at: '2027-02-30T00:00:00Z' }, 'Expires_at is not an ISO 8601 date and time with a zone'],
  [{ expires_at: '2027-01-01T00:00:00' }, 'Expires_at is not an ISO 8601 date and time with a zone'],
  [{ expires_at: 1893456000 }, 'Expires_at must be a string'],
  [{ expires_at: '9999-12-31T23:59:59-01:00' }, 'Expires_at is later than the year 9999'],
  [{ colour: 'red' }, 'colour is not a known field'],
  [{ id: 'x' }, 'id is not a known field'],
  [
    { colour: 1, data: '*', ttl_seconds: '1', expires_in: true },
    'colour is not a known field',
    'Data is not strict Base64',
    'Ttl_seconds must be an integer',
    'Expires_in must be an integer',
  ],
];

/** Keys, with `NS` for the namespace, and the message that each brings. */
const REFUSED_KEYS: readonly (readonly [string, string])[] = [
  ['', 'Key must be [<params>.]<resource>.<namespace>.<version>'],
  ['NS.v1', 'Key must be [<params>.]<resource>.<namespace>.<version>'],
  ['.r.NS.v1', 'Key has a label that is not 1 to 63 letters, digits or inner hyphens'],
  ['r.NS.v1.', 'Key has a label that is not 1 to 63 letters, digits or inner hyphens'],
  ['r_x.NS.v1', 'Key has a label that is not 1 to 63 letters, digits or inner hyphens'],
  [`${'a'.repeat(64)}.NS.v1`, 'Key has a label that is not 1 to 63 letters, digits or inner hyphens'],
  ['auth-x.r.NS.v1', 'Key must not contain a label starting with auth-'],
  ['r.NS.1', 'Key must end in a version of the form v[1-9][0-9]*'],
  ['r.NS.v0', 'Key must end in a version of the form v[1-9][0-9]*'],
  ['r.NS.v01', 'Key must end in a version of the form v[1-9][0-9]*'],
  ['r.NS.v', 'Key must end in a version of the form v[1-9][0-9]*'],
  ['datasets.NS.v1', 'Key uses the reserved resource datasets'],
  ['manifest.datasets.public.v1', 'Key uses the reserved resource datasets'],
  ['manifest.r.public.v1', 'Key is reserved'],
  ['r.public.v1', 'Namespace does not exist'],
  ['r.never-made.v1', 'Namespace does not exist'],
];

export const recordScenarios: Scenarios = {
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
      [longKey(name, KEY_MAX + 1), `Key is longer than ${KEY_MAX} characters`],
      [
        `r.${name}.v${'9'.repeat(63)}`,
        'Key has a label that is not 1 to 63 letters, digits or inner hyphens',
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
      [{ key: `x.${name}.v1` }, 'key is not a known field'],
      [{ content_type: 'text/html' }, 'content_type is not a known field'],
      [{ data: 'x' }, 'Data is not strict Base64'],
      [{ ttl_seconds: '1' }, 'Ttl_seconds must be an integer'],
      [{ expires_in: 1, expires_at: null }, 'Expires_in and expires_at must not be given together'],
      [{ expires_at: '2020-01-01T00:00:00Z' }, 'Expires_at must be in the future'],
      [{}, 'Record must have one of data, ttl_seconds, expires_in, expires_at'],
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
    const { name } = await customer.namespace();
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
    const changes = (await world.changes()).filter((change) => change.type.startsWith('record.'));
    assert.deepEqual(
      changes.map(({ type, cause, ...rest }) => [type, cause, 'data' in rest ? rest.data : undefined]),
      [
        // The payload of the expired record left the log with it.
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
    assertFailure(await other.post('/records', body), 422, 'validation_error', ['Namespace does not exist']);
    assert.deepEqual((await owner.get(path)).json, record);
    await world.close();
  },
};
