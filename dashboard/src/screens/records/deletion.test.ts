import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NamespaceResource, TaggedRecord, Uqrp } from '../../../../sdk/src/uqrp-sdk.ts';
import { deleteRecord, holdRecords, undoDeletion } from './deletion.ts';

type Api = Pick<Uqrp, 'records' | 'namespaces'>;

function record(key: string, expires: string | null = null): TaggedRecord {
  const [resource = '', namespace = '', version = ''] = key.split('.');
  const at = '2026-11-22T20:00:00.000Z';
  return {
    ...{ id: `id of ${key}`, key, resource, namespace, version, data: 'YQ==', content_type: 'text/plain' },
    ...{ ttl_seconds: 300, expires_at: expires, created_at: at, updated_at: at, etag: '"mk3f0"' },
  };
}

function namespace(name: string, hasHistory: boolean): NamespaceResource {
  const at = '2026-11-22T20:00:00.000Z';
  return {
    ...{ id: `id of ${name}`, name, records_count: 1, max_ttl: 60, created_at: at, updated_at: at },
    ...(hasHistory && { history: { versions: 20, days: 90, since: at } }),
  };
}

/** An API that writes down what it is asked. */
function recorded(stored: readonly TaggedRecord[]): { api: Api; asked: unknown[] } {
  const asked: unknown[] = [];
  const byKey = (wanted: string) => stored.find(({ id, key }) => id === wanted || key === wanted) ?? null;
  const api = {
    records: {
      get: async (id: string) => byKey(id),
      find: async (key: string) => byKey(key),
      delete: async (id: string, { onWritten, ...options }: { onWritten?: (seq: string) => void }) => {
        asked.push(['delete', id, options]);
        onWritten?.('seq');
      },
      create: async (key: string, value: unknown, options: unknown) => {
        asked.push(['create', key, value, options]);
        return byKey(key);
      },
      bulk: async (items: unknown) => asked.push(['bulk', items]),
      list: async function* () {
        yield* stored;
      },
    },
    namespaces: {
      undo: async (id: string, write: string) => asked.push(['undo', id, write]),
    },
  };
  return { api: api as unknown as Api, asked };
}

const LATER = '2027-01-01T00:00:00.000Z';
const VALUE = { data: 'YQ==', content_type: 'text/plain', ttl_seconds: 300 };

describe('deletions that can be undone', () => {
  it('without history the record is written again as it was, and not over a newer one', async () => {
    const { api, asked } = recorded([{ ...record('a.acme.v1', LATER), encoding: 'plain' }]);
    const undo = await deleteRecord(api, 'id of a.acme.v1', { namespace: namespace('acme', false) });
    await undo?.();
    assert.deepEqual(asked, [
      ['delete', 'id of a.acme.v1', { ifMatch: '"mk3f0"' }],
      ['create', 'a.acme.v1', { ...VALUE, encoding: 'plain', expires_at: LATER }, { ifAbsent: true }],
    ]);
  });

  it('with history the write is undone; with its versions nothing brings it back', async () => {
    const { api, asked } = recorded([record('a.acme.v1')]);
    const undo = await deleteRecord(api, 'id of a.acme.v1', { namespace: namespace('acme', true) });
    await undo?.();
    assert.deepEqual(asked[1], ['undo', 'id of acme', 'seq']);
    const erased = await deleteRecord(api, 'id of a.acme.v1', {
      namespace: namespace('acme', true),
      erase: true,
    });
    assert.equal(erased, null);
    assert.deepEqual(asked[2], ['delete', 'id of a.acme.v1', { erase: true }]);
  });

  it('many come back from both, the last write first, and only what was deleted', async () => {
    const stored = ['a.acme.v1', 'b.bare.v1', 'c.bare.v1', 'd.acme.v1'].map((key) => record(key));
    const { api, asked } = recorded(stored);
    const namespaces = [namespace('acme', true), namespace('bare', false)];
    const held = await holdRecords(api, stored, {}, namespaces);
    assert.deepEqual(
      held?.held.map(({ key }) => key),
      ['b.bare.v1', 'c.bare.v1'],
    );
    const writes = [
      { seq: '1', keys: ['a.acme.v1', 'b.bare.v1'] },
      { seq: '2', keys: ['d.acme.v1'] },
    ];
    await undoDeletion(api, held!, writes, new Set(['a.acme.v1', 'b.bare.v1', 'd.acme.v1']));
    assert.deepEqual(asked, [
      ['undo', 'id of acme', '2'],
      ['undo', 'id of acme', '1'],
      ['bulk', { put: [{ key: 'b.bare.v1', ...VALUE, expires_at: null, if_updated_at: null }] }],
    ]);
  });

  it('more than one write of records without history is not held', async () => {
    const rows = Array.from({ length: 501 }, (_, n) => record(`n${n}.bare.v1`));
    const { api } = recorded([]);
    assert.equal(await holdRecords(api, rows, {}, [namespace('bare', false)]), null);
    assert.notEqual(await holdRecords(api, rows, {}, [namespace('bare', true)]), null);
  });
});
