import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { TEST_SERVICE } from '../../../test/support/http/server-parts.ts';
import { newName, openWorld, PUBLIC_URL } from '../../../test/support/http/world.ts';
import { itemLines, withDatasets } from '../../../test/support/store/dataset-world.ts';
import type { Store } from '../../store/store.ts';
import { retireDataset } from './versions.ts';

apiScenarios('datasets', {
  'datasets are listed by slug, with the manifest of the latest version, to callers without a credential':
    async (store: Store) => {
      const world = await openWorld(store);
      const nobody = world.caller(null);
      const slug = newName();
      await withDatasets(async (datasets) => {
        const versions = ['1.9.0', '1.10.0', '1.2.0'];
        for (const version of versions) {
          await datasets.import(store, datasets.sign(version, itemLines(3, 2), { slug }));
        }
        const { signed } = datasets.sign('1.10.0', itemLines(3, 2), { slug });
        const answer = await nobody.get(`/datasets/${slug}`);
        assert.equal(answer.status, 200);
        assert.equal(answer.headers['cache-control'], 'public, max-age=60');
        const { latest, version_numbers: numbers, versions: listed } = answer.json;
        const { items, windows, octets, published_at: published, ...manifest } = latest;
        assert.deepEqual(manifest, signed);
        assert.deepEqual(
          { items, windows, octets },
          { items: 3, windows: 6, octets: itemLines(3, 2).length },
        );
        assert.match(published, /^\d{4}-.*Z$/);
        assert.deepEqual(numbers, ['1.10.0', '1.9.0', '1.2.0']);
        assert.deepEqual(
          listed.map((one: { version: string }) => one.version),
          numbers,
        );
        const { versions: _, ...short } = answer.json;
        const all = await nobody.get('/datasets?limit=100');
        assert.deepEqual(
          all.json.find((one: { slug: string }) => one.slug === slug),
          short,
        );
        const tag = String(answer.headers.etag);
        const send = (etag: string) =>
          nobody.send('GET', `/datasets/${slug}`, undefined, { 'if-none-match': etag });
        const again = await send(tag);
        assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', tag]);
        await retireDataset({ store, clock: world.now }, slug, '1.10.0');
        const after = await send(tag);
        assert.equal(after.status, 200);
        assert.equal(after.json.latest.version, '1.9.0');
        assert.equal((await world.caller('0'.repeat(64)).get(`/datasets/${slug}`)).status, 200);
        await retireDataset({ store, clock: world.now }, slug, null);
        assert.equal((await send(tag)).status, 404);
        assert.ok(!(await nobody.get('/datasets')).text.includes(slug));
      });
      await world.close();
    },

  'datasets come in pages, and what is no page is refused': async (store: Store) => {
    const world = await openWorld(store);
    const nobody = world.caller(null);
    await withDatasets(async (datasets) => {
      const slugs = [newName(), newName(), newName()];
      for (const slug of slugs) await datasets.import(store, datasets.sign('1.0.0', itemLines(1), { slug }));
      const seen: string[] = [];
      for (let path: string | null = '/datasets?limit=1'; path !== null; ) {
        const { json, headers } = await nobody.get(path);
        seen.push(...json.map((one: { slug: string }) => one.slug));
        const next = /<([^>]*)>; rel="next"/.exec(headers.link as string)?.[1] ?? null;
        path = next?.slice(`${PUBLIC_URL}/api/v1`.length) ?? null;
      }
      assert.deepEqual(seen, seen.toSorted());
      assert.deepEqual(
        seen.filter((slug) => slugs.includes(slug)),
        slugs.toSorted(),
      );
      for (const slug of slugs) await retireDataset({ store, clock: world.now }, slug, null);
    });
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'x=1', 'limit=1&limit=2']) {
      assert.equal((await nobody.get(`/datasets?${query}`)).status, 400, query);
    }
    assert.equal((await nobody.get('/datasets/none')).json.code, 'not_found');
    assert.equal((await nobody.get('/datasets/none?x=1')).status, 400);
    assert.equal((await nobody.post('/datasets', {})).status, 405);
    await world.close();
  },

  'without the registry its paths are unknown': async (store: Store) => {
    const features = { ...TEST_SERVICE.features, datasets: false };
    const world = await openWorld(store, { service: { ...TEST_SERVICE, features } });
    const nobody = world.caller(null);
    const unknown = await nobody.get('/no-such-path');
    for (const path of ['/datasets', '/datasets/gtin-demo', '/datasets?limit=0']) {
      const answer = await nobody.get(path);
      assert.deepEqual([answer.status, answer.json], [404, unknown.json]);
    }
    assert.equal((await nobody.post('/datasets', {})).status, 404);
    await world.close();
  },

  'keys of the registry cannot be written, one by one, in bulk or by a change': async (store: Store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const fault = 'key uses the reserved resource datasets';
    for (const key of [`datasets.${name}.v1`, `manifest.x.datasets.${name}.v1`, `a.DATASETS.${name}.v2`]) {
      const one = await owner.post('/records', { record: { key, data: '' } });
      assert.deepEqual([one.status, one.json.errors], [422, [fault]], key);
      const bulk = await owner.post('/records/bulk', { records: [{ key, data: '' }] });
      assert.equal(bulk.status, 422, key);
      assert.ok(bulk.text.includes(fault), bulk.text);
    }
    const { id } = await owner.record(`manifest.x.set.${name}.v1`);
    const patched = await owner.patch(`/records/${id}`, {
      record: { key: `manifest.x.datasets.${name}.v1` },
    });
    assert.equal(patched.status, 422);
    for (const key of [
      'manifest.x.datasets.public.v1',
      'identity.x-k-1.datasets.public.v1',
      'x.r.public.v1',
    ]) {
      assert.equal((await owner.post('/records', { record: { key, data: '' } })).status, 422, key);
      const bulk = await owner.post('/records/bulk', { records: [{ key, data: '' }] });
      assert.equal(bulk.status, 422, key);
    }
    // The words are reserved as a resource and in `public` alone.
    for (const key of [`datasets.r.${name}.v1`, `manifest.x.r.${name}.v1`, `identity.${name}.v1`]) {
      assert.equal((await owner.post('/records', { record: { key, data: '' } })).status, 201, key);
    }
    await world.close();
  },
});
