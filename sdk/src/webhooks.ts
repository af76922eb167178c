/** `uqrp-sdk/webhooks`: for programs that receive webhooks. */
export {
  type ExplainOptions,
  explainSignature,
  type SignatureExplanation,
  type SignatureHint,
} from './webhooks/explain.ts';
export type {
  NamespaceDeleted,
  NamespaceUpserted,
  RecordDeleted,
  RecordUpserted,
  WebhookPayload,
  WebhookTest,
} from './webhooks/payload.ts';
export { WebhookVerificationError, type WebhookVerificationReason } from './webhooks/verification-error.ts';
export {
  type SigningSecrets,
  type VerifyOptions,
  verifyWebhook,
  verifyWebhookAsync,
} from './webhooks/verify.ts';
