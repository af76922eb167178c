const REASONS = {
  malformed_secret: 'The signing secret is not 64 lower-case hexadecimal letters',
  malformed_header: 'The signature header is missing, repeated or not of the form t=<unix time>,v1=<hex>',
  no_match: 'No signature in the header fits the body and the signing secret',
  outside_tolerance: 'The signature is too old, or from the future',
  malformed_body: 'The body is signed and is no event that is known here',
} as const;

/**
 * Why a request was rejected. `malformed_secret` is a fault of the receiver's settings; the others are of the
 * request.
 */
export type WebhookVerificationReason = keyof typeof REASONS;

/** The message is one of five fixed sentences. It never contains a secret or a part of the request. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason) {
    super(REASONS[reason]);
    this.reason = reason;
  }
}
