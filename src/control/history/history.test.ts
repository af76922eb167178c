import assert from 'node:assert/strict';
import {
  keep,
  keepingNamespace,
  listed,
  text,
  usedVersions,
} from '../../../test/support/control/history/versions.ts';
import { newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, created, type Json, newName, openWorld } from '../../../test/support/http/world.ts';
import { setSuspended } from '../namespaces/rules.ts';

const NONE = ['this namespace keeps no history'];
const KEEP = { versions: 20, days: 90 };

apiScenarios('history', {
  'the owner switches it on, changes and ends it; the namespace shows it meanwhile': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const shown = await keep(customer, id);
    assert.deepEqual(shown.history, { ...KEEP, since: '2026-01-01T00:00:00.000Z' });
    world.advance(5_000);
    assert.deepEqual((await keep(customer, id, { versions: 1, days: 365 })).history, {
      versions: 1,
      days: 365,
      since: '2026-01-01T00:00:00.000Z',
    });
    assert.deepEqual((await customer.get('/namespaces')).json[0].history.versions, 1);
    // As the log has it, from which events of webhooks are made.
    const logged = async () => {
      const change = (await world.changes()).at(-1)!;
      return change.type === 'namespace.upserted' && change.history;
    };
    assert.partialDeepStrictEqual(await logged(), { versions: 1 });
    assert.equal('history' in (await keep(customer, id, null)), false);
    assert.equal(await logged(), undefined);
    assert.equal((await keep(customer, id)).history.since, '2026-01-01T00:00:05.000Z');
    assert.partialDeepStrictEqual(await logged(), { since: world.now() });
    for (const [history, ...faults] of [
      [{ versions: 0, days: 1 }, 'history.versions must be between 1 and 100'],
      [
        { versions: 101, days: 366 },
        'history.versions must be between 1 and 100',
        'history.days must be between 1 and 365',
      ],
      [{ versions: 1 }, 'history.days is required'],
      [7, 'history must be an object'],
    ] as const) {
      const answer = await customer.patch(`/namespaces/${id}`, { namespace: { history } });
      assertFailure(answer, 422, 'validation_error', faults);
    }
    const key = await customer.key({ operations: ['read', 'write'] });
    const byKey = await key.patch(`/namespaces/${id}`, { namespace: { history: null } });
    assertFailure(byKey, 403, 'authorization_error');
    await world.close();
  },

  'versions are listed, read and restored; numbers go on over deletions': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const key = `r.${name}.v1`;
    const record = await customer.record(key, { data: text('one'), content_type: 'text/plain' });
    const path = `/records/${record.id}`;
    world.advance(1_000);
    await customer.patch(path, { record: { data: text('two'), ttl_seconds: 9 } });
    world.advance(1_000);
    await customer.patch(path, { record: { data: text('three') } });
    const page = await customer.get(`${path}/versions`);
    assert.deepEqual(page.json, {
      versions: [
        {
          version: 3,
          valid_from: '2026-01-01T00:00:02.000Z',
          valid_to: null,
          cause: null,
          content_type: 'text/plain',
          ttl_seconds: 9,
          expires_at: null,
          bytes: 5,
        },
        {
          version: 2,
          valid_from: '2026-01-01T00:00:01.000Z',
          valid_to: '2026-01-01T00:00:02.000Z',
          cause: 'write',
          content_type: 'text/plain',
          ttl_seconds: 9,
          expires_at: null,
          bytes: 3,
        },
        {
          version: 1,
          valid_from: '2026-01-01T00:00:00.000Z',
          valid_to: '2026-01-01T00:00:01.000Z',
          cause: 'write',
          content_type: 'text/plain',
          ttl_seconds: 300,
          expires_at: null,
          bytes: 3,
        },
      ],
      meta: { limit: 50, next_cursor: null, has_more: false },
    });
    const first = await customer.get(`${path}/versions?limit=2`);
    assert.equal(first.json.meta.has_more, true);
    const rest = await customer.get(`${path}/versions?limit=2&cursor=${first.json.meta.next_cursor}`);
    assert.deepEqual(
      [...first.json.versions, ...rest.json.versions].map((one: Json) => one.version),
      [3, 2, 1],
    );
    assertFailure(await customer.get(`${path}/versions?cursor=AAAA`), 400, 'validation_error');
    assertFailure(await customer.get(`${path}/versions?limit=101`), 400, 'validation_error');
    assert.equal((await customer.get(`${path}/versions/1`)).json.data, text('one'));
    assert.equal((await customer.get(`${path}/versions/3`)).json.data, text('three'));
    for (const number of ['4', '0', 'x', '-1']) {
      assertFailure(await customer.get(`${path}/versions/${number}`), 404, 'not_found', 'Version not found');
    }
    assert.equal(await usedVersions(customer), 2);

    const stale = await customer.send('POST', `${path}/restore`, { version: 1 }, { 'if-match': '"x"' });
    assertFailure(stale, 412, 'validation_error', 'If-Match does not match the record');
    const { headers } = await customer.get(path);
    const restored = await customer.send(
      'POST',
      `${path}/restore`,
      { version: 1 },
      {
        'if-match': String(headers.etag),
      },
    );
    assert.equal(restored.status, 200, restored.text);
    assert.deepEqual([restored.json.data, restored.json.ttl_seconds], [text('one'), 300]);
    assert.notEqual(restored.headers.etag, headers.etag);
    assert.ok(restored.headers['x-service-seq']);
    assertFailure(
      await customer.post(`${path}/restore`, { version: 9 }),
      404,
      'not_found',
      'Version not found',
    );

    await customer.del(path);
    const ofKey = `/namespaces/${id}/versions?key=${key.toUpperCase()}`;
    assert.deepEqual(await listed(customer, ofKey), ['4 delete', '3 write', '2 write', '1 write']);
    assertFailure(await customer.get(`${path}/versions`), 404, 'not_found', 'Record not found');
    const again = await customer.post(`/namespaces/${id}/restore`, { key, version: 2 });
    assert.equal(again.status, 201, again.text);
    assert.equal(again.json.data, text('two'));
    assert.notEqual(again.json.id, record.id);
    assert.match(String(again.headers.location), new RegExp(`/api/v1/records/${again.json.id}$`));
    assert.deepEqual((await listed(customer, ofKey))[0], '5 null');
    const taken = await customer.post(`/namespaces/${id}/restore`, { key, version: 2 });
    assertFailure(taken, 422, 'validation_error', ['Key has already been taken']);
    const other = await customer.post(`/namespaces/${id}/restore`, { key: 'r.other.v1', version: 2 });
    assertFailure(other, 422, 'validation_error', ['key is of another namespace']);
    const types = (await world.changes()).map(({ type }) => type).filter((type) => type.startsWith('record'));
    assert.deepEqual(types.slice(-3), ['record.upserted', 'record.deleted', 'record.upserted']);
    await world.close();
  },

  'without history nothing is kept, and each request says so': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const record = await customer.record(`r.${name}.v1`);
    const answer = await customer.patch(`/records/${record.id}`, { record: { data: '' } });
    const seq = String(answer.headers['x-service-seq']);
    for (const refused of [
      await customer.get(`/records/${record.id}/versions`),
      await customer.get(`/records/${record.id}/versions/1`),
      await customer.get(`/namespaces/${id}/versions?key=r.${name}.v1`),
      await customer.post(`/records/${record.id}/restore`, { version: 1 }),
      await customer.post(`/namespaces/${id}/restore`, { key: `x.r.${name}.v1`, version: 1 }),
      await customer.post(`/namespaces/${id}/undo`, { write: seq }),
      await customer.get(`/namespaces/${id}/export?at=2026-01-01T00:00:00Z`),
      await customer.del(`/records/${record.id}/versions`),
      await customer.del(`/namespaces/${id}/versions?key=r.${name}.v1`),
    ]) {
      assertFailure(refused, 422, 'validation_error', NONE);
    }
    for (const path of [`/records/${record.id}?erase=perhaps`, `/records/${record.id}?x=1`]) {
      assertFailure(await customer.del(path), 400, 'validation_error');
    }
    assert.equal((await customer.del(`/records/${record.id}?erase=true`)).status, 204);
    await world.close();
  },

  'a write is undone whole, or not at all': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const key = (letter: string): string => `${letter}.r.${name}.v1`;
    const all = async (): Promise<string[]> =>
      (await customer.get(`/records?namespace=${name}`)).json
        .map((one: Json) => `${one.key.split('.')[0]} ${Buffer.from(one.data, 'base64').toString()}`)
        .sort();
    await customer.post('/records/bulk', {
      records: [
        { key: key('a'), data: text('a1') },
        { key: key('b'), data: text('b1') },
      ],
    });
    const before = await all();
    const write = await customer.post('/records/bulk', {
      records: [
        { key: key('a'), data: text('a2') },
        { key: key('c'), data: text('c1') },
      ],
      delete: [key('b')],
    });
    const undo = { write: String(write.headers['x-service-seq']) };
    const path = `/namespaces/${id}/undo`;
    const later = await customer.post('/records', { record: { key: key('b'), data: text('b9') } });
    const refused = await customer.post(path, undo);
    assertFailure(refused, 412, 'validation_error', `changed after the write: ${key('b')}`);
    assert.deepEqual(await all(), ['a a2', 'b b9', 'c c1']);
    // The undo of that later write: what it made is deleted. Then b is as the first write left it, but it has changed since.
    const own = await customer.post(path, { write: String(later.headers['x-service-seq']) });
    assert.deepEqual(own.json, { restored: [], deleted: [{ id: later.json.id, key: key('b') }] });
    assertFailure(await customer.post(path, undo), 412, 'validation_error');

    const second = await customer.post('/records/bulk', {
      records: [
        { key: key('a'), data: text('a3') },
        { key: key('d'), data: text('d1') },
      ],
      delete: [key('c')],
    });
    const undone = await customer.post(path, { write: String(second.headers['x-service-seq']) });
    assert.equal(undone.status, 200, undone.text);
    assert.deepEqual(
      undone.json.restored.map((one: Json) => one.key),
      [key('a'), key('c')],
    );
    assert.deepEqual(
      undone.json.deleted.map((one: Json) => one.key),
      [key('d')],
    );
    assert.deepEqual(await all(), ['a a2', 'c c1']);
    assert.equal(before.length, 2);
    // An undo is a write: it can be undone.
    const back = await customer.post(path, { write: String(undone.headers['x-service-seq']) });
    assert.equal(back.status, 200, back.text);
    assert.deepEqual(await all(), ['a a3', 'd d1']);

    // A write of which a version was erased cannot be undone in part.
    const third = await customer.post('/records/bulk', { delete: [key('a'), key('d')] });
    assert.equal((await customer.del(`/namespaces/${id}/versions?key=${key('a')}`)).status, 204);
    const partly = await customer.post(path, { write: String(third.headers['x-service-seq']) });
    assertFailure(partly, 404, 'not_found', 'Version not found');
    for (const wrong of ['', 'abc', (await other(world)).seq]) {
      const answer = await customer.post(path, { write: wrong });
      assertFailure(answer, 422, 'validation_error', [
        'write is not a value of X-Service-Seq of this account',
      ]);
    }
    await world.close();
  },

  'a restore and an undo with an Idempotency-Key are done once, also when the answer is asked for again':
    async (store) => {
      const world = await openWorld(store);
      const customer = await world.customer();
      const { id, name } = await keepingNamespace(customer);
      const record = await customer.record(`r.${name}.v1`, { data: text('one') });
      const path = `/records/${record.id}`;
      const last = await customer.patch(path, { record: { data: text('two') } });
      const twice = async (where: string, body: unknown): Promise<Json[]> => {
        const headers = { 'idempotency-key': `${where} ${name}` };
        const answers = [];
        for (let i = 0; i < 2; i++) answers.push((await customer.send('POST', where, body, headers)).json);
        return answers;
      };
      const undone = await twice(`/namespaces/${id}/undo`, { write: String(last.headers['x-service-seq']) });
      assert.deepEqual(undone[0], undone[1]);
      assert.deepEqual(await listed(customer, `${path}/versions`), ['3 null', '2 write', '1 write']);
      const restored = await twice(`${path}/restore`, { version: 2 });
      assert.deepEqual(restored[0], restored[1]);
      assert.equal(restored[1].data, text('two'));
      await customer.patch(path, { record: { data: text('five') } });
      // What has been written since is not what the restore gave.
      const [late] = await twice(`${path}/restore`, { version: 2 });
      assert.equal('data' in late, false);
      assert.equal((await listed(customer, `${path}/versions`))[0], '5 null');
      await world.close();
    },

  'a member who is no owner cannot switch it on, change or end it, and restores and reads as ever': async (
    store,
  ) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { asOwner } = organization;
    const { id, name } = created(await asOwner.post('/namespaces', { namespace: { name: newName() } }));
    await keep(asOwner, id);
    const key = `r.${name}.v1`;
    const record = created(await asOwner.post('/records', { record: { key, data: text('first') } }));
    const { session } = await newMember(world, organization);
    for (const history of [KEEP, { versions: 1, days: 1 }, null]) {
      assertFailure(
        await session.patch(`/namespaces/${id}`, { namespace: { history } }),
        403,
        'authorization_error',
      );
    }
    assert.deepEqual((await asOwner.get(`/namespaces/${id}`)).json.history.versions, KEEP.versions);
    assert.equal((await session.patch(`/records/${record.id}`, { record: { data: '' } })).status, 200);
    assert.deepEqual(await listed(session, `/records/${record.id}/versions`), ['2 null', '1 write']);
    assert.equal((await session.post(`/records/${record.id}/restore`, { version: 1 })).status, 200);
    await world.close();
  },

  'a key sees and does what its scopes allow; a suspended namespace takes nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const record = await customer.record(`r.${name}.v1`, { data: text('secret') });
    const path = `/records/${record.id}`;
    const last = await customer.patch(path, { record: { data: '' } });
    const undo = { write: String(last.headers['x-service-seq']) };
    const writer = await customer.key({ operations: ['write'] });
    const restored = await writer.post(`${path}/restore`, { version: 1 });
    assert.equal(restored.status, 200, restored.text);
    assert.equal('data' in restored.json, false);
    for (const read of [
      `${path}/versions`,
      `${path}/versions/1`,
      `/namespaces/${id}/versions?key=r.${name}.v1`,
    ]) {
      assertFailure(await writer.get(read), 403, 'authorization_error', 'API key lacks the read scope');
    }
    const reader = await customer.key({ operations: ['read'] });
    assert.equal((await reader.get(`${path}/versions/1`)).json.data, text('secret'));
    assertFailure(await reader.post(`${path}/restore`, { version: 1 }), 403, 'authorization_error');
    assertFailure(await reader.del(`${path}/versions`), 403, 'authorization_error');
    const elsewhere = await customer.namespace();
    const scoped = await customer.key({ operations: ['read', 'write'], namespaces: [elsewhere.name] });
    for (const answer of [
      await scoped.get(`${path}/versions`),
      await scoped.get(`${path}/versions/1`),
      await scoped.get(`/namespaces/${id}/versions?key=r.${name}.v1`),
      await scoped.get(`/namespaces/${id}/export?at=2026-01-01T00:00:00Z`),
      await scoped.post(`${path}/restore`, { version: 1 }),
      await scoped.post(`/namespaces/${id}/restore`, { key: `r.${name}.v1`, version: 1 }),
      await scoped.post(`/namespaces/${id}/undo`, undo),
      await scoped.del(`${path}/versions`),
      await scoped.del(`/namespaces/${id}/versions?key=r.${name}.v1`),
    ]) {
      assertFailure(answer, 403, 'authorization_error', 'API key does not reach this namespace');
    }
    const { caller } = await other(world);
    for (const answer of [
      await caller.get(`${path}/versions`),
      await caller.post(`${path}/restore`, { version: 1 }),
      await caller.post(`/namespaces/${id}/undo`, undo),
      await caller.get(`/namespaces/${id}/versions?key=r.${name}.v1`),
    ]) {
      assertFailure(answer, 404, 'not_found');
    }
    await setSuspended(world.deps, name, true);
    for (const answer of [
      await customer.post(`${path}/restore`, { version: 1 }),
      await customer.post(`/namespaces/${id}/restore`, { key: `r.${name}.v1`, version: 1 }),
      await customer.post(`/namespaces/${id}/undo`, undo),
      await customer.del(`${path}/versions`),
      await customer.del(`/namespaces/${id}/versions?key=r.${name}.v1`),
      await customer.patch(`/namespaces/${id}`, { namespace: { history: null } }),
    ]) {
      assertFailure(answer, 403, 'authorization_error', 'Namespace is suspended');
    }
    await world.close();
  },
});

/** Another account, with a write of its own. */
async function other(world: Awaited<ReturnType<typeof openWorld>>) {
  const caller = await world.customer();
  const { name } = await caller.namespace();
  const answer = await caller.post('/records', { record: { key: `r.${name}.v1`, data: '' } });
  return { caller, seq: String(answer.headers['x-service-seq']) };
}
