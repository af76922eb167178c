import { PUBLIC_NAMESPACE } from '../../../core/names/labels.ts';
import { DEMO_NAMESPACES } from '../../../core/names/reserved-names.ts';
import { FOREVER } from '../../../core/query/outcome.ts';
import type { Query } from '../../../core/query/query.ts';
import { queryTokenDigest } from '../../../core/query/query-token.ts';
import type { HostedView } from '../../hosted/view.ts';

export interface GateSettings {
  /** Off: `public_read` is never honoured, whatever the view says (specification, Private hosted read enforcement, 2). */
  readonly sync: boolean;
  /** On: demo namespaces answer. */
  readonly demo: boolean;
}

/** `until` is the millisecond at which a verdict stops being true by time alone. */
export type Verdict =
  | { readonly kind: 'public' }
  | { readonly kind: 'open' }
  | { readonly kind: 'demo' }
  | { readonly kind: 'private'; readonly until: number }
  | { readonly kind: 'refused'; readonly until: number };

/** Looked up where a query has no token. As long as a token, and spelled as none is. */
const NO_TOKEN = '-'.repeat(56);

const PUBLIC: Verdict = { kind: 'public' };
const OPEN: Verdict = { kind: 'open' };
const DEMO: Verdict = { kind: 'demo' };
const REFUSED: Verdict = { kind: 'refused', until: FOREVER };

/**
 * Decides whether a query may be answered (specification, Private hosted read enforcement, rules 1 to 4 in order).
 * Missing, unknown, expired and revoked tokens, wrong and unknown namespaces all give the same verdict, and the same work
 * leads to it: each refusal reads the namespace and one token, so its time tells nothing of either.
 */
export function judge(query: Query, view: HostedView, settings: GateSettings, now: number): Verdict {
  if (query.namespace === PUBLIC_NAMESPACE) return PUBLIC;
  const namespace = view.namespace(query.namespace);
  // An operator's suspension outranks every way to read a namespace.
  const isSuspended = namespace?.suspended === true;
  if (!isSuspended && settings.sync && namespace?.publicRead === true) return OPEN;
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
  return isAuthorised ? { kind: 'private', until: token.expiresAt } : REFUSED;
}
