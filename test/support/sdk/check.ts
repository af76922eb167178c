import { createHash } from 'node:crypto';
import {
  WebhookVerificationError,
  type WebhookVerificationReason,
} from '../../../sdk/src/webhooks/verification-error.ts';
import {
  type SigningSecrets,
  type VerifyOptions,
  verifyWebhook,
  verifyWebhookAsync,
} from '../../../sdk/src/webhooks/verify.ts';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';

export const SECRET = createHash('sha256').update('a signing secret').digest('hex');
export const OTHER = createHash('sha256').update('another secret').digest('hex');
export const T = 1_790_000_000;
export const NOW = T * 1000;
export const BODY = JSON.stringify({
  event: 'record.upserted',
  seq: 7,
  created_at: '2026-09-21T13:33:20.000Z',
  data: {
    key: 'grüße.status.acme.v1',
    namespace: 'acme',
    resource: 'status',
    version: 'v1',
    content_type: 'text/plain',
    ttl_seconds: 300,
    data: 'b2s=',
  },
});
export const HEADER = signed(BODY);
export const HEX = HEADER.slice(HEADER.indexOf('v1=') + 3);
export const WRONG = '0'.repeat(64);

export function signed(body: string, t = T, secret = SECRET): string {
  return signatureHeader(Buffer.from(body), t, secret);
}

type Outcome = WebhookVerificationReason | 'passed';

/** The reason of the rejection, or `passed`. */
export function check(
  body: string | Uint8Array,
  header: string | readonly string[] | undefined,
  secret: SigningSecrets = SECRET,
  options: VerifyOptions = { now: NOW },
): Outcome {
  try {
    verifyWebhook(body, header, secret, options);
    return 'passed';
  } catch (error) {
    return reasonOf(error);
  }
}

/** What both functions say: that of node:crypto and that of WebCrypto. @throws when they differ */
export async function checkBoth(
  body: string | Uint8Array,
  header: string | readonly string[] | undefined,
  secret: SigningSecrets = SECRET,
  options: VerifyOptions = { now: NOW },
): Promise<Outcome> {
  const outcome = check(body, header, secret, options);
  const other = await verifyWebhookAsync(body, header, secret, options).then(
    () => 'passed' as const,
    reasonOf,
  );
  if (outcome !== other) throw new Error(`verifyWebhook: ${outcome}, verifyWebhookAsync: ${other}`);
  return outcome;
}

function reasonOf(error: unknown): WebhookVerificationReason {
  if (error instanceof WebhookVerificationError) return error.reason;
  throw error;
}
