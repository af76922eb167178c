import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { CUSTOMER, testServer } from '../../test/support/sdk/server.ts';
import { tlsFetch } from '../../test/support/sdk/tls-fetch.ts';
import { Malformed, NotFound, Refused, ServiceError, Unavailable, Unreadable } from './dns/errors.ts';
import { Reader } from './dns/reader.ts';
import { Services } from './dns/services.ts';
import { ApiError } from './rest/http/errors.ts';
import { BulkError } from './rest/records/records.ts';
import { bytesOf, jsonOf, textOf } from './rest/records/value.ts';
import type { Uqrp } from './rest/uqrp.ts';

describe('the client against a server', () => {
  let uqrp: Uqrp;
  let namespaceId: string;
  let token: string;
  let readers: readonly Reader[];

  before(async () => {
    const server = await testServer();
    uqrp = server.customer;
    namespaceId = (await uqrp.namespaces.create('client-tests')).id;
    token = (await uqrp.queryTokens.mint(namespaceId, { name: 'reader' })).token;
    const fetch = tlsFetch(readFileSync(join(server.dataDir, 'tls/cert.pem'), 'utf8'));
    readers = [
      new Reader({ doh: `https://localhost:${server.ports.doh}/dns-query`, fetch, token }),
      new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token }),
    ];
  });

  describe('records', () => {
    it('are created, read, changed under a condition and deleted', async () => {
      const made = await uqrp.records.create('a.life.client-tests.v1', { text: 'grüße', expires_in: 3600 });
      assert.equal(made.content_type, 'text/plain');
      const read = await uqrp.records.get(made.id);
      assert.deepEqual(read, made);
      assert.equal(textOf(read), 'grüße');
      const changed = await uqrp.records.update(made.id, { json: { n: 1 } }, { ifMatch: made.etag ?? '' });
      assert.deepEqual(jsonOf(changed), { n: 1 });
      await assert.rejects(uqrp.records.update(made.id, { text: 'b' }, { ifMatch: made.etag ?? '' }), {
        status: 412,
      });
      await assert.rejects(uqrp.records.delete(made.id, { ifMatch: made.etag ?? '' }), { status: 412 });
      await uqrp.records.delete(made.id, { ifMatch: changed.etag ?? '' });
      await assert.rejects(uqrp.records.get(made.id), { code: 'not_found' });
      assert.equal(await uqrp.records.find('a.life.client-tests.v1'), null);
    });

    it('in plain text read back as they are, and show it only where it is so', async () => {
      const key = 'plain.life.client-tests.v1';
      await uqrp.records.put(key, { text: 'a;b=c;d=e', encoding: 'plain' });
      assert.equal((await uqrp.records.find(key))?.encoding, 'plain');
      for (const reader of readers) {
        for (;;) {
          const { data } = await reader.text(key).catch(() => ({ data: null }));
          if (data === 'a;b=c;d=e') break;
        }
        assert.equal((await reader.raw(key)).fields.get('e'), 'plain');
      }
      const record = (await uqrp.records.find(key))!;
      const changed = await uqrp.records.update(record.id, { encoding: 'b64' });
      assert.equal('encoding' in changed, false);
      await assert.rejects(uqrp.records.update(record.id, { text: 'a\n', encoding: 'plain' }), {
        messages: ['data has octets that plain text cannot have'],
      });
    });

    it('tell where a write is, until the answers of every node show it', async () => {
      const places: string[] = [];
      const onWritten = (seq: string): void => void places.push(seq);
      await uqrp.records.put('a.where.client-tests.v1', { text: 'a' }, { onWritten });
      await uqrp.records.find('a.where.client-tests.v1', { onWritten });
      assert.equal(places.length, 1);
      for (;;) {
        const { applied, nodes } = await uqrp.propagation(places[0]!);
        assert.equal(nodes.length, 1);
        const [{ ms, late } = { ms: null, late: true }] = nodes;
        assert.equal(late, false);
        assert.equal(typeof ms === 'number', applied);
        if (applied) break;
      }
      const { next } = await uqrp.changesPage();
      await uqrp.records.put('b.where.client-tests.v1', { text: 'b' }, { onWritten });
      assert.equal((await uqrp.propagation(places.at(-1)!, { wait: 30 })).applied, true);
      const { changes } = await uqrp.changesPage({ since: next });
      assert.equal((await uqrp.propagation(changes[0]!.cursor, { wait: 30 })).applied, true);
      await assert.rejects(uqrp.propagation(next, { wait: 31 }), { status: 400, code: 'validation_error' });
      await assert.rejects(uqrp.propagation('1'), { status: 400, code: 'validation_error' });
    });

    it('modify starts again when another writer was faster', async () => {
      const { id } = await uqrp.records.create('a.count.client-tests.v1', { json: 0 });
      await Promise.all(
        Array.from({ length: 4 }, () =>
          uqrp.records.modify(id, (record) => ({ json: jsonOf<number>(record) + 1 })),
        ),
      );
      assert.equal(jsonOf(await uqrp.records.get(id)), 4);
      const same = await uqrp.records.modify(id, () => null);
      assert.equal(jsonOf(same), 4);
    });

    it('a taken key is 422, or 412 with ifAbsent; put replaces', async () => {
      const first = await uqrp.records.put('a.put.client-tests.v1', { bytes: Uint8Array.of(0, 255) });
      await assert.rejects(uqrp.records.create('a.put.client-tests.v1', { text: 'x' }), {
        messages: ['Key has already been taken'],
      });
      const absent = uqrp.records.create('a.put.client-tests.v1', { text: 'x' }, { ifAbsent: true });
      await assert.rejects(absent, { status: 412 });
      const second = await uqrp.records.put('a.put.client-tests.v1', {
        data: 'b2s=',
        content_type: 'text/x-own',
      });
      assert.equal(second.id, first.id);
      const found = await uqrp.records.find('A.put.client-tests.v1');
      assert.deepEqual([found?.content_type, [...bytesOf(found ?? {})]], ['text/x-own', [111, 107]]);
    });

    it('bulk writes are split, listed in pages, and deleted', async () => {
      const put = Array.from({ length: 1203 }, (_, n) => ({
        key: `n${n}.many.client-tests.v1`,
        text: String(n),
      }));
      const progress: number[] = [];
      const written = await uqrp.records.bulk({ put }, { onProgress: ({ done }) => progress.push(done) });
      assert.deepEqual(progress, [500, 1000, 1203]);
      assert.deepEqual(
        written.records.map(({ key }) => key),
        put.map(({ key }) => key),
      );
      const listing = uqrp.records.list({ namespace: 'client-tests', resource: 'many' }, { limit: 500 });
      const pages: number[] = [];
      for await (const page of listing.pages()) pages.push(page.items.length);
      assert.deepEqual(pages, [500, 500, 203]);
      const keys = (await listing.toArray()).map(({ key }) => key);
      assert.deepEqual(new Set(keys), new Set(put.map(({ key }) => key)));
      const gone = await uqrp.records.bulk({ delete: [...keys, 'no.many.client-tests.v1'] });
      assert.equal(gone.deleted.length, 1204);
      assert.equal(gone.deleted.at(-1), null);
      assert.deepEqual(await listing.toArray(), []);
    });

    it('a bulk write with a key is done once, each of its requests', async () => {
      const put = Array.from({ length: 501 }, (_, n) => ({ key: `n${n}.again.client-tests.v1`, text: 'x' }));
      const options = { idempotencyKey: 'bulk-again' };
      const done = await uqrp.records.bulk({ put }, options);
      await uqrp.records.bulk({ delete: put.map(({ key }) => key) });
      assert.deepEqual(await uqrp.records.bulk({ put }, options), done);
      assert.equal(await uqrp.records.find('n500.again.client-tests.v1'), null);
    });

    it('a bulk write that fails says what was done, and counts places through the whole', async () => {
      const put = Array.from({ length: 501 }, (_, n) => ({ key: `n${n}.part.client-tests.v1`, text: 'x' }));
      put[500] = { key: 'not a key', text: 'x' };
      const failed: unknown = await uqrp.records.bulk({ put }).catch((error: unknown) => error);
      assert.ok(failed instanceof BulkError && failed.reason instanceof ApiError);
      assert.equal(failed.done.records.length, 500);
      assert.match(failed.reason.messages[0] ?? '', /^records\[500\]\.key must be/);
      await uqrp.records.bulk({ delete: put.slice(0, 500).map(({ key }) => key) });
      const twice = { put: [{ key: 'a.b.client-tests.v1', text: '' }], delete: ['A.b.client-tests.v1'] };
      await assert.rejects(uqrp.records.bulk(twice), /a key occurs twice/);
    });
  });

  describe('everything else of the API', () => {
    it('namespaces and query tokens', async () => {
      const other = await uqrp.namespaces.create('other-one');
      assert.deepEqual(await uqrp.namespaces.find('other-one'), other);
      assert.deepEqual(await uqrp.namespaces.get(other.id), other);
      const minted = await uqrp.queryTokens.mint(other.id, { name: 'a', expires_in_days: 1 });
      await uqrp.queryTokens.revoke(other.id, minted.id);
      const [listed] = await uqrp.queryTokens.list(other.id);
      assert.notEqual(listed?.revoked_at, null);
      await uqrp.namespaces.delete(other.id);
      assert.equal(await uqrp.namespaces.find('other-one'), null);
    });

    it('API keys, and a client that uses one', async () => {
      const key = await uqrp.apiKeys.create({
        name: 'ci',
        scopes: { operations: ['write'], namespaces: ['client-tests'] },
      });
      const scoped = uqrp.withToken(key.token);
      const made = await scoped.records.create('a.key.client-tests.v1', { text: 'x' });
      assert.equal(made.data, undefined);
      assert.throws(() => textOf(made), /has no data/);
      await assert.rejects(scoped.records.get(made.id), { code: 'authorization_error' });
      await assert.rejects(scoped.me(), { status: 403 });
      const { token: _, ...shown } = key;
      assert.deepEqual(
        (await uqrp.apiKeys.list())
          .filter(({ id }) => id === key.id)
          .map((one) => ({ ...one, last_used_at: null })),
        [shown],
      );
      await uqrp.apiKeys.revoke(key.id);
      await assert.rejects(scoped.records.list().toArray(), { code: 'authentication_error' });
    });

    it('webhooks', async () => {
      const url = 'https://192.0.2.1/hook';
      await assert.rejects(uqrp.webhooks.create({ name: 'a', url, events: ['record.deleted'] }), {
        status: 422,
      });
      const made = await uqrp.webhooks.create({
        name: 'a',
        url: 'https://hooks.example.com/uqrp',
        events: ['record.deleted'],
      });
      const renamed = await uqrp.webhooks.update(made.id, { name: 'b' });
      assert.deepEqual(await uqrp.webhooks.list(), [renamed]);
      const rotated = await uqrp.webhooks.rotateSecret(made.id);
      assert.notEqual(rotated.signing_secret, made.signing_secret);
      const tested = await uqrp.webhooks.test(made.id);
      assert.equal(tested.event, 'webhook.test');
      const deliveries = await uqrp.webhooks
        .deliveries(made.id, { status: 'failed' }, { limit: 1 })
        .toArray();
      assert.deepEqual(
        deliveries.map(({ id }) => id),
        [tested.id],
      );
      await assert.rejects(uqrp.webhooks.redeliver(made.id, tested.id), { code: 'validation_error' });
      assert.equal((await uqrp.webhooks.events()).length, 4);
      await uqrp.webhooks.delete(made.id);
    });

    it('the account, and requests without a method of their own', async () => {
      const me = await uqrp.me();
      assert.equal(me.email, CUSTOMER);
      const { body, status } = await uqrp.request<{ id: string }>({ method: 'GET', path: '/me' });
      assert.deepEqual([status, body.id], [200, me.id]);
    });
  });

  describe('reads over DNS', () => {
    before(async () => {
      await uqrp.records.bulk({
        put: [
          { key: 'a.read.client-tests.v1', json: { hi: 'grüße' }, ttl_seconds: 60 },
          { key: 'b.read.client-tests.v1', bytes: Uint8Array.of(0, 255, 59) },
          { key: 'c.read.client-tests.v1', bytes: new Uint8Array(2586).fill(7) },
        ],
      });
      // The node takes changes over the feed: a write is visible some milliseconds after its answer.
      const [first] = readers;
      for (let isVisible = false; !isVisible; ) {
        isVisible = (await first?.raw('c.read.client-tests.v1').catch(() => undefined)) !== undefined;
      }
    });

    for (const [index, name] of ['DoH', 'node:dns'].entries()) {
      const reader = (): Reader => readers[index] as Reader;

      it(`${name}: text, JSON, octets, also those that need TCP`, async () => {
        const json = await reader().json('a.read.client-tests.v1');
        assert.deepEqual(json, {
          data: { hi: 'grüße' },
          format: 'json',
          ttl: index === 0 ? 0 : null,
          ttlHint: 60,
        });
        assert.equal((await reader().text('A.read.Client-TESTS.v1')).data, '{"hi":"grüße"}');
        assert.deepEqual([...(await reader().bytes('b.read.client-tests.v1')).data], [0, 255, 59]);
        assert.equal((await reader().bytes('c.read.client-tests.v1')).data.length, 2586);
        await assert.rejects(reader().text('b.read.client-tests.v1'), Unreadable);
        await assert.rejects(reader().json('c.read.client-tests.v1'), Unreadable);
      });

      it(`${name}: errors`, async () => {
        await assert.rejects(reader().text('no.read.client-tests.v1'), NotFound);
        await assert.rejects(reader().text('a.read.client-tests.v1', { token: null }), Refused);
        await assert.rejects(reader().text('a.read.nowhere.v1'), Refused);
        const units = { params: ['5-x-to-y'], resource: 'units', namespace: 'public' };
        await assert.rejects(
          reader().fields(units),
          index === 0 ? { name: 'Malformed', detail: /unit/ } : Malformed,
        );
        const geoip = { operation: 'geoip', resource: 'ip-127-0-0-1', namespace: 'public' } as const;
        await assert.rejects(reader().fields(geoip), ServiceError);
        const aborted = reader().text('a.read.client-tests.v1', {
          signal: AbortSignal.abort(new Error('enough')),
        });
        await assert.rejects(aborted, { message: 'enough' });
      });

      it(`${name}: public services, without the token`, async () => {
        const services = new Services(reader());
        const converted = await services.units(-40.5, 'c', 'f');
        assert.deepEqual(converted.data, { val: -40.5, from: 'c', to: 'f', res: -40.9, cat: 'temperature' });
        assert.equal((await services.moon('2026-03-03')).data.phase, 'full');
        assert.equal((await services.sun('東京', '2026-06-21')).data.state, 'normal');
        assert.equal((await services.sun({ lat: -33.87, lon: 151.21 })).data.state, 'normal');
        assert.equal((await services.time('Europe/Berlin')).data.zone, 'Europe/Berlin');
        assert.equal((await services.time('New York')).data.zone, 'America/New_York');
        assert.equal((await services.epoch(new Date(-1500))).data.iso, '1969-12-31T23:59:58.500Z');
        assert.equal((await services.epoch('2026-01-01T12:30:00Z')).data.sec, 1_767_270_600);
        assert.ok(Math.abs((await services.epoch()).data.sec * 1000 - Date.now()) < 60_000);
        assert.equal((await services.aerial({ lat: 0, lon: 0 }, { lat: 0, lon: -1 })).data.brg, 270);
        assert.equal((await services.cidr('::/0')).data.n, String(2n ** 128n));
        assert.equal((await services.cidr('10.0.0.0/8', '10.1.2.3')).data.in, 'yes');
        assert.equal((await services.base('-ff', 16, 2)).data.res, '-11111111');
        assert.equal((await services.words(-3.5)).data.words, 'minus three point five');
        assert.equal((await services.pi(4)).data.pi, '3.1415');
        assert.equal((await services.dice('2d6+1')).data.dice, '2d6+1');
        assert.equal((await services.coin(3)).data.flips.split(' ').length, 3);
        assert.equal((await services.random(-7, -7)).data.val, -7);
        assert.equal((await services.uuid(7)).data.ver, 7);
        await assert.rejects(services.sun('no such city'), { code: 'E004', status: 'notfound' });
      });
    }

    it('a server that is not there is unavailable, also after a repetition', async () => {
      const nowhere = [
        new Reader({ doh: 'http://127.0.0.1:2/dns-query', retries: 1 }),
        new Reader({ servers: ['127.0.0.1:2'], retries: 1 }),
      ];
      for (const reader of nowhere) {
        await assert.rejects(reader.text('a.read.client-tests.v1'), (error) => {
          assert.ok(error instanceof Unavailable);
          return error.reason === 'ECONNREFUSED';
        });
      }
    });
  });
});
