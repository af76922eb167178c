/** `uqrp-sdk`: the REST client, and `verifyWebhook`, which `uqrp-sdk/webhooks` has as well. */
export type {
  MeteredUsage,
  NodePropagation,
  Overview,
  OverviewOptions,
  Propagation,
  PropagationOptions,
  SoftCapState,
  Usage,
  UsageOptions,
  Writes,
  WritesUse,
} from './rest/account/account.ts';
export type {
  CookieOptions,
  CookieSession,
  IssuedToken,
  SessionResource,
  SignInFlow,
  VerifyOptions,
} from './rest/account/auth.ts';
export type {
  InvitationResource,
  MemberResource,
  MemberRole,
  NewInvitation,
  OrganizationResource,
} from './rest/account/organizations.ts';
export type {
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
  PasskeyResource,
} from './rest/account/passkeys.ts';
export type {
  AuditAction,
  AuditActor,
  AuditActorKind,
  AuditedObject,
  AuditFilter,
  AuditListOptions,
  AuditObjectKind,
  AuditOutcome,
  AuditRow,
} from './rest/audit.ts';
export type {
  ChangeResource,
  ChangesFilter,
  ChangesPage,
  ChangesPageFilter,
  ChangesReset,
} from './rest/changes.ts';
export type {
  DatasetListOptions,
  DatasetResource,
  DatasetVersion,
  DatasetWithVersions,
} from './rest/datasets.ts';
export { ApiError, ConnectionError, type ErrorCode, TimeoutError, UqrpError } from './rest/http/errors.ts';
export type { StreamOptions } from './rest/http/events.ts';
export type { Answer, CallOptions, PostOptions, RequestParts, UqrpOptions } from './rest/http/http.ts';
export { Listing, type Page } from './rest/http/pages.ts';
export type { Endpoint, Endpoints, Features, Meta, TierLimits } from './rest/meta.ts';
export type { ExportOptions } from './rest/namespaces.ts';
export type {
  LogStreamOptions,
  QueryCountGroup,
  QueryCounts,
  QueryCountsOptions,
  QueryCountTrend,
  QueryLogEvent,
  QueryLogFilter,
  QueryLogListOptions,
  QueryLogMeta,
  QueryLogPage,
  QueryLogRow,
  QueryStatus,
  StreamFilter,
} from './rest/query-logs.ts';
export type {
  BulkItems,
  BulkOptions,
  BulkProgress,
  ConditionOptions,
  CreateOptions,
  DeleteOptions,
  ListOptions,
  PutOptions,
  RecordChange,
  RecordPage,
  RecordValue,
  TaggedRecord,
} from './rest/records/records.ts';
export { BulkError } from './rest/records/records.ts';
export { bytesOf, jsonOf, textOf, type Value } from './rest/records/value.ts';
export type * from './rest/requests.ts';
export type * from './rest/resources.ts';
export { Uqrp } from './rest/uqrp.ts';
export type { VersionListOptions } from './rest/versions.ts';
export type { DeliveryFilter, DeliveryListOptions } from './rest/webhooks.ts';
export type { Fetch } from './shared/fetch.ts';
export type { WebhookPayload } from './webhooks/payload.ts';
export { WebhookVerificationError, type WebhookVerificationReason } from './webhooks/verification-error.ts';
export { verifyWebhook, verifyWebhookAsync } from './webhooks/verify.ts';
