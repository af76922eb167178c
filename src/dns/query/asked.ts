/** What accounting is told of a query: whose namespace it named, how it was allowed to read, and what became of it. */

import { PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../protocol/names/reserved-names.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import type { Query } from '../../protocol/query/query.ts';
import type { QueryStatus } from '../../protocol/query/query-status.ts';
import type { HostedView } from '../../view/hosted/view.ts';
import type { Asked, Reading } from '../accounting/tag.ts';
import { type Access, checkAccess } from './records/access.ts';
import type { ResolveContext } from './resolve.ts';
import type { TextRoute } from './route.ts';

/** A TXT question that was resolved. @param access null when the view could not be read */
export function askedOf(query: Query, access: Access | null, outcome: Outcome): Asked {
  const status = statusOf(outcome);
  if (access === null) return { query, namespaceId: null, reading: 'none', status };
  const namespaceId = 'namespaceId' in access ? access.namespaceId : null;
  return { query, namespaceId, reading: readingOf(access), status };
}

/**
 * A question of another type than TXT. Its owner sees what was asked only where it showed a valid token.
 * @param isAnswered with records: of the name (ANY), or its proofs and signatures
 */
export function askedOfType(
  text: TextRoute,
  isAnswered: boolean,
  { view, access: settings }: Pick<ResolveContext, 'view' | 'access'>,
  now: number,
): Asked | null {
  if (text.kind !== 'query') return askedByName(text, 'miss', view);
  const status = isAnswered ? 'hit' : 'miss';
  try {
    const access = checkAccess(text.query, view, settings, now);
    const namespaceId = 'namespaceId' in access ? access.namespaceId : null;
    // Such a question is never REFUSED: without a token it finds nothing.
    const reading = readingOf(access);
    return { query: text.query, namespaceId, reading, status: reading === 'none' ? 'miss' : status };
  } catch {
    return { query: text.query, namespaceId: null, reading: 'none', status };
  }
}

/**
 * A question that is answered by its name alone. Whether it was authorised is not
 * checked. @returns null when its name is no query
 */
export function askedByName(text: TextRoute, status: QueryStatus, view: HostedView): Asked | null {
  const query = queryOf(text);
  if (query === null) return null;
  const isOperators = query.namespace === PUBLIC_NAMESPACE || DEMO_NAMESPACES.has(query.namespace);
  if (isOperators) return { query, namespaceId: null, reading: 'operator', status };
  return { query, namespaceId: idOf(query.namespace, view), reading: 'none', status };
}

/** The query of a route, if its name is one. */
export function queryOf(text: TextRoute): Query | null {
  return text.kind === 'short' ? null : (text.query ?? null);
}

function readingOf({ kind }: Access): Reading {
  switch (kind) {
    case 'public':
    case 'demo':
      return 'operator';
    case 'open':
    case 'private':
      return kind;
    case 'refused':
      return 'none';
  }
}

function statusOf(outcome: Outcome): QueryStatus {
  switch (outcome.kind) {
    case 'answer':
      return 'hit';
    case 'empty':
      return outcome.reason === 'expired' ? 'expired' : 'miss';
    case 'refused':
      return 'refused';
    case 'malformed':
    case 'failed':
      return 'error';
  }
}

/** Null also for a view that cannot be read: counting must not fail an answer that needs nothing of it. */
function idOf(namespace: string, view: HostedView): string | null {
  try {
    return view.namespace(namespace)?.id ?? null;
  } catch {
    return null;
  }
}
