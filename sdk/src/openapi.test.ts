import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Schema, typeOf } from '../../test/support/sdk/schema-types.ts';
import { typeFaults } from '../../test/support/sdk/type-check.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENT = JSON.parse(readFileSync(`${ROOT}docs/openapi.json`, 'utf8')) as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
const { schemas } = DOCUMENT.components;

/** The client's type for each schema. */
const OURS: Readonly<Record<string, string>> = {
  ActiveOrganization: 'ActiveOrganization',
  ApiKey: 'ApiKeyResource',
  AuditActor: 'AuditActor',
  AuditObject: 'AuditedObject',
  AuditRow: 'AuditRow',
  BulkDeletion: 'BulkDeletion',
  BulkRecord: 'BulkWritten',
  BulkResult: 'BulkResult',
  Change: 'ChangeResource',
  ChangesPage: 'ChangesPage',
  CreatedApiKey: 'CreatedApiKey',
  Dataset: 'DatasetResource',
  DatasetVersion: 'DatasetVersion',
  DatasetWithVersions: 'DatasetWithVersions',
  Delivery: 'DeliveryResource',
  EndingQueryToken: 'EndingQueryToken',
  Endpoint: 'Endpoint',
  Endpoints: 'Endpoints',
  EventDescription: 'EventDescription',
  ExportedRecord: 'ExportedRecord',
  Facet: 'Facet',
  Features: 'Features',
  History: 'NamespaceHistory',
  Invitation: 'InvitationResource',
  Member: 'MemberResource',
  Meta: 'Meta',
  Metered: 'MeteredUsage',
  Maker: 'Maker',
  MintedQueryToken: 'MintedQueryToken',
  Namespace: 'NamespaceResource',
  NamespaceDeletedData: 'NamespaceDeleted',
  NamespaceDeletedEvent: "Of<'namespace.deleted'>",
  NamespaceUpsertedData: 'NamespaceUpserted',
  NamespaceUpsertedEvent: "Of<'namespace.upserted'>",
  NamespacePatch: 'NamespacePatch',
  NodePropagation: 'NodePropagation',
  NewApiKey: 'NewApiKey',
  NewBulkRecord: 'NewBulkRecord',
  NewInvitation: 'NewInvitation',
  NewQueryToken: 'NewQueryToken',
  NewRecord: 'NewRecord',
  NewWebhook: 'NewWebhook',
  Organization: 'OrganizationResource',
  Passkey: 'PasskeyResource',
  PasskeyCreationOptions: 'PasskeyCreationOptions',
  PasskeyRequestOptions: 'PasskeyRequestOptions',
  Overview: 'Overview',
  Propagation: 'Propagation',
  QueryCountGroup: 'QueryCountGroup',
  QueryCounts: 'QueryCounts',
  QueryCountTrend: 'QueryCountTrend',
  QueryLogPageMeta: 'QueryLogMeta',
  QueryLogRow: 'QueryLogRow',
  QueryToken: 'QueryTokenResource',
  Record: "RecordResource & Required<Pick<RecordResource, 'data'>>",
  RecordDeletedData: 'RecordDeleted',
  RecordDeletedEvent: "Of<'record.deleted'>",
  RecordFacets: 'RecordFacets',
  RecordPatch: 'RecordPatch',
  RecordUpsertedData: 'RecordUpserted',
  RecordUpsertedEvent: "Of<'record.upserted'>",
  Session: 'SessionResource',
  // The token is absent where the session is a cookie.
  SignedIn: 'CookieSession & Partial<IssuedToken>',
  SignInFlow: 'SignInFlow',
  SoftCapState: 'SoftCapState',
  Tier: 'TierLimits',
  UndoneRecord: 'UndoneRecord',
  UndoResult: 'UndoResult',
  Usage: 'Usage',
  User: 'UserResource',
  Version: 'VersionResource',
  Webhook: 'WebhookResource',
  WebhookHealth: 'WebhookHealth',
  WebhookPatch: 'WebhookPatch',
  WebhookRecent: 'WebhookRecent',
  WebhookTestData: 'WebhookTest',
  WebhookTestEvent: "Of<'webhook.test'>",
  WebhookWithSecrets: 'WebhookWithSecrets',
  Writes: 'Writes',
  WritesUse: 'WritesUse',
  WrittenRecord: 'RecordResource',
};

/** Schemas that the types above contain, and bodies that a method wraps or unwraps: operations.test.ts has those. */
const INSIDE =
  'AccountDeletion ApiKeyScopes AuditPage AuditPageMeta BulkWrite ChangeStreamCheckpoint ChangeStreamEvent ChangeStreamLost ChangeStreamReset DayUsage DeliveryPage DeliveryPageMeta DeliveryResult Error EventCatalogue ' +
  'InvitationAcceptance MemberPatch NamespaceUsage NewApiKeyScopes NewNamespace NewOrganization NewPasskey ' +
  'NewWebhookScopes PasskeySignIn Period QueryLogPage QueryLogRowEvent QueryLogSkipped QueryLogSkippedEvent ' +
  'SessionOrganization SessionOrganizationResult SignIn Used UsedOfLimit ValidationErrors Verification WebhookScopes ' +
  'WebhookScopesPatch NewHistory Restore RestoreKey Undo VersionPage VersionPageMeta';

const SAME = `
type Normal<T> = T extends readonly (infer I)[] ? readonly Normal<I>[]
  : T extends object ? { readonly [K in keyof T]: Normal<Exclude<T[K], undefined>> } : T;
type Of<E extends WebhookPayload['event']> = Extract<WebhookPayload, { readonly event: E }>;
type Same<A, B> = (<T>() => T extends Normal<A> ? 1 : 2) extends <T>() => T extends Normal<B> ? 1 : 2 ? true : false;
`;

const HELPERS = new Set(['Required', 'Partial', 'Pick', 'Of']);
/** Types of `uqrp-sdk/webhooks`. */
const RECEIVED = new Set([
  'NamespaceDeleted',
  'NamespaceUpserted',
  'RecordDeleted',
  'RecordUpserted',
  'WebhookPayload',
  'WebhookTest',
]);

/** Names of schemas whose type differs. @param ours the client's types by schema */
function different(ours: Readonly<Record<string, string>>): readonly string[] {
  const types = Object.entries(schemas).map(([name, schema]) => `  ${name}: ${typeOf(schema)};`);
  const checks = Object.entries(ours)
    .filter(([name]) => name in schemas)
    .map(([name, type]) => `export const same${name}: Same<Schemas['${name}'], ${type}> = true;`);
  const names = new Set(Object.values(ours).flatMap((type) => type.match(/[A-Z]\w+/g) ?? []));
  const [main, webhooks] = [
    [...names].filter((name) => !HELPERS.has(name) && !RECEIVED.has(name)),
    [...RECEIVED],
  ];
  const text = `import type { ${main.join()} } from './uqrp-sdk.ts';import type { ${webhooks.join()} } from './webhooks.ts';${SAME}interface Schemas {\n${types.join('\n')}\n}\n${checks.join('\n')}\n`;
  const path = `${ROOT}sdk/src/openapi-types.generated.ts`;
  const [faults = []] = typeFaults([path], new Map([[path, text]]));
  return faults.map(
    ({ line, message }) => /^export const same(\w+)/.exec(line)?.[1] ?? `${line}: ${message}`,
  );
}

describe('the types of the client', () => {
  it('are those of docs/openapi.json: every field, its type, and whether it is optional', () => {
    assert.deepEqual(different(OURS), []);
  });

  it('a difference is found: in a name, a type, an optional field', () => {
    const changed = {
      Namespace: 'QueryTokenResource',
      Webhook: 'NewWebhook',
      Record: 'RecordResource',
      User: 'UserResource',
    };
    assert.deepEqual(different(changed), ['Namespace', 'Webhook', 'Record']);
  });

  it('leave out no schema', () => {
    const known = [...Object.keys(OURS), ...INSIDE.split(' ')];
    assert.deepEqual(known.sort(), Object.keys(schemas).sort());
  });
});
