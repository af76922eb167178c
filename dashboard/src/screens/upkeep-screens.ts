/** Screens of one chunk with which an account is looked after. */

export { ApiKeysScreen } from './api-keys/api-keys-screen.tsx';
export { AuditScreen } from './audit/audit-screen.tsx';
export { QueryLogScreen } from './query-log/query-log-screen.tsx';
export { UsageScreen } from './usage/usage-screen.tsx';
export { WebhookScreen } from './webhooks/webhook-screen.tsx';
export { WebhooksScreen } from './webhooks/webhooks-screen.tsx';
