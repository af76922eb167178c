import { PUBLIC_NAMESPACE } from '../../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../../protocol/names/reserved-names.ts';
import { FOREVER } from '../../../protocol/query/outcome.ts';
import type { Query } from '../../../protocol/query/query.ts';
import { queryTokenDigest } from '../../../protocol/query/query-token.ts';
import type { HostedView } from '../../../view/hosted/view.ts';

export interface AccessSettings {
  /** False: no namespace is open, regardless of `public_read` in the view. */
  readonly sync: boolean;
  /** True: demo namespaces answer without a token. */
  readonly demo: boolean;
}

/**
 * How a query may read its namespace. `until`: milliseconds since the epoch at which the access expires.
 * `namespaceId`: null when the view has no such namespace.
 */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'demo' }
  | { readonly kind: 'open'; readonly namespaceId: string }
  | { readonly kind: 'private'; readonly namespaceId: string; readonly until: number }
  | { readonly kind: 'refused'; readonly namespaceId: string | null; readonly until: number };

/** Looked up for a query without a token. It has the length of a token and cannot be one. */
const NO_TOKEN = '-'.repeat(56);

const PUBLIC: Access = { kind: 'public' };
const DEMO: Access = { kind: 'demo' };

/**
 * Decides whether a query may read its namespace (docs/PROTOCOL.md, private records). Each refusal reads the namespace
 * and one token, so its duration does not reveal the cause.
 */
export function checkAccess(query: Query, view: HostedView, settings: AccessSettings, now: number): Access {
  if (query.namespace === PUBLIC_NAMESPACE) return PUBLIC;
  const namespace = view.namespace(query.namespace);
  // A suspension overrides every other rule.
  const isSuspended = namespace?.suspended === true;
  if (!isSuspended && settings.sync && namespace?.publicRead === true) {
    return { kind: 'open', namespaceId: namespace.id };
  }
  const isDemo = DEMO_NAMESPACES.has(query.namespace);
  if (!isSuspended && isDemo && settings.demo) return DEMO;
  const token = view.token(queryTokenDigest(query.token ?? NO_TOKEN));
  const isAuthorised =
    !isSuspended &&
    !isDemo &&
    namespace !== null &&
    query.token !== null &&
    token?.namespace === query.namespace &&
    token.expiresAt > now;
  return isAuthorised
    ? { kind: 'private', namespaceId: namespace.id, until: token.expiresAt }
    : { kind: 'refused', namespaceId: namespace?.id ?? null, until: FOREVER };
}
