import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  addDeliveries,
  storedDeliveries,
  storedWebhook,
} from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, type Json, openWorld, WEBHOOK } from '../../../test/support/http/world.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import { afterAttempt } from './health.ts';
import { cleanUp } from './loops.ts';

const HEX = /^[0-9a-f]{64}$/;

apiScenarios('webhooks', {
  'a webhook is created, read, changed and deleted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { secret, signing_secret, ...shown } = await customer.webhook();
    assert.match(secret, HEX);
    assert.match(signing_secret, HEX);
    assert.notEqual(secret, signing_secret);
    assert.deepEqual(shown, {
      id: shown.id,
      ...WEBHOOK,
      enabled: true,
      failure_count: 0,
      last_triggered_at: null,
      scopes: { namespaces: [] },
      created_at: '2026-01-01T00:00:00.000Z',
      created_by: { user_id: customer.id, email: customer.email },
      health: {
        state: 'unproven',
        failing_since: null,
        rests_until: null,
        last_success_at: null,
        last_failure_at: null,
        last_error: null,
        last_response_code: null,
        disabled_at: null,
        disabled_by: null,
        disabled_user: null,
        recent: { attempts: 0, succeeded: 0, p95_ms: null },
      },
    });
    const path = `/webhooks/${shown.id}`;
    assert.deepEqual((await customer.get(path)).json, shown);
    assert.deepEqual((await customer.get(path.toUpperCase().replace('/WEBHOOKS', '/webhooks'))).json, shown);
    world.advance(1000);
    const { name } = await customer.namespace();
    const second = await customer.webhook({ name: 'second', scopes: { namespaces: [name] } });
    assert.deepEqual(
      (await customer.get('/webhooks')).json.map((webhook: Json) => webhook.id),
      [shown.id, second.id],
    );

    for (const change of [
      { name: 'renamed' },
      { url: 'https://elsewhere.example/' },
      { events: ['namespace.deleted'] },
      { scopes: { namespaces: [name] } },
      { scopes: { namespaces: [] } },
      { enabled: false },
      { enabled: true },
      { name: 'all', url: 'https://x.example/', events: ['record.deleted'], enabled: false },
    ]) {
      Object.assign(shown, change);
      const answer = await customer.patch(path, { webhook: change });
      assert.equal(answer.status, 200, answer.text);
      shown.health = answer.json.health;
      assert.deepEqual(answer.json, shown);
      assert.deepEqual((await customer.get(path)).json, shown);
    }
    assert.equal((await customer.del(path)).status, 204);
    assertFailure(await customer.get(path), 404, 'not_found', 'Webhook not found');
    assertFailure(await customer.del(path), 404, 'not_found', 'Webhook not found');
    assert.equal((await customer.get('/webhooks')).json.length, 1);
    await world.close();
  },

  'a webhook says why it fails, who disabled it, and is not proven when it was enabled': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const path = `/webhooks/${id}`;
    const at = world.now();
    const failed = afterAttempt('{}', { error: 'http_status', responseCode: 503, durationMs: 40 }, at);
    await store.write((tx) =>
      updateRows(tx, 'webhooks', { health: failed, failure_count: 1, rests_until: at + 1000 }, { id }),
    );
    const disabled = { disabled_at: null, disabled_by: null, disabled_user: null };
    const failing = {
      state: 'failing',
      failing_since: '2026-01-01T00:00:00.000Z',
      rests_until: '2026-01-01T00:00:01.000Z',
      last_success_at: null,
      last_failure_at: '2026-01-01T00:00:00.000Z',
      last_error: 'http_status',
      last_response_code: 503,
      ...disabled,
      recent: { attempts: 1, succeeded: 0, p95_ms: 40 },
    };
    assert.deepEqual((await customer.get(path)).json.health, failing);
    // At another URL it still fails since then: no event of that time arrived.
    await customer.patch(path, { webhook: { url: 'https://mended.example/' } });
    const recent = { attempts: 0, succeeded: 0, p95_ms: null };
    assert.deepEqual((await customer.get(path)).json.health, { ...failing, recent });
    world.advance(5000);
    await customer.patch(path, { webhook: { enabled: false } });
    world.advance(5000);
    // Who disabled it stays, whoever repeats it.
    const key = await customer.key();
    const again = (await key.patch(path, { webhook: { enabled: false } })).json.health;
    const by = { user_id: customer.id, email: null };
    assert.deepEqual(again, {
      ...failing,
      recent,
      state: 'disabled',
      rests_until: null,
      disabled_at: '2026-01-01T00:00:05.000Z',
      disabled_by: 'request',
      disabled_user: by,
    });
    const enabled = (await customer.patch(path, { webhook: { enabled: true } })).json.health;
    const unproven = { ...failing, state: 'unproven', failing_since: null, rests_until: null, recent };
    assert.deepEqual(enabled, unproven);
    const healthy = afterAttempt('{}', { error: null, responseCode: 204, durationMs: 4 }, world.now());
    await store.write((tx) => updateRows(tx, 'webhooks', { health: healthy }, { id }));
    assert.equal((await customer.get('/webhooks')).json[0].health.state, 'healthy');
    await customer.patch(path, { webhook: { url: 'https://other.example/' } });
    assert.equal((await customer.get(path)).json.health.state, 'unproven');
    await world.close();
  },

  'the catalogue of events is no webhook': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    const { status, json } = await customer.get('/webhooks/events');
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json), ['events']);
    assert.deepEqual(
      Object.fromEntries(json.events.map(({ name, description }: Json) => [name, description])),
      WEBHOOK_EVENTS,
    );
    const wrong = await customer.del('/webhooks/events');
    assertFailure(wrong, 405, 'validation_error', 'Method is not allowed here');
    assert.equal(wrong.headers.allow, 'GET, HEAD');
    assertFailure(await world.caller(null).get('/webhooks/events'), 401, 'authentication_error');
    await world.close();
  },

  'secrets: shown once, stored as a digest and encrypted, regenerated together': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const made = await customer.webhook();
    const { id } = made;
    const stored = async (): Promise<{ digest: string; encrypted: Uint8Array; text: string }> => {
      const row = await storedWebhook(store, id);
      const encrypted = Buffer.from(row.signing_secret);
      const text = `${JSON.stringify(row)} ${encrypted.toString('latin1')} ${encrypted.toString('hex')}`;
      return { digest: row.secret_digest, encrypted: row.signing_secret, text };
    };
    const assertStored = async (secrets: { secret: string; signing_secret: string }): Promise<void> => {
      const { digest, encrypted, text } = await stored();
      assert.equal(digest, createHash('sha256').update(secrets.secret).digest('hex'));
      assert.equal(world.deps.encryption.decrypt(id, encrypted), secrets.signing_secret);
      assert.ok(!text.includes(secrets.secret) && !text.includes(secrets.signing_secret));
    };
    await assertStored(made);

    const answer = await customer.post(`/webhooks/${id}/regenerate_secret`);
    assert.equal(answer.status, 200, answer.text);
    const { secret, signing_secret, ...shown } = answer.json;
    assert.deepEqual(shown, (await customer.get(`/webhooks/${id}`)).json);
    const all = new Set([made.secret, made.signing_secret, secret, signing_secret]);
    assert.equal(all.size, 4);
    for (const it of all) assert.match(it, HEX);
    await assertStored(answer.json);

    // The next attempt is signed with the new one.
    await customer.post(`/webhooks/${id}/test`);
    assert.equal(world.network.sent.at(-1)?.signingSecret, signing_secret);
    await world.close();
  },

  'no secret, URL or body is told to anybody later': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const made = await customer.webhook({ url: 'https://hooks.example.com/very-private-path' });
    const { id } = made;
    await addDeliveries(store, id, 2, () => ({ body: Buffer.from('very-private-payload') }));
    const renewed = (await customer.post(`/webhooks/${id}/regenerate_secret`)).json;
    world.network.checkUrl = async () => 'url must use https';
    const answers = [
      await customer.get('/webhooks'),
      await customer.get(`/webhooks/${id}`),
      await customer.patch(`/webhooks/${id}`, { webhook: { name: 'x' } }),
      await customer.patch(`/webhooks/${id}`, { webhook: { url: 'https://very-private-path.example' } }),
      await customer.get(`/webhooks/${id}/deliveries`),
      await customer.post(`/webhooks/${id}/test`),
      await customer.post('/webhooks', { webhook: { ...WEBHOOK, secret: made.secret } }),
    ];
    const told = answers.map(({ text }) => text).join('\n') + JSON.stringify(world.observations);
    for (const hidden of [made.secret, made.signing_secret, renewed.secret, renewed.signing_secret]) {
      assert.ok(!told.includes(hidden));
    }
    assert.doesNotMatch(told, /very-private-payload/);
    // Only the resource contains the URL.
    const resources = answers.filter(({ status, json }) => status === 200 && !json.deliveries);
    assert.equal(resources.length, 3);
    for (const answer of answers.filter((it) => !resources.includes(it))) {
      assert.doesNotMatch(answer.text, /very-private/);
    }
    assert.doesNotMatch(JSON.stringify(world.observations), /very-private/);
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'a secret that was encrypted for another webhook is no secret': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.webhook(), await customer.webhook()];
    const { signing_secret } = await storedWebhook(store, one.id);
    await store.write((tx) => updateRows(tx, 'webhooks', { signing_secret }, { id: two.id }));
    assertFailure(await customer.post(`/webhooks/${two.id}/test`), 500, 'server_error', 'Server error');
    assert.equal(world.network.sent.length, 0);
    assert.equal((await customer.post(`/webhooks/${two.id}/regenerate_secret`)).status, 200);
    assert.equal((await customer.post(`/webhooks/${two.id}/test`)).status, 200);
    await world.close();
  },

  'a webhook goes with its history': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [gone, kept] = [await customer.webhook(), await customer.webhook()];
    await addDeliveries(store, gone.id, 1001, (i) => ({ status: i % 2 === 0 ? 'pending' : 'succeeded' }));
    await addDeliveries(store, kept.id, 2, () => ({}));
    assert.equal((await customer.del(`/webhooks/${gone.id}`)).status, 204);
    for (const path of ['', '/deliveries']) {
      assertFailure(await customer.get(`/webhooks/${gone.id}${path}`), 404, 'not_found');
    }
    assertFailure(await customer.del(`/webhooks/${gone.id}`), 404, 'not_found');
    const listed = (await customer.get('/webhooks')).json as readonly { readonly id: string }[];
    assert.deepEqual(
      listed.map(({ id }) => id),
      [kept.id],
    );
    await cleanUp(store, new AbortController().signal);
    assert.equal((await storedDeliveries(store, gone.id)).length, 0);
    assert.equal((await storedDeliveries(store, kept.id)).length, 2);
    await world.close();
  },

  'history before a webhook is not its own': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    await customer.namespace();
    const { id } = await customer.webhook();
    const head = async () => (await store.changes.bounds()).head;
    const startsAfter = async () => (await storedWebhook(store, id)).starts_after;
    const made = await startsAfter();
    assert.equal(made, await head());
    await customer.namespace();
    for (const [body, moves] of [
      [{ name: 'x' }, false],
      [{ enabled: true }, false],
      [{ enabled: false }, false],
      [{ enabled: true }, true],
    ] as const) {
      const before = await startsAfter();
      await customer.patch(`/webhooks/${id}`, { webhook: body });
      assert.equal(await startsAfter(), moves ? await head() : before, JSON.stringify(body));
    }
    assert.ok((await startsAfter()) > made);
    await world.close();
  },
});
