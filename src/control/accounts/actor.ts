import { forbidden } from '../../core/errors.ts';
import type { Tier } from '../../core/tiers.ts';

export type ApiOperation = 'read' | 'write';

/** On whose behalf a use case runs, and how far the credential reaches. */
export interface Actor {
  readonly customerId: string;
  readonly tier: Tier;
  readonly via: 'session' | 'api_key';
  /** Neither implies the other. */
  readonly operations: ReadonlySet<ApiOperation>;
  /** Names of the namespaces within reach, or null: all that the customer has. */
  readonly namespaces: ReadonlySet<string> | null;
}

/** Whether the actor's credential reaches the customer's own namespace `name`. */
export function reaches(actor: Actor, name: string): boolean {
  return actor.namespaces === null || actor.namespaces.has(name);
}

/** @throws AppError 403 when the customer's own namespace `name` lies outside the credential's allowlist */
export function requireReach(actor: Actor, name: string): void {
  if (!reaches(actor, name)) throw forbidden('API key does not reach this namespace');
}

/** @throws AppError 403 for an API key on an endpoint of the account itself */
export function requireSession(actor: Actor): void {
  if (actor.via !== 'session')
    throw forbidden('API keys cannot use this endpoint; a customer token is required');
}

/** @throws AppError 403 when the credential lacks the operation */
export function requireOperation(actor: Actor, operation: ApiOperation): void {
  if (!actor.operations.has(operation)) throw forbidden(`API key lacks the ${operation} scope`);
}
