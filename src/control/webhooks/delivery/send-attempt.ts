import type { Clock } from '../../../base/clock.ts';
import type { OutboundClient } from '../../../outbound/outbound-client.ts';
import type { OutboundFault, OutboundResponse, OutboundResult } from '../../../outbound/request.ts';
import { parseRetryAfter } from '../../../outbound/retry-after.ts';
import { parseWebhookUrl } from '../../../outbound/target/url-rules.ts';
import type { DeliveryError } from '../../../protocol/webhooks.ts';
import type { AttemptRequest, AttemptResult, SendAttempt } from '../ports.ts';
import { signatureHeader } from './signature.ts';

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
export function createSendAttempt(client: OutboundClient, clock: Clock): SendAttempt {
  return async (request) => {
    const started = performance.now();
    const result = await send(client, clock, request);
    return { ...result, durationMs: Math.round(performance.now() - started) };
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
