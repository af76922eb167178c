import { forbidden } from '../base/errors.ts';
import type { Tier } from '../base/limits.ts';

export type ApiOperation = 'read' | 'write';

/** The customer of a use case, and what the credential may do. */
export interface Actor {
  readonly customerId: string;
  /** The user who answers for the request: who is signed in; for an API key the owner who has belonged to the customer for longest. */
  readonly personId: string;
  /** Who is signed in; null for an API key, which belongs to the customer. */
  readonly userId: string | null;
  /** Of the session that the request came with; null for an API key. */
  readonly sessionId: string | null;
  /** Of the user in the customer; null for an API key. */
  readonly role: 'owner' | 'member' | null;
  readonly tier: Tier;
  readonly via: 'session' | 'api_key';
  /** The key and its name; null: no key. */
  readonly apiKey: { readonly id: string; readonly name: string } | null;
  /** `X-Request-Id`; null: no request, but the operator at the command line. */
  readonly requestId: string | null;
  /** `read` and `write` do not imply each other. */
  readonly operations: ReadonlySet<ApiOperation>;
  /** Namespaces that the credential may use; null: all of the customer. */
  readonly namespaces: ReadonlySet<string> | null;
}

/** The actor of a session, which a use case gets that API keys cannot use. */
export type SignedIn = Actor & { readonly userId: string; readonly sessionId: string };

/** @param name a namespace of the same customer */
export function reaches(actor: Actor, name: string): boolean {
  return actor.namespaces === null || actor.namespaces.has(name);
}

/** @throws AppError 403 when the customer's namespace `name` is outside the credential's allowlist */
export function requireReach(actor: Actor, name: string): void {
  if (!reaches(actor, name)) throw forbidden('API key does not reach this namespace');
}

/**
 * Whether what was begun for one actor may go on for another, of the same credential: a session may have switched to another customer.
 * The role is left out: few answers need it, and those ask.
 */
export function mayDoNoLess(now: Actor, begun: Actor): boolean {
  if (now.customerId !== begun.customerId) return false;
  if (![...begun.operations].every((operation) => now.operations.has(operation))) return false;
  if (now.namespaces === null) return true;
  return begun.namespaces !== null && [...begun.namespaces].every((name) => reaches(now, name));
}

/** @throws AppError 403 for an API key */
export function requireSession(actor: Actor): asserts actor is SignedIn {
  if (actor.userId === null || actor.sessionId === null)
    throw forbidden('API keys cannot use this endpoint; a customer token is required');
}

/** @throws AppError 403 for a member who is no owner */
export function requireOwner(actor: SignedIn): void {
  if (actor.role !== 'owner') throw forbidden('Only an owner of the organization may do this');
}

/** @throws AppError 403 */
export function requireOperation(actor: Actor, operation: ApiOperation): void {
  if (!actor.operations.has(operation)) throw forbidden(`API key lacks the ${operation} scope`);
}
