import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { DeliveryResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { DELIVERY_ERRORS } from '../../../../src/protocol/webhooks.ts';
import { block } from '../../../../test/support/sdk/guide.ts';
import { NO_DELIVERIES, withDelivery, withFirst, withOlder } from './delivery-list.ts';
import { errorWords } from './error-words.ts';
import { eventBodies } from './event-schema.ts';
import { nextText } from './next-text.ts';
import receivers from './receivers/receivers.json' with { type: 'json' };
import { outcomesOf, restsUntil, secondsUntil, stateOf } from './webhook-state.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');

function webhook(failures: number, secondsAgo: number | null, enabled = true): WebhookResource {
  return {
    id: 'w',
    name: 'a',
    url: 'https://hooks.example.com/',
    events: [],
    enabled,
    failure_count: failures,
    last_triggered_at: secondsAgo === null ? null : new Date(NOW - secondsAgo * 1000).toISOString(),
    scopes: { namespaces: [] },
    created_at: '2026-11-22T00:00:00.000Z',
    created_by: null,
    health: {
      state: !enabled ? 'disabled' : failures > 0 ? 'failing' : 'healthy',
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
  };
}

function delivery(id: string, more: Partial<DeliveryResource> = {}): DeliveryResource {
  const none = { response_code: null, error: null, duration_ms: null, last_attempt_at: null };
  const rest = { event: 'record.upserted', seq: 1, attempts: 0, next_attempt_at: null, ...none } as const;
  return { id, status: 'succeeded', created_at: '2026-11-22T00:00:00.000Z', ...rest, ...more };
}

describe('the state of a webhook', () => {
  it('is a rest of 1, 2, 4 ... 60 seconds after the nth failure in a row', () => {
    for (const [failures, seconds] of [
      [1, 1],
      [2, 2],
      [3, 4],
      [6, 32],
      [7, 60],
      [19, 60],
    ] as const) {
      const last = webhook(failures, 0);
      assert.equal(restsUntil(last, NOW), NOW + seconds * 1000, String(failures));
      assert.equal(restsUntil(webhook(failures, seconds), NOW), null, `${failures}, over`);
    }
  });

  it('has four names', () => {
    const states = [webhook(0, 10), webhook(3, 1), webhook(3, 60), webhook(20, 1, false), webhook(0, null)];
    assert.deepEqual(
      states.map((one) => stateOf(one, NOW)),
      ['healthy', 'resting', 'failing', 'disabled', 'healthy'],
    );
  });

  it('shows how deliveries ended, the oldest first and without tests', () => {
    const list = [
      delivery('d', { status: 'pending' }),
      delivery('c', { status: 'failed', event: 'webhook.test' }),
      delivery('b', { status: 'failed' }),
      delivery('a'),
    ];
    assert.deepEqual(outcomesOf(list), { marks: ['succeeded', 'failed', 'pending'], succeeded: 1 });
  });

  it('counts down to the next attempt', () => {
    const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();
    assert.deepEqual(
      [secondsUntil(at(1.2), NOW), secondsUntil(at(-3), NOW), secondsUntil(null, NOW)],
      [2, 0, null],
    );
    const texts = [null, at(-1), at(9), at(249), at(7_205)].map((one) => nextText(one, NOW));
    assert.deepEqual(texts, ['–', 'now', 'in 0:09', 'in 4:09', 'in 2:00:05']);
  });
});

describe('the list of deliveries', () => {
  const first = { items: [delivery('d'), delivery('c')], next: 'x' };
  const both = withOlder(withFirst(NO_DELIVERIES, first), {
    items: [delivery('b'), delivery('a')],
    next: null,
  });
  const idsOf = (list: typeof both): string => list.items.map(({ id }) => id).join('');

  it('takes changes of its first page, and keeps older ones below it', () => {
    assert.deepEqual([idsOf(both), both.next], ['dcba', null]);
    const changed = { items: [delivery('e'), delivery('d', { status: 'failed' })], next: 'y' };
    const again = withFirst(both, changed);
    assert.deepEqual([idsOf(again), again.items[1]?.status, again.next], ['edcba', 'failed', null]);
  });

  it('starts again when others may be between', () => {
    const far = withFirst(both, { items: [delivery('z'), delivery('y')], next: 'n' });
    assert.deepEqual([idsOf(far), far.next], ['zy', 'n']);
    assert.deepEqual(withFirst(both, { items: [], next: null }).items, []);
  });

  it('replaces one', () => {
    const replaced = withDelivery(both, delivery('c', { status: 'pending' }));
    assert.deepEqual([idsOf(replaced), replaced.items[1]?.status], ['dcba', 'pending']);
  });
});

describe('errors in words', () => {
  it('say what happened and what to do, for every error that the server has', () => {
    for (const error of DELIVERY_ERRORS) {
      const words = errorWords(delivery('a', { error, response_code: 503 }));
      assert.ok(words !== null && words.what.length > 10 && words.repair.length > 10, error);
      assert.doesNotMatch(words.what, /\{/, error);
    }
    assert.match(errorWords(delivery('a', { error: 'http_status', response_code: 503 }))?.what ?? '', /503/);
    assert.equal(errorWords(delivery('a')), null);
  });

  it('show an error of a later server by its name', () => {
    assert.equal(errorWords(delivery('a', { error: 'later' as never }))?.what, 'later');
  });
});

describe('bodies of events', () => {
  const document = JSON.parse(
    readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
  );

  it('are read from the description of the server', () => {
    const bodies = eventBodies(document);
    assert.deepEqual(
      bodies.map(({ name }) => name),
      ['record.upserted', 'record.deleted', 'namespace.upserted', 'namespace.deleted', 'webhook.test'],
    );
    for (const { name, summary, sample, fields } of bodies) {
      assert.notEqual(summary, '', name);
      assert.equal((sample as { event: string }).event, name);
      assert.ok(
        fields.some(({ path }) => path === 'event') && fields.some(({ path }) => path.startsWith('data.')),
        name,
      );
    }
    const key = bodies[0]?.fields.find(({ path }) => path === 'data.key');
    assert.deepEqual([key?.type, key?.isRequired], ['string', true]);
  });

  it('are none for what is no such document, and end for one that leads to itself', () => {
    for (const odd of [null, 1, 'x', {}, { webhooks: [] }, { webhooks: { a: null } }]) {
      assert.ok(eventBodies(odd).every(({ fields }) => fields.length === 0));
    }
    const loop = { $ref: '#/components/a' };
    const body = { post: { requestBody: { content: { 'application/json': { schema: loop } } } } };
    const endless = { components: { a: { properties: { a: loop } } }, webhooks: { x: body } };
    assert.ok((eventBodies(endless)[0]?.fields.length ?? 0) < 10);
  });
});

describe('receivers', () => {
  for (const [name, info] of [
    ['express', 'js express.mjs'],
    ['fastify', 'js fastify.mjs'],
    ['hono', 'js hono.mjs'],
    ['python', 'python receiver.py'],
    ['go', 'go receiver.go'],
  ] as const) {
    it(`${name} is the one of the guide, which the tests run`, () => {
      assert.equal(receivers[name], block(info));
      assert.match(receivers[name], /SIGNING_SECRET/);
    });
  }
});
