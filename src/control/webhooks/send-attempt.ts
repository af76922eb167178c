import { createHmac } from 'node:crypto';
import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import {
  type OutboundFault,
  type OutboundResponse,
  type OutboundResult,
  parseRetryAfter,
} from '../../outbound/request.ts';
import { parseWebhookUrl } from '../../outbound/target.ts';
import type { DeliveryError, DeliveryEvent } from '../../protocol/webhooks.ts';

export interface AttemptRequest {
  readonly url: string;
  /** 64 hexadecimal letters: their ASCII octets are the HMAC key (docs/WEBHOOKS.md). */
  readonly signingSecret: string;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
}

export interface AttemptResult {
  readonly error: DeliveryError | null;
  /** Status of the response, or null without one. */
  readonly responseCode: number | null;
  readonly durationMs: number;
  /** Seconds that the endpoint asked to wait (`Retry-After`), or null. */
  readonly retryAfter: number | null;
}

/** Makes one signed POST under one deadline. Rejects only on a fault of this server. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

/**
 * `t=<seconds>,v1=<hex>`: HMAC-SHA256 over `<seconds>.` and the body (docs/WEBHOOKS.md).
 * @param signingSecret 64 hexadecimal letters; the key is their ASCII octets, not the 32 octets that they encode
 */
export function signatureHeader(body: Uint8Array, t: number, signingSecret: string): string {
  const mac = createHmac('sha256', Buffer.from(signingSecret, 'ascii')).update(`${t}.`).update(body);
  return `t=${t},v1=${mac.digest('hex')}`;
}

const USER_AGENT = 'uqrp-webhooks/1';

const FAULTS: Readonly<Record<Exclude<OutboundFault, 'interrupted'>, DeliveryError>> = {
  timeout: 'timeout',
  dns_failure: 'dns_failure',
  connection_failed: 'connection_failed',
  tls_error: 'tls_error',
  blocked_address: 'blocked_address',
  // Cannot happen: only the head of a response is read.
  too_large: 'connection_failed',
};

/** The outbound thread ended during an attempt, so nothing is known about the endpoint. */
export class AttemptInterruptedError extends Error {
  constructor() {
    super('the outbound thread ended during an attempt');
    this.name = 'AttemptInterruptedError';
  }
}

/** @param client with the policy and deadline of webhooks. A stored URL that no longer parses fails as `blocked_address`. */
export function createSendAttempt(client: OutboundClient, clock: Clock, { elapsed }: Timers): SendAttempt {
  return async (request) => {
    const started = elapsed();
    const result = await send(client, clock, request);
    return { ...result, durationMs: Math.round(elapsed() - started) };
  };
}

type UntimedResult = Omit<AttemptResult, 'durationMs'>;

async function send(client: OutboundClient, clock: Clock, request: AttemptRequest): Promise<UntimedResult> {
  const url = parseWebhookUrl(request.url);
  if (url === null) return failed('blocked_address');
  const headers = headersOf(request, Math.floor(clock() / 1000));
  const result = await client({ method: 'POST', url, headers, body: request.body, maxBytes: 0 });
  return attemptResult(result, clock);
}

/** The headers of a delivery (docs/WEBHOOKS.md). @param t Unix time in whole seconds */
function headersOf(request: AttemptRequest, t: number): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'x-service-event': request.event,
    'x-service-delivery': request.deliveryId,
    'x-service-signature': signatureHeader(request.body, t, request.signingSecret),
  };
}

function attemptResult(result: OutboundResult, clock: Clock): UntimedResult {
  if (result.kind === 'failed') {
    if (result.fault === 'interrupted') throw new AttemptInterruptedError();
    return failed(FAULTS[result.fault]);
  }
  const { status } = result;
  if (status >= 200 && status < 300) return { error: null, responseCode: status, retryAfter: null };
  return {
    error: status >= 300 && status < 400 ? 'redirect' : 'http_status',
    responseCode: status,
    retryAfter: retryAfterOf(result, clock),
  };
}

function retryAfterOf({ headers }: OutboundResponse, clock: Clock): number | null {
  const value = headers['retry-after'];
  return typeof value === 'string' ? parseRetryAfter(value, clock()) : null;
}

function failed(error: DeliveryError): UntimedResult {
  return { error, responseCode: null, retryAfter: null };
}
