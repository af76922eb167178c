/**
 * The screens that are loaded with the first one of them. In one chunk they are a fifth smaller than in one for each: text that is alike
 * compresses together, and shared code needs no chunks of its own.
 */

export { ApiScreen } from './api/api-screen.tsx';
export { ApiKeysScreen } from './api-keys/api-keys-screen.tsx';
export { DatasetsScreen } from './datasets/datasets-screen.tsx';
export { ImportScreen } from './import/import-screen.tsx';
export { NamespaceScreen } from './namespaces/namespace-screen.tsx';
export { NamespacesScreen } from './namespaces/namespaces-screen.tsx';
export { PlaygroundScreen } from './playground/playground-screen.tsx';
export { QueryLogScreen } from './query-log/query-log-screen.tsx';
export { RecordsScreen } from './records/records-screen.tsx';
export { UsageScreen } from './usage/usage-screen.tsx';
export { WebhookScreen } from './webhooks/webhook-screen.tsx';
export { WebhooksScreen } from './webhooks/webhooks-screen.tsx';
