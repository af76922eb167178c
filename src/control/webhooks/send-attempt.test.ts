import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Stripe from 'stripe';
import { type Answer, type Endpoint, openEndpoint } from '../../../test/support/control/webhooks/endpoint.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { createOutboundClient, type OutboundClientOptions } from '../../outbound/outbound-client.ts';
import { PUBLIC_ONLY, type TargetPolicy, WEBHOOK_TARGETS } from '../../outbound/target.ts';
import type { DeliveryError } from '../../protocol/webhooks.ts';
import {
  AttemptInterruptedError,
  type AttemptRequest,
  type AttemptResult,
  createSendAttempt,
} from './send-attempt.ts';

/** A policy for tests, whose servers can only be local. */
const ANYWHERE: TargetPolicy = { allows: () => true, admits: () => true };
const UNTRUSTED = makeSelfSigned({ hosts: ['hook.example.com'], now: Date.now() });
const SECRET = 'c3'.repeat(32);
const BODY = Buffer.from(
  '{"event":"record.upserted","seq":3,"created_at":"2025-01-01T00:00:00.000Z","data":{"key":"ü"}}',
);
const NOW = Date.UTC(2025, 0, 1) + 999;

const ANSWERS: Readonly<Record<string, Answer>> = {
  '/hang': () => {},
  '/hang-up': (_received, response) => response.destroy(),
  '/endless': (_received, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 1);
    response.on('close', () => clearInterval(timer));
  },
  '/retry-date': (_received, response) => {
    const at = new Date(NOW + 30_000).toUTCString();
    response.writeHead(503, { 'retry-after': at }).end();
  },
};

/** `/<status>[/<retry-after>]`, or one of those. */
const answer: Answer = (received, response) => {
  const special = ANSWERS[received.path];
  if (special !== undefined) return special(received, response);
  const [, status, retryAfter] = received.path.replace(/\?.*/, '').split('/');
  const headers = { location: '/200', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) };
  response.writeHead(Number(status), headers).end();
};

describe('an attempt', () => {
  let endpoint: Endpoint;
  before(async () => {
    endpoint = await openEndpoint(answer);
  });
  after(() => endpoint.close());

  const make = (
    path: string,
    client: Partial<OutboundClientOptions> = {},
    more: Partial<AttemptRequest> = {},
  ) => {
    const options = {
      policy: ANYWHERE,
      resolve: async () => ['127.0.0.1'],
      deadlineMs: 5000,
      ca: endpoint.cert,
    };
    const attempt = createSendAttempt(createOutboundClient({ ...options, ...client }), () => NOW, realTimers);
    const url = path.startsWith('/') ? endpoint.origin + path : path;
    const request = {
      signingSecret: SECRET,
      deliveryId: 'the-id',
      event: 'record.upserted',
      body: BODY,
    } as const;
    return attempt({ ...request, url, ...more });
  };
  const told = ({ error, responseCode, retryAfter }: AttemptResult): unknown[] => [
    error,
    responseCode,
    retryAfter,
  ];

  it('is one signed POST of exactly these octets', async () => {
    const seen = endpoint.received.length;
    const result = await make('/200?a=b', {}, { event: 'webhook.test' });
    assert.deepEqual(told(result), [null, 200, null]);
    assert.ok(Number.isSafeInteger(result.durationMs) && result.durationMs >= 0);
    assert.equal(endpoint.received.length, seen + 1);
    const { path, method, headers, body } = endpoint.received[seen]!;
    const { 'x-service-signature': signature, ...rest } = headers;
    assert.deepEqual([path, method, body], ['/200?a=b', 'POST', BODY]);
    assert.deepEqual(rest, {
      host: `hook.example.com:${endpoint.port}`,
      'content-type': 'application/json',
      'content-length': String(BODY.length),
      'accept-encoding': 'identity',
      'user-agent': 'uqrp-webhooks/1',
      'x-service-event': 'webhook.test',
      'x-service-delivery': 'the-id',
      connection: 'close',
    });
    assert.match(String(signature), new RegExp(`^t=${Math.floor(NOW / 1000)},v1=[0-9a-f]{64}$`));
    Stripe.webhooks.signature!.verifyHeader(body, String(signature), SECRET, 0, undefined, NOW);
  });

  it('is classified by the status alone', async () => {
    const table: readonly [path: string, DeliveryError | null, status: number, retryAfter: number | null][] =
      [
        ['/200', null, 200, null],
        ['/202', null, 202, null],
        ['/204', null, 204, null],
        ['/299/30', null, 299, null],
        ['/300', 'redirect', 300, null],
        ['/301/5', 'redirect', 301, 5],
        ['/302', 'redirect', 302, null],
        ['/304', 'redirect', 304, null],
        ['/308', 'redirect', 308, null],
        ['/400', 'http_status', 400, null],
        ['/404/no-number', 'http_status', 404, null],
        ['/410', 'http_status', 410, null],
        ['/429/120', 'http_status', 429, 120],
        ['/500/0', 'http_status', 500, 0],
        ['/503/-1', 'http_status', 503, null],
        ['/599', 'http_status', 599, null],
        ['/retry-date', 'http_status', 503, 30],
        ['/endless', null, 200, null],
      ];
    for (const [path, ...expected] of table) {
      const seen = endpoint.received.length;
      assert.deepEqual(told(await make(path)), expected, path);
      // No redirect was followed, and nothing was asked twice.
      assert.equal(endpoint.received.length, seen + 1, path);
    }
  });

  it('without a response has an error code', async () => {
    const none = async (): Promise<string[]> => [];
    const table: readonly [path: string, Partial<OutboundClientOptions>, DeliveryError][] = [
      ['/hang', { deadlineMs: 100 }, 'timeout'],
      ['/hang-up', {}, 'connection_failed'],
      [`https://hook.example.com:2/`, {}, 'connection_failed'],
      [`https://other.example.com:${endpoint.port}/200`, {}, 'tls_error'],
      [`https://hook.example.com:${endpoint.port}/200`, { ca: UNTRUSTED.cert }, 'tls_error'],
      ['/200', { resolve: none }, 'dns_failure'],
      ['/200', { policy: { ...PUBLIC_ONLY, allows: () => true } }, 'blocked_address'],
      // As the policy of webhooks has it, nothing here is dialled or resolved.
      ['https://hook.example.org/', { policy: WEBHOOK_TARGETS, resolve: none }, 'dns_failure'],
      ['https://127.0.0.1/', { policy: WEBHOOK_TARGETS, resolve: none }, 'blocked_address'],
      ['http://hook.example.com/', { policy: WEBHOOK_TARGETS, resolve: none }, 'blocked_address'],
      ['https://user@hook.example.com/', { policy: WEBHOOK_TARGETS, resolve: none }, 'blocked_address'],
      ['https://localhost/', { policy: WEBHOOK_TARGETS, resolve: none }, 'blocked_address'],
      ['https://', {}, 'blocked_address'],
      ['no url', {}, 'blocked_address'],
      ['', {}, 'blocked_address'],
    ];
    for (const [path, client, expected] of table) {
      const more = path === '' ? { url: '' } : {};
      assert.deepEqual(told(await make(path, client, more)), [expected, null, null], path);
    }
  });

  it('rejects when the outbound thread ended', async () => {
    const attempt = createSendAttempt(
      async () => ({ kind: 'failed', fault: 'interrupted' }),
      () => NOW,
      realTimers,
    );
    const request = { url: endpoint.origin, signingSecret: SECRET, deliveryId: 'd', body: BODY } as const;
    await assert.rejects(attempt({ ...request, event: 'record.deleted' }), AttemptInterruptedError);
  });
});
