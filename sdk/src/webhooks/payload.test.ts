import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';
import { WEBHOOK_EVENTS } from '../../../src/protocol/webhooks.ts';
import type { WebhookPayload } from './payload.ts';
import { verifyWebhook, verifyWebhookAsync } from './verify.ts';

const SECRET = '5'.repeat(64);
const T = 1_790_000_000;

const AT = '2026-09-21T13:33:20.000Z';
const RECORD = {
  key: 'a.status.acme.v1',
  namespace: 'acme',
  resource: 'status',
  version: 'v1',
  content_type: 'text/plain',
  ttl_seconds: 300,
  data: 'b2s=',
};
const NAMESPACE = { id: 'an id', name: 'acme', records_count: 0, created_at: AT, updated_at: AT };
const TEST = { message: 'This is a test delivery.', webhook_id: 'an id', webhook_name: 'a name' };

const PAYLOADS: readonly WebhookPayload[] = [
  { event: 'record.upserted', seq: 1, created_at: AT, data: RECORD },
  { event: 'record.deleted', seq: 2, created_at: AT, data: { key: RECORD.key, namespace: 'acme' } },
  { event: 'namespace.upserted', seq: 3, created_at: AT, data: NAMESPACE },
  { event: 'namespace.deleted', seq: 4, created_at: AT, data: { namespace: 'acme' } },
  { event: 'webhook.test', timestamp: AT, data: TEST },
];
const [UPSERTED] = PAYLOADS;

function read(body: string | Uint8Array): WebhookPayload {
  return verifyWebhook(body, signatureHeader(Buffer.from(body), T, SECRET), SECRET, { now: T * 1000 });
}

/** Copies of a payload, each with one field missing or of another type. */
function damaged(payload: WebhookPayload): readonly (readonly [string, unknown])[] {
  const wrong = [undefined, true, {}, [], 1.5];
  const top = Object.keys(payload).flatMap((field) =>
    wrong.map((value) => [`${field} ${JSON.stringify(value)}`, { ...payload, [field]: value }] as const),
  );
  const inner = Object.keys(payload.data).flatMap((field) =>
    wrong.map(
      (value) =>
        [
          `data.${field} ${JSON.stringify(value)}`,
          { ...payload, data: { ...payload.data, [field]: value } },
        ] as const,
    ),
  );
  return [...top, ...inner];
}

describe('payloads', () => {
  it('are those of the service and the test', () => {
    const known = PAYLOADS.map(({ event }) => event);
    assert.deepEqual(known.sort(), [...Object.keys(WEBHOOK_EVENTS), 'webhook.test'].sort());
  });

  for (const payload of PAYLOADS) {
    it(`${payload.event} is read as it was written`, () => {
      assert.deepEqual(read(JSON.stringify(payload)), payload);
      assert.deepEqual(read(Buffer.from(JSON.stringify(payload))), payload);
    });
    it(`${payload.event} may have fields that are not known yet`, () => {
      const more = { ...payload, later: 1, data: { ...payload.data, later: [] } };
      assert.deepEqual(read(JSON.stringify(more)), more);
    });
    it(`${payload.event} with a field missing or of another type is no event`, () => {
      for (const [name, value] of damaged(payload)) {
        assert.throws(() => read(JSON.stringify(value)), { reason: 'malformed_body' }, name);
      }
    });
  }

  it('a record that was deleted before its event was queued has no data', () => {
    const payload = { ...UPSERTED, data: { ...RECORD, data: null } };
    assert.deepEqual(read(JSON.stringify(payload)), payload);
    for (const value of [
      { ...payload, data: { ...RECORD, key: null } },
      { ...payload, data: null },
    ]) {
      assert.throws(() => read(JSON.stringify(value)), { reason: 'malformed_body' });
    }
  });

  const bodies: readonly (string | Uint8Array)[] = [
    '',
    'null',
    '1',
    '"record.upserted"',
    '[]',
    '{}',
    '{"event":"constructor","seq":1,"created_at":"","data":{}}',
    '{"event":"__proto__","seq":1,"created_at":"","data":{}}',
    '{"event":"token.minted","seq":1,"created_at":"","data":{}}',
    `${JSON.stringify(UPSERTED)}}`,
    `\ufeff${JSON.stringify(UPSERTED)}`,
    Buffer.from(`\ufeff${JSON.stringify(UPSERTED)}`),
    Buffer.from(JSON.stringify(UPSERTED).replace('acme', 'acm\xe9'), 'latin1'),
    Buffer.from(JSON.stringify(UPSERTED), 'utf16le'),
  ];
  for (const [index, body] of bodies.entries()) {
    it(`signed body ${index} is no event`, () =>
      assert.throws(() => read(body), { reason: 'malformed_body' }));
  }

  it('a body that was parsed already is a fault of the caller', async () => {
    for (const body of [UPSERTED, null, undefined, 1, [1]]) {
      const fault = { name: 'TypeError', message: /^rawBody must be/ };
      assert.throws(() => verifyWebhook(body as never, `t=${T},v1=${SECRET}`, SECRET), fault);
      await assert.rejects(verifyWebhookAsync(body as never, `t=${T},v1=${SECRET}`, SECRET), fault);
    }
  });

  it('are told apart by `event`', () => {
    const payload = read(JSON.stringify(UPSERTED));
    assert.ok(payload.event === 'record.upserted');
    // Compiles only when `event` narrows the type.
    const told: [number, string | null] = [payload.seq, payload.data.data];
    assert.deepEqual(told, [1, 'b2s=']);
  });
});

describe('the folder', () => {
  it('stands alone: it imports nothing from outside', () => {
    const folder = new URL('./', import.meta.url);
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    assert.ok(files.length > 1);
    const imported = files.flatMap((name) =>
      [
        ...readFileSync(new URL(name, folder), 'utf8').matchAll(
          /\b(?:from|import|require)\b\s*\(?\s*'([^']*)'/g,
        ),
      ].map(([, target = '']) => target),
    );
    assert.deepEqual(
      imported.filter((target) => !/^\.\/[a-z-]+\.ts$/.test(target)),
      [],
    );
  });
});
