import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../../src/base/limits.ts';
import { webhookBackoffMs } from '../../../src/control/webhooks/attempts.ts';
import { deliveryBody, eventOf } from '../../../src/control/webhooks/events.ts';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';
import { ENVIRONMENT } from '../../../src/ops/config/env.ts';
import type { ChangeBody } from '../../../src/protocol/change.ts';
import { WEBHOOK_EVENTS } from '../../../src/protocol/webhooks.ts';
import { faultOfDelivery } from '../../../test/support/http/openapi/delivery-check.ts';
import { block, blocks, GUIDE } from '../../../test/support/sdk/guide.ts';
import { verifyWebhook } from './verify.ts';

const SECRET = 'd'.repeat(64);

describe('the guide: what arrives', () => {
  const [head = '', body = ''] = block('http example').trimEnd().split('\n\n');
  const secret = /valid for the signing secret `([0-9a-f]{64})`/.exec(GUIDE)?.[1] ?? '';
  const signature = /^X-Service-Signature: (.*)$/m.exec(head)?.[1] ?? '';

  it('its request is genuine at its time', () => {
    const now = Number(/t=(\d+)/.exec(signature)?.[1]) * 1000;
    const payload = verifyWebhook(body, signature, secret, { now });
    assert.equal(payload.event, /^X-Service-Event: (.*)$/m.exec(head)?.[1]);
    assert.equal(Buffer.byteLength(body), Number(/^Content-Length: (.*)$/m.exec(head)?.[1]));
    assert.equal(signature, signatureHeader(Buffer.from(body), now / 1000, secret));
  });

  it('its bodies are those that are sent, of all events', () => {
    const payloads = blocks('json').map((text) => {
      const line = JSON.stringify(JSON.parse(text));
      assert.equal(faultOfDelivery(line), null);
      return verifyWebhook(line, signatureHeader(Buffer.from(line), 1, SECRET), SECRET, { now: 1000 });
    });
    const events = payloads.map(({ event }) => event);
    assert.deepEqual(events, [...Object.keys(WEBHOOK_EVENTS), 'webhook.test']);
    const sent = CHANGES.map((change) => {
      const event = eventOf({ ...change, owner: 'a customer', cause: 'direct' });
      return event && Buffer.from(deliveryBody(event, change.seq, change.at)).toString();
    });
    assert.deepEqual(
      payloads.slice(0, -1).map((payload) => JSON.stringify(payload)),
      sent,
    );
    assert.equal(sent[0], body);
  });
});

const CREATED = Date.parse('2026-09-20T08:00:00Z');
/** The changes of the guide's examples, as rows of the change log. */
const CHANGES = [
  {
    seq: 41,
    at: Date.parse('2026-09-21T13:33:19.871Z'),
    type: 'record.upserted',
    key: 'sensor-1.status.acme.v1',
    namespace: 'acme',
    resource: 'status',
    version: 'v1',
    data: 'b2s=',
    contentType: 'text/plain',
    ttlSeconds: 300,
    expiresAt: null,
  },
  {
    seq: 42,
    at: Date.parse('2026-09-21T13:40:02.115Z'),
    type: 'record.deleted',
    key: 'sensor-1.status.acme.v1',
    namespace: 'acme',
  },
  {
    seq: 12,
    at: CREATED,
    type: 'namespace.upserted',
    namespace: 'acme',
    id: '01996733-6400-7a51-8c1d-2f0b9e6d4c11',
    publicRead: false,
    suspended: false,
    recordsCount: 0,
    createdAt: CREATED,
    updatedAt: CREATED,
  },
  {
    seq: 57,
    at: Date.parse('2026-09-22T17:05:44.302Z'),
    type: 'namespace.deleted',
    namespace: 'acme',
    id: '01996733-6400-7a51-8c1d-2f0b9e6d4c11',
  },
] as const satisfies readonly (ChangeBody & { readonly seq: number; readonly at: number })[];

describe('the guide: numbers', () => {
  const duration = (seconds: number) => {
    if (seconds < 60) return `${seconds} s`;
    return seconds < 7200 ? `${seconds / 60} min` : `${seconds / 3600} h`;
  };
  const range = (seconds: number) => {
    const [unit, name] = seconds < 60 ? [1, 's'] : [60, 'min'];
    return `${Math.round((seconds * 0.8) / unit)} ${name} to ${Math.round((seconds * 1.2) / unit)} ${name}`;
  };
  const schedule = ENVIRONMENT.UQRP_WEBHOOK_SCHEDULE.fallback.split(',').map(Number);
  const rests = Array.from({ length: LIMITS.webhookFailures - 1 }, (_, index) => webhookBackoffMs(index + 1));
  const minutes = Math.floor(rests.reduce((sum, rest) => sum + rest, 0) / 60_000);
  const growing = rests.slice(0, 6).map((rest) => rest / 1000);
  const sentences = [
    `Up to ${schedule.length} attempts`,
    ...schedule.slice(1).map((seconds, n) => `| ${n + 2} | ${duration(seconds)} | ${range(seconds)} |`),
    `rests for ${growing.join(', ')} and from then on ${LIMITS.webhookRestMaxMs / 1000} seconds`,
    `**${LIMITS.webhookFailures} failed attempts in a row disable it.** With those rests that takes ${minutes} minutes`,
    `shows ${LIMITS.webhookHistoryDays} days of history`,
    `It keeps at most ${LIMITS.webhookDroppedKept.toLocaleString('en')} dropped deliveries`,
    `**Within ${LIMITS.webhookDeadlineMs / 1000} seconds**`,
    `| attempts of a webhook in any hour | ${LIMITS.webhookAttemptsPerHour} |`,
    `| deliveries of a webhook that wait | ${LIMITS.webhookPending.toLocaleString('en')} |`,
    `| size of a body in bytes | ${LIMITS.webhookBody.toLocaleString('en')} |`,
    `| time for an attempt in seconds | ${LIMITS.webhookDeadlineMs / 1000} |`,
    `| tests of a webhook in a minute | ${LIMITS.webhookTestsPerMinute} |`,
    `| new secrets of a webhook in an hour | ${LIMITS.webhookSecretsPerHour} |`,
    `at most ${LIMITS.webhookUrl.toLocaleString('en')} characters`,
  ];
  for (const sentence of sentences) {
    it(`says "${sentence}"`, () => assert.ok(GUIDE.includes(sentence)));
  }
});
