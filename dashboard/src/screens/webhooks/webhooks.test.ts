import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { DeliveryResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { DELIVERY_ERRORS } from '../../../../src/protocol/webhooks.ts';
import { block } from '../../../../test/support/sdk/guide.ts';
import { NO_DELIVERIES, withDelivery, withFirst, withOlder } from './delivery-list.ts';
import { errorWords } from './error-words.ts';
import { eventBodies } from './event-schema.ts';
import { delayText, nextText, stepOf } from './next-text.ts';
import receivers from './receivers/receivers.json' with { type: 'json' };
import { attemptAt, restsUntil, secondsUntil, stateOf, webhooksInOrder } from './webhook-state.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');

function webhook(
  health: Partial<WebhookResource['health']>,
  more: Partial<WebhookResource> = {},
): WebhookResource {
  return {
    id: 'w',
    name: 'a',
    url: 'https://hooks.example.com/',
    events: [],
    enabled: health.state !== 'disabled',
    failure_count: 0,
    last_triggered_at: null,
    scopes: { namespaces: [] },
    created_at: '2026-11-22T00:00:00.000Z',
    created_by: null,
    health: {
      state: 'healthy',
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
      ...health,
    },
    ...more,
  };
}

function delivery(id: string, more: Partial<DeliveryResource> = {}): DeliveryResource {
  const none = { response_code: null, error: null, duration_ms: null, last_attempt_at: null };
  const rest = { event: 'record.upserted', seq: 1, attempts: 0, next_attempt_at: null, ...none } as const;
  return { id, status: 'succeeded', created_at: '2026-11-22T00:00:00.000Z', ...rest, ...more };
}

describe('the state of a webhook', () => {
  it('rests until the time that the server says, and fails from then on', () => {
    const rests_until = new Date(NOW + 1000).toISOString();
    const failing = webhook({ state: 'failing', rests_until });
    assert.deepEqual([restsUntil(failing, NOW), stateOf(failing, NOW)], [NOW + 1000, 'resting']);
    assert.deepEqual([restsUntil(failing, NOW + 1000), stateOf(failing, NOW + 1000)], [null, 'failing']);
    const disabled = webhook({ state: 'disabled', rests_until });
    assert.deepEqual([restsUntil(disabled, NOW), stateOf(disabled, NOW)], [null, 'disabled']);
    assert.equal(stateOf(webhook({ state: 'unproven' }), NOW), 'unproven');
  });

  it('attempts nothing before its rest is over', () => {
    const [soon, rests, late] = [
      '2026-11-22T12:00:01.000Z',
      '2026-11-22T12:00:30.000Z',
      '2026-11-22T12:05:00.000Z',
    ];
    const failing = webhook({ state: 'failing', rests_until: rests });
    assert.deepEqual(
      [
        attemptAt(soon, failing),
        attemptAt(late, failing),
        attemptAt(null, failing),
        attemptAt(soon, webhook({})),
      ],
      [rests, late, null, soon],
    );
  });

  it('orders the list: what fails first, then what is off, then what is not proven', () => {
    const all = [
      webhook({ state: 'healthy' }, { name: 'works' }),
      webhook({ state: 'unproven' }, { name: 'new' }),
      webhook({ state: 'disabled', disabled_by: 'request' }, { name: 'off' }),
      webhook({ state: 'failing' }, { name: 'fails', url: 'https://b.example/' }),
      webhook({ state: 'disabled', disabled_by: 'failures' }, { name: 'dead' }),
    ];
    const names = (typed: string) => webhooksInOrder(all, typed).map(({ name }) => name);
    assert.deepEqual(names(''), ['dead', 'fails', 'off', 'new', 'works']);
    assert.deepEqual([names(' B.Example'), names('WORK'), names('?')], [['fails'], ['works'], []]);
  });

  it('draws the attempts that were made, the next one, and those that are left', () => {
    const steps = (one: DeliveryResource) => [1, 2, 3].map((number) => stepOf(one, number));
    assert.deepEqual(steps(delivery('a', { status: 'pending', attempts: 1 })), ['failed', 'next', 'later']);
    assert.deepEqual(steps(delivery('a', { attempts: 2 })), ['failed', 'done', 'never']);
    assert.deepEqual(steps(delivery('a', { status: 'failed', attempts: 3 })), ['failed', 'failed', 'failed']);
    assert.deepEqual(steps(delivery('a', { status: 'dropped' })), ['never', 'never', 'never']);
    assert.deepEqual([0, 5, 300, 7200, 90].map(delayText), [
      'at once',
      'after 5 s',
      'after 5 min',
      'after 2 h',
      'after 90 s',
    ]);
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
      const words = errorWords(error, 503, 'hooks.example.com');
      assert.ok(words !== null && words.what.length > 10 && words.repair.length > 10, error);
      assert.doesNotMatch(words.what, /\{/, error);
    }
    assert.match(errorWords('http_status', 503, '')?.what ?? '', /503/);
    assert.match(errorWords('dns_failure', null, 'hooks.example.com')?.what ?? '', /hooks\.example\.com/);
    assert.equal(errorWords(null, null, ''), null);
  });

  it('show an error of a later server by its name', () => {
    assert.equal(errorWords('later' as never, null, '')?.what, 'later');
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
