import { createHash } from 'node:crypto';
import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import { type Actor, type ApiOperation, requireOwner, type SignedIn } from '../../http/actor.ts';
import { type Fields, isText, type JsonObject } from '../../protocol/input/fields.ts';
import {
  arrayOf,
  HEX_SECRET,
  resourceSchema,
  TIME,
  TIME_OR_NULL,
  UUID,
} from '../../protocol/input/schema.ts';
import {
  FUTURE_TIME_OR_NULL,
  listOf,
  nameOf,
  nested,
  optional,
  type Reader,
  required,
  shape,
} from '../../protocol/input/shape.ts';
import { folded, isLabel } from '../../protocol/names/labels.ts';
import {
  type ApiKeyRow,
  countApiKeys,
  deleteApiKey,
  findLiveApiKey,
  insertApiKey,
  listApiKeys,
  touchApiKey,
} from '../../store/api-keys.ts';
import { findNamespacesByName } from '../../store/namespaces.ts';
import { writeAs } from '../accounts/membership.ts';
import { lastUses } from '../accounts/sessions.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit } from '../deps.ts';

/** Lists have no repetitions. Empty: both operations, or all namespaces. */
interface NewApiKey {
  readonly name: string;
  readonly operations: readonly ApiOperation[];
  readonly namespaces: readonly string[];
  /** Milliseconds since the epoch, or null: never. */
  readonly expiresAt: number | null;
}

const OPERATIONS_SCHEMA = { enum: ['read', 'write'] } as const;

const NAMES = listOf(LIMITS.apiKeyNamespaces, isText, 'strings', { type: 'string' });

const NAMESPACES: Reader<readonly string[]> = {
  schema: { ...NAMES.schema, description: 'Names of your namespaces. Empty: all' },
  read(fields: Fields, name, context) {
    const names = folded(NAMES.read(fields, name, context));
    if (names?.every(isLabel) === false) fields.fault(name, 'has a namespace that does not exist');
    return names;
  },
};

const SCOPES = shape('NewApiKeyScopes', {
  operations: optional(
    listOf(LIMITS.scopeOperations, isOperation, 'read and write', OPERATIONS_SCHEMA, {
      description: 'Empty: both. Neither implies the other',
    }),
  ),
  namespaces: optional(NAMESPACES),
});

export const NEW_API_KEY = shape('NewApiKey', {
  name: required(nameOf(LIMITS.apiKeyName, 'deploy')),
  scopes: optional(nested(SCOPES)),
  expires_at: optional(FUTURE_TIME_OR_NULL),
});

/** Reads the body of POST /api_keys. @throws AppError 422 with every fault */
function parseNewApiKey(body: JsonObject, now: number): NewApiKey {
  const { name, scopes, expires_at: expiresAt = null } = NEW_API_KEY.parse(body, { now });
  return { name, operations: scopes?.operations ?? [], namespaces: scopes?.namespaces ?? [], expiresAt };
}

function isOperation(value: unknown): value is ApiOperation {
  return value === 'read' || value === 'write';
}

const TOKEN_BYTES = 32;

type ApiKeyResource = ReturnType<typeof apiKeyResource>;

/** The token, 64 lower-case hexadecimal letters, is in this response only. */
type CreatedApiKey = ApiKeyResource & { readonly token: string };

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

function apiKeyResource(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    scopes: {
      operations: JSON.parse(row.operations) as readonly ApiOperation[],
      namespaces: JSON.parse(row.namespaces) as readonly string[],
    },
    last_used_at: formatTimeOrNull(row.last_used_at),
    expires_at: formatTimeOrNull(row.expires_at),
    created_at: formatTime(row.created_at),
  };
}

/** @throws AppError 403 for a member who is no owner; 422 for faults, namespaces that are not the customer's, too many keys */
export async function createApiKey(
  deps: HasUnit & HasClock & HasRandom & HasIds,
  actor: SignedIn,
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
  return deps.unit(actor, async (tx, held) => {
    requireOwner(held);
    const owned = await findNamespacesByName(tx, namespaces, actor.customerId);
    if (!namespaces.every((it) => owned.has(it))) {
      throw invalid('scopes.namespaces has a namespace that does not exist');
    }
    if ((await countApiKeys(tx, actor.customerId)) >= LIMITS.apiKeysPerCustomer) {
      throw new AppError('quota_exceeded', 'API key limit of the account reached');
    }
    await insertApiKey(tx, row);
    await audit(tx, actor, now, 'api_key.created', audited.apiKey(row));
    return { ...apiKeyResource(row), token };
  });
}

/** Oldest first. */
export async function listOwnApiKeys(deps: HasStore, actor: SignedIn): Promise<ApiKeyResource[]> {
  return (await listApiKeys(deps.store.read, actor.customerId)).map(apiKeyResource);
}

/** Revokes a key at once and for good. @throws AppError 403 for a member who is no owner, 404 */
export async function deleteOwnApiKey(deps: HasStore & HasClock, actor: SignedIn, id: string): Promise<void> {
  requireOwner(actor);
  await writeAs(deps, actor, async (tx, held) => {
    requireOwner(held);
    const deleted = await deleteApiKey(tx, id, actor.customerId);
    if (deleted === null) throw notFound('API key');
    await audit(tx, actor, deps.clock(), 'api_key.deleted', audited.apiKey(deleted));
  });
}

const BOTH: readonly ApiOperation[] = ['read', 'write'];

/** @param onError called when an update of `last_used_at` failed; the request does not wait for it */
export function openApiKeys({ store, clock }: HasStore & HasClock, onError: (error: unknown) => void) {
  const uses = lastUses(
    clock,
    (id, now, before) => store.write((tx) => touchApiKey(tx, id, now, before)),
    onError,
  );
  async function withDigest(digest: string): Promise<{ actor: Actor; expiresAt: number | null } | null> {
    const key = await findLiveApiKey(store.read, digest, clock());
    if (key === null) return null;
    uses.note(key.id, key.last_used_at);
    const operations: readonly ApiOperation[] = JSON.parse(key.operations);
    const namespaces: readonly string[] = JSON.parse(key.namespaces);
    const actor: Actor = {
      customerId: key.customer_id,
      personId: key.person_id,
      userId: null,
      sessionId: null,
      role: null,
      tier: key.tier,
      via: 'api_key',
      apiKey: { id: key.id, name: key.name },
      requestId: null,
      operations: new Set(operations.length === 0 ? BOTH : operations),
      namespaces: namespaces.length === 0 ? null : new Set(namespaces),
    };
    return { actor, expiresAt: key.expires_at };
  }
  return {
    /** Null: unknown, revoked or expired. Both read the database on every call. */
    authenticate: async (token: string): Promise<Actor | null> =>
      (await withDigest(apiKeyDigest(token)))?.actor ?? null,
    withDigest,
    /** Waits for updates of `last_used_at` under way. */
    settle: () => uses.settle(),
  };
}
