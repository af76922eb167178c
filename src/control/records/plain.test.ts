import assert from 'node:assert/strict';
import { keepingNamespace, text } from '../../../test/support/control/history/versions.ts';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, created, type Json, openWorld } from '../../../test/support/http/world.ts';
import { decodeChange, encodeChange } from '../../protocol/changes/change-codec.ts';
import type { Store } from '../../store/store.ts';
import { eventOf } from '../webhooks/events.ts';

const NOT_PLAIN = 'data has octets that plain text cannot have';
const byKey = (a: Json, b: Json): number => (a.key < b.key ? -1 : 1);
const lines = (ndjson: string): Json[] =>
  ndjson
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** The last change of the log. */
async function lastChange(store: Store) {
  const { head } = await store.changes.bounds();
  const [change] = await changesAfter(store.changes, head - 1, 1);
  assert.ok(change?.type === 'record.upserted');
  return change;
}

/** How a snapshot of the tables carries each record. */
async function snapshotEncodings(store: Store): Promise<Map<string, string | undefined>> {
  const { pages } = await store.changes.openSnapshot();
  const found = new Map<string, string | undefined>();
  for await (const page of pages) {
    for (const body of page) if (body.type === 'record.upserted') found.set(body.key, body.encoding);
  }
  return found;
}

apiScenarios('plain text', {
  'POST and PATCH keep the encoding and check the octets; other records have no such member': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const make = (label: string, record: object) =>
      customer.post('/records', { record: { key: `${label}.r.${name}.v1`, ...record } });
    const plain = created(await make('a', { data: text('grüße; a=b'), encoding: 'plain' }));
    const other = created(await make('b', { data: text('b\n'), encoding: 'b64' }));
    assert.deepEqual([plain.encoding, 'encoding' in other], ['plain', false]);
    const octets = [...Array(0x20).keys(), ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i)];
    for (const point of octets) {
      const data = text(`x${String.fromCodePoint(point)}`);
      const refused = await make('c', { data, encoding: 'plain' });
      assertFailure(refused, 422, 'validation_error', [NOT_PLAIN]);
    }
    for (const data of [
      Buffer.of(0xff),
      Buffer.of(0xc3),
      Buffer.of(0xc0, 0xaf),
      Buffer.of(0xed, 0xa0, 0x80),
    ]) {
      const refused = await make('c', { data: data.toString('base64'), encoding: 'plain' });
      assertFailure(refused, 422, 'validation_error', [NOT_PLAIN]);
    }
    for (const kept of [' ~', '\u00a0', '"\\', '\ufeff', '\u{1f600}', '', 'x'.repeat(2586)]) {
      const done = await make('c', { data: text(kept), encoding: 'plain' });
      assert.equal(created(done).data, text(kept));
      await customer.del(`/records/${done.json.id}`);
    }
    const tooLong = await make('c', { data: text('x'.repeat(2587)), encoding: 'plain' });
    assertFailure(tooLong, 422, 'validation_error', ['data is longer than 2586 bytes']);

    const path = `/records/${plain.id}`;
    const patch = (record: object, to = path) => customer.patch(to, { record });
    assertFailure(await patch({ data: text('\t') }), 422, 'validation_error', [NOT_PLAIN]);
    const shorter = (await patch({ ttl_seconds: 9 })).json;
    assert.deepEqual(shorter, { ...plain, ttl_seconds: 9, updated_at: shorter.updated_at });
    const { head } = await store.changes.bounds();
    const back = (await patch({ encoding: 'b64' })).json;
    const { encoding: _, ...bare } = shorter;
    assert.deepEqual(back, { ...bare, updated_at: back.updated_at });
    assert.ok(back.updated_at > shorter.updated_at);
    assert.equal((await store.changes.bounds()).head, head + 1);
    assert.equal((await patch({ data: text('\t') })).status, 200);
    assertFailure(await patch({ encoding: 'plain' }), 422, 'validation_error', [NOT_PLAIN]);
    assert.equal((await patch({ encoding: 'plain', data: text('t') })).json.encoding, 'plain');
    assert.equal((await patch({ encoding: 'b64', data: text('\t') })).json.encoding, undefined);
    assertFailure(await patch({ encoding: 'x' }), 422, 'validation_error', ['encoding must be b64 or plain']);
    assert.deepEqual((await customer.get(`/records/${other.id}`)).json, other);
    await world.close();
  },

  'bulk writes, listings, exports and events': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const item = (label: string, more: object = {}) => ({
      key: `${label}.r.${name}.v1`,
      data: text(label),
      ...more,
    });
    const bulk = (...records: object[]) => customer.post('/records/bulk', { records });
    const wrong = { data: text('\n'), encoding: 'plain' };
    const refused = await bulk(item('a'), item('b', wrong), item('c', { encoding: 'xml' }));
    assertFailure(refused, 422, 'validation_error', [
      `records[1].${NOT_PLAIN}`,
      'records[2].encoding must be b64 or plain',
    ]);
    assert.equal((await bulk(item('a'), item('b', { encoding: 'plain' }))).status, 200);
    const change = await lastChange(store);
    assert.equal(change.encoding, 'plain');
    assert.deepEqual(eventOf(change), {
      event: 'record.upserted',
      data: {
        key: `b.r.${name}.v1`,
        namespace: name,
        resource: 'r',
        version: 'v1',
        content_type: 'application/octet-stream',
        ttl_seconds: 300,
        data: text('b'),
      },
    });
    const listed = (await customer.get(`/records?namespace=${name}`)).json;
    assert.deepEqual(
      listed.sort(byKey).map((record: Json) => record.encoding),
      [undefined, 'plain'],
    );
    const exported = lines((await customer.get(`/namespaces/${id}/export`)).text).sort(byKey);
    assert.deepEqual(exported.map(Object.keys), [
      ['key', 'data', 'content_type', 'ttl_seconds', 'expires_at'],
      ['key', 'data', 'content_type', 'encoding', 'ttl_seconds', 'expires_at'],
    ]);
    const encodings = await snapshotEncodings(store);
    assert.deepEqual(
      exported.map(({ key }) => encodings.get(key)),
      [undefined, 'plain'],
    );
    // A line of an export is an item of a bulk write. An upsert without the member is in Base64 again.
    assert.equal((await bulk(...exported.map((line) => ({ ...line, ttl_seconds: 7 })))).status, 200);
    assert.equal((await lastChange(store)).encoding, 'plain');
    assert.equal((await bulk(item('b'))).status, 200);
    assert.equal('encoding' in (await lastChange(store)), false);
    await world.close();
  },

  'versions keep it: restore, restore of a deleted record, undo and the export of a time': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await keepingNamespace(customer);
    const key = `r.${name}.v1`;
    const fields = { data: text('one'), encoding: 'plain' };
    const record = created(await customer.post('/records', { record: { key, ...fields } }));
    const path = `/records/${record.id}`;
    const encodingNow = async () => (await customer.get(`/records?key=${key}`)).json[0].encoding;
    const then = world.now();
    world.advance(1_000);
    const write = await customer.patch(path, { record: { encoding: 'b64' } });
    assert.deepEqual(
      (await customer.get(`${path}/versions`)).json.versions.map((version: Json) => version.encoding),
      [undefined, 'plain'],
    );
    assert.equal((await customer.get(`${path}/versions/1`)).json.encoding, 'plain');
    assert.equal('encoding' in (await customer.get(`${path}/versions/2`)).json, false);
    const exported = await customer.get(`/namespaces/${id}/export?at=${new Date(then + 1).toISOString()}`);
    assert.deepEqual(
      lines(exported.text).map((line) => line.encoding),
      ['plain'],
    );
    world.advance(1_000);
    const undone = await customer.post(`/namespaces/${id}/undo`, { write: write.headers['x-service-seq'] });
    assert.equal(undone.status, 200, undone.text);
    assert.equal(await encodingNow(), 'plain');
    assert.equal((await customer.post(`${path}/restore`, { version: 2 })).status, 200);
    assert.equal(await encodingNow(), undefined);
    assert.equal((await customer.post(`${path}/restore`, { version: 1 })).json.encoding, 'plain');
    await customer.del(path);
    const again = await customer.post(`/namespaces/${id}/restore`, { key, version: 3 });
    assert.equal(again.json.encoding, 'plain', again.text);
    await world.close();
  },

  'a node of an earlier release leaves the member of the change out': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const fields = { data: text('a;b=c;d=e'), encoding: 'plain' };
    created(await customer.post('/records', { record: { key: `r.${name}.v1`, ...fields } }));
    const change = await lastChange(store);
    const row = encodeChange(change);
    const { encoding, ...members } = JSON.parse(row.body);
    assert.equal(encoding, 'plain');
    assert.deepEqual(decodeChange(row), change);
    const { encoding: _, ...rest } = change;
    assert.deepEqual(decodeChange({ ...row, body: JSON.stringify(members) }), rest);
    // What a later release may write is in Base64 too.
    const later = JSON.stringify({ ...members, encoding: 'aes' });
    assert.deepEqual(decodeChange({ ...row, body: later }), rest);
    await world.close();
  },
});
