import { createHash } from 'node:crypto';
import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/text/time.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import {
  arrayOf,
  HEX_SECRET,
  resourceSchema,
  TIME,
  TIME_OR_NULL,
  UUID,
} from '../../protocol/input/schema.ts';
import {
  type ApiKeyRow,
  countApiKeys,
  deleteApiKey,
  insertApiKey,
  listApiKeys,
} from '../../store/tables/api-keys.ts';
import { findNamespacesByName } from '../../store/tables/namespaces.ts';
import { type Actor, type ApiOperation, requireOwner, requireSession } from '../accounts/actor.ts';
import type { HasClock, HasIds, HasRandom, HasStore } from '../accounts/deps.ts';
import { holdCustomer } from '../accounts/hold-customer.ts';
import { OPERATIONS_SCHEMA, parseNewApiKey } from './input.ts';

const TOKEN_BYTES = 32;

export interface ApiKeyResource {
  readonly id: string;
  readonly name: string;
  readonly scopes: { readonly operations: readonly ApiOperation[]; readonly namespaces: readonly string[] };
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  readonly created_at: string;
}

/** The token, 64 lower-case hexadecimal letters, is in this response only. */
export interface CreatedApiKey extends ApiKeyResource {
  readonly token: string;
}

const API_KEY_FIELDS = {
  id: UUID,
  name: { type: 'string', examples: ['deploy'] },
  scopes: resourceSchema<ApiKeyResource['scopes']>('ApiKeyScopes', {
    operations: arrayOf(OPERATIONS_SCHEMA, { description: 'Empty: both' }),
    namespaces: arrayOf({ type: 'string', examples: ['acme'] }, { description: 'Empty: all' }),
  }),
  last_used_at: { ...TIME_OR_NULL, description: 'Moves at most once a minute' },
  expires_at: TIME_OR_NULL,
  created_at: TIME,
} as const;

export const API_KEY_SCHEMA = resourceSchema<ApiKeyResource>('ApiKey', API_KEY_FIELDS);

export const CREATED_API_KEY_SCHEMA = resourceSchema<CreatedApiKey>('CreatedApiKey', {
  ...API_KEY_FIELDS,
  token: { ...HEX_SECRET, description: 'In this answer only' },
});

/** Lower-case hex SHA-256. The token is not stored. */
export function apiKeyDigest(token: string): string {
  return createHash('sha256').update(token, 'latin1').digest('hex');
}

function apiKeyResource(row: ApiKeyRow): ApiKeyResource {
  return {
    id: row.id,
    name: row.name,
    scopes: { operations: JSON.parse(row.operations), namespaces: JSON.parse(row.namespaces) },
    last_used_at: formatTimeOrNull(row.last_used_at),
    expires_at: formatTimeOrNull(row.expires_at),
    created_at: formatTime(row.created_at),
  };
}

/** @throws AppError 403 for an API key or a member who is no owner; 422 for faults, namespaces that are not the customer's, too many keys */
export async function createApiKey(
  deps: HasStore & HasClock & HasRandom & HasIds,
  actor: Actor,
  body: JsonObject,
): Promise<CreatedApiKey> {
  requireOwner(actor);
  const now = deps.clock();
  const { name, operations, namespaces, expiresAt } = parseNewApiKey(body, now);
  const token = Buffer.from(deps.random(TOKEN_BYTES)).toString('hex');
  const row: ApiKeyRow = {
    id: deps.newId(),
    customer_id: actor.customerId,
    name,
    digest: apiKeyDigest(token),
    operations: JSON.stringify(operations),
    namespaces: JSON.stringify(namespaces),
    last_used_at: null,
    expires_at: expiresAt,
    created_at: now,
  };
  return deps.store.write(async (tx) => {
    await holdCustomer(tx, actor.customerId);
    const owned = await findNamespacesByName(tx, namespaces, actor.customerId);
    if (!namespaces.every((it) => owned.has(it))) {
      throw invalid('scopes.namespaces has a namespace that does not exist');
    }
    if ((await countApiKeys(tx, actor.customerId)) >= LIMITS.apiKeysPerCustomer) {
      throw new AppError('quota_exceeded', 'API key limit of the account reached');
    }
    await insertApiKey(tx, row);
    return { ...apiKeyResource(row), token };
  });
}

/** Oldest first. @throws AppError 403 for an API key */
export async function listOwnApiKeys(deps: HasStore, actor: Actor): Promise<ApiKeyResource[]> {
  requireSession(actor);
  return (await listApiKeys(deps.store.read, actor.customerId)).map(apiKeyResource);
}

/** Revokes a key at once and for good. @throws AppError 403 for an API key or a member who is no owner, 404 */
export async function deleteOwnApiKey(deps: HasStore, actor: Actor, id: string): Promise<void> {
  requireOwner(actor);
  const deleted = await deps.store.write((tx) => deleteApiKey(tx, id, actor.customerId));
  if (!deleted) throw notFound('API key');
}
