import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { insertRows, updateRows } from '../../../test/support/store/rows.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import type { Store } from '../store.ts';

/** The present state as upserts. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('snapshot', () => {
    scenario('an empty store gives nothing', async (store) => {
      assert.deepEqual(await all(store), []);
    });

    scenario(
      'namespaces, then tokens until a day after their end (seed 545235227), then records',
      async (_, open) => {
        const store = await open(() => 86_400_500);
        const home = await settle(store);
        await mint(store, home.namespaceId, { digest: 'kept', expires_at: 501 });
        await mint(store, home.namespaceId, { digest: 'over', expires_at: 500 });
        await mint(store, home.namespaceId, { digest: 'gone', expires_at: 90_000_000, revoked_at: 100 });
        await store.write((tx) => putRecord(tx, home, 'a', { expires_at: 700 }));
        const { namespaceId: id, namespace } = home;
        assert.deepEqual(await all(store), [
          {
            type: 'namespace.upserted',
            namespace,
            id,
            publicRead: true,
            suspended: false,
            maxTtl: 60,
            recordsCount: 1,
            createdAt: 1,
            updatedAt: 2,
          },
          { type: 'token.minted', namespace, digest: 'kept', expiresAt: 501 },
          {
            type: 'record.upserted',
            key: 'a.doc.acme.v1',
            namespace,
            resource: 'doc',
            version: 'v1',
            data: Buffer.from('payload of a').toString('base64'),
            contentType: 'text/plain',
            ttlSeconds: 300,
            expiresAt: 700,
          },
        ]);
      },
    );

    scenario('has no token of a namespace that is being deleted (seed 1553997698)', async (store) => {
      const home = await settle(store);
      await mint(store, home.namespaceId, { digest: 'revoked', expires_at: Number.MAX_SAFE_INTEGER });
      await store.write((tx) => updateRows(tx, 'namespaces', { closing: 1 }, { id: home.namespaceId }));
      const types = (await all(store)).map(({ type }) => type);
      assert.deepEqual(types, ['namespace.upserted']);
    });

    scenario('pages hold every record once while writes go on, with the log for the rest', async (store) => {
      const home = await settle(store);
      await store.write(async (tx) => {
        for (let index = 0; index < 1_201; index++) await putRecord(tx, home, `k${index}`);
      });
      const { seq, pages } = await store.changes.openSnapshot();
      const seen: string[] = [];
      let late = 0;
      for await (const page of pages) {
        for (const body of page) if (body.type === 'record.upserted') seen.push(body.key);
        await store.write((tx) => putRecord(tx, home, `late${late++}`));
      }
      assert.equal(new Set(seen).size, seen.length);
      for (const change of await changesAfter(store.changes, seq, 100)) {
        if (change.type === 'record.upserted') seen.push(change.key);
      }
      assert.equal(new Set(seen).size, 1_201 + late);
    });
  });
});

async function all(store: Store): Promise<ChangeBody[]> {
  const bodies: ChangeBody[] = [];
  const { pages } = await store.changes.openSnapshot();
  for await (const page of pages) bodies.push(...page);
  return bodies;
}

async function mint(
  store: Store,
  namespaceId: string,
  token: { digest: string; expires_at: number; revoked_at?: number },
): Promise<void> {
  const fixed = {
    id: randomUUID(),
    namespace_id: namespaceId,
    name: 'token',
    revoked_at: null,
    created_at: 1,
  };
  await store.write((tx) => insertRows(tx, 'query_tokens', { ...fixed, ...token }));
}
