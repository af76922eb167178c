import { LIMITS } from '../../base/limits.ts';
import type { Fields, JsonObject } from '../../protocol/input/fields.ts';
import { isText } from '../../protocol/input/fields.ts';
import { FUTURE_TIME_OR_NULL, listOf, nameOf } from '../../protocol/input/readers.ts';
import { nested, optional, type Reader, required, shape } from '../../protocol/input/shape.ts';
import { folded, isLabel } from '../../protocol/names/labels.ts';
import type { ApiOperation } from '../accounts/actor.ts';

/** Lists have no repetitions. Empty: both operations, or all namespaces. */
export interface NewApiKey {
  readonly name: string;
  readonly operations: readonly ApiOperation[];
  readonly namespaces: readonly string[];
  /** Milliseconds since the epoch, or null: never. */
  readonly expiresAt: number | null;
}

export const OPERATIONS_SCHEMA = { enum: ['read', 'write'] } as const;

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
export function parseNewApiKey(body: JsonObject, now: number): NewApiKey {
  const { name, scopes, expires_at: expiresAt = null } = NEW_API_KEY.parse(body, { now });
  return { name, operations: scopes?.operations ?? [], namespaces: scopes?.namespaces ?? [], expiresAt };
}

function isOperation(value: unknown): value is ApiOperation {
  return value === 'read' || value === 'write';
}
