import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, openWorld } from '../../../test/support/http/world.ts';

apiScenarios('changes', {
  'a record tells the log of its life, and takes its payloads with it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id: namespaceId, name } = await customer.namespace();
    const key = `a.r.${name}.v2`;
    const { id } = await customer.record(key, { data: 'b25l', ttl_seconds: 7, content_type: 'text/plain' });
    world.advance(1000);
    await customer.patch(`/records/${id}`, { record: { data: 'dHdv', expires_in: 60 } });
    const owner = customer.id;
    const at = Date.UTC(2026, 0, 1);
    const namespace = { seq: 0, namespace: name, owner, cause: 'direct' };
    const created = {
      type: 'namespace.upserted',
      at,
      ...namespace,
      id: namespaceId,
      publicRead: false,
      suspended: false,
      maxTtl: 60,
      recordsCount: 0,
      createdAt: at,
      updatedAt: at,
    };
    const upserted = {
      type: 'record.upserted',
      ...namespace,
      key,
      resource: 'r',
      version: 'v2',
      contentType: 'text/plain',
      ttlSeconds: 7,
    };
    // The loops finish the deletions of other tests too.
    const renumbered = async () =>
      (await world.changes())
        .filter((change) => 'namespace' in change && change.namespace === name)
        .map((change) => ({ ...change, seq: 0 }));
    assert.deepEqual(await renumbered(), [
      created,
      { ...upserted, at, data: 'b25l', expiresAt: null },
      { ...upserted, at: at + 1000, data: 'dHdv', expiresAt: at + 61_000 },
    ]);
    await customer.del(`/records/${id}`);
    await runLoops(store, () => world.now());
    assert.deepEqual(await renumbered(), [
      created,
      { ...upserted, at, data: null, expiresAt: null },
      { ...upserted, at: at + 1000, data: null, expiresAt: at + 61_000 },
      { type: 'record.deleted', at: at + 1000, ...namespace, key },
    ]);
    await world.close();
  },

  'what is refused tells the log nothing, and uses up no number': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    const { name } = await customer.namespace();
    await customer.record(`r.${name}.v1`);
    const before = await store.changes.bounds();
    const body = { record: { key: `r.${name}.v1`, data: '' } };
    assertFailure(await customer.post('/records', body), 422, 'validation_error');
    await customer.post('/records/bulk', { records: [body.record, { key: 'r.never.v1', data: '' }] });
    await customer.post('/namespaces', { namespace: { name } });
    await customer.get('/records');
    await customer.key();
    assert.deepEqual(await store.changes.bounds(), before);
    await world.close();
  },
});
