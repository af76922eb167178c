import type { Clock } from '../../../core/clock.ts';
import type { DeliveryError } from '../../../core/webhooks.ts';
import type { Door } from '../../../outbound/outbound-client.ts';
import type { OutboundFault, OutboundResponse, OutboundResult } from '../../../outbound/request.ts';
import { parseRetryAfter } from '../../../outbound/retry-after.ts';
import { parseWebhookUrl } from '../../../outbound/target/url-rules.ts';
import type { Attempt, AttemptRequest, AttemptResult } from '../ports.ts';
import { signatureHeader } from './signature.ts';

const USER_AGENT = 'uqrp-webhooks/1';

const FAULTS: Readonly<Record<Exclude<OutboundFault, 'interrupted'>, DeliveryError>> = {
  timeout: 'timeout',
  dns_failure: 'dns_failure',
  connection_failed: 'connection_failed',
  tls_error: 'tls_error',
  blocked_address: 'blocked_address',
  // Only the head is read, so nothing of a response can be too large.
  too_large: 'connection_failed',
};

/** Our own thread ended under an attempt: nothing is known of the endpoint. */
export class AttemptInterruptedError extends Error {
  constructor() {
    super('the thread that webhooks leave through ended during an attempt');
    this.name = 'AttemptInterruptedError';
  }
}

/**
 * Makes attempts through a door whose policy and deadline are those of webhooks. A URL that does not parse any more is told
 * as a blocked address, like one that the door's policy refuses: neither is dialled.
 */
export function makeAttempt(door: Door, clock: Clock): Attempt {
  return async (request) => {
    const started = performance.now();
    const sent = await send(door, clock, request);
    return { ...sent, durationMs: Math.round(performance.now() - started) };
  };
}

type Said = Omit<AttemptResult, 'durationMs'>;

async function send(door: Door, clock: Clock, request: AttemptRequest): Promise<Said> {
  const url = parseWebhookUrl(request.url);
  if (url === null) return failed('blocked_address');
  const headers = headersOf(request, Math.floor(clock() / 1000));
  return said(await door({ method: 'POST', url, headers, body: request.body, maxBytes: 0 }), clock);
}

/** Specification, Events: the headers of a delivery. */
function headersOf(request: AttemptRequest, t: number): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'x-service-event': request.event,
    'x-service-delivery': request.deliveryId,
    'x-service-signature': signatureHeader(request.body, t, request.signingSecret),
  };
}

function said(result: OutboundResult, clock: Clock): Said {
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

function failed(error: DeliveryError): Said {
  return { error, responseCode: null, retryAfter: null };
}
